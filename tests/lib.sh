# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the shell tests share: TAP, a scratch folder, children that do not outlive the test, waiting with a deadline, and
# reading of wick's outputs. A test sources this, says ok, is and holds, and ends with `finish`.
#
# From the environment: WICK (the program under test), WICK_PROGS (the programs to profile), CI (what cannot run fails).

set -u
export LC_ALL=C

tests_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WICK=${WICK:-$tests_dir/../build/wick}
export PROGS=${WICK_PROGS:-$tests_dir/../build/progs}
T=$(mktemp -d "${TMPDIR:-/tmp}/wick-test.XXXXXX")

tap_count=0
tap_failed=0
children=()
undo=()
status=0
started=
export held=0

# ---- TAP ----

diag() {
	printf '%s\n' "$*" | sed 's/^/# /' >&2
}

pass() {
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s\n' "$tap_count" "$1"
}

flunk() {
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	printf 'not ok %d - %s\n' "$tap_count" "$1"
}

# ok NAME COMMAND...: the command says yes
ok() {
	local name=$1
	shift
	if "$@"; then
		pass "$name"
	else
		flunk "$name"
		diag "failed: $*"
		return 1
	fi
}

# is NAME GOT WANTED
is() {
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		flunk "$1"
		diag "got    '$2'" && diag "wanted '$3'"
		return 1
	fi
}

# holds NAME EXPRESSION: arithmetic, fractions too, is true
holds() {
	if perl -e 'exit !(eval($ARGV[0]) // die $@)' -- "$2"; then
		pass "$1"
	else
		flunk "$1"
		diag "does not hold: $2"
		return 1
	fi
}

# stolen: CPU seconds so far that the machine's host has given to others, of all CPUs together
stolen() {
	awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { print $9 / hz }' /proc/stat
}

# as_many NAME SAMPLES HZ CPU [MOST] SECONDS STOLEN SHARE: as many samples as CPU seconds ask for, give or take a share and
# what is left to chance: who has a CPU for a part f of the SECONDS that there are is met by n ticks, give or take the root
# of n * (1 - f); five times that. In time that is stolen the clock may tick on or stand still, and it may be counted as
# somebody's CPU time or not. MOST: the CPU time is only known to be between two values.
as_many() {
	if [ $# -eq 7 ]; then set -- "${@:1:4}" "$4" "${@:5}"; fi
	holds "$1" "my (\$n, \$hz, \$least, \$most, \$time, \$stolen, \$share) = ($2, $3, $4, $5, $6, $7, $8);
		my \$busy = \$time > 0 ? \$most / \$time : 0;
		my \$chance = 5 * sqrt(\$hz * \$most * (\$busy < 1 ? 1 - \$busy : 0)) + 2;
		\$least > 0 && \$n > (1 - \$share) * \$hz * (\$least - \$stolen) - \$chance
			&& \$n < (1 + \$share) * \$hz * (\$most + \$stolen) + \$chance"
}

# skip NAME WHY: only for what the machine cannot do
skip() {
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

skip_all() {
	printf '1..0 # SKIP %s\n' "$1"
	exit 0
}

finish() {
	printf '1..%d\n' "$tap_count"
	exit "$((tap_failed > 0))"
}

# ---- Children, cleaning up, waiting ----

cleanup() {
	local i pid

	set +u
	for ((i = ${#undo[@]} - 1; i >= 0; i--)); do
		eval "${undo[i]}" >/dev/null 2>&1
	done
	for pid in "${children[@]}"; do
		kill -KILL "$pid" 2>/dev/null
	done
	wait 2>/dev/null
	rm -rf "$T"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

# at_end COMMAND: run when the test ends, however it ends; the last one first
at_end() {
	undo+=("$1")
}

# start OUTPUT COMMAND...: in the background, its words to a file; its pid in $started
start() {
	local output=$1
	shift
	"$@" >"$output" 2>&1 &
	started=$!
	children+=("$started")
}

# stop PID...: ends children and waits for them
stop() {
	local pid
	for pid in "$@"; do
		[ "${pid:-0}" -gt 1 ] || continue
		kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
}

# wait_for SECONDS COMMAND...: until the command says yes
wait_for() {
	local deadline=$((${EPOCHREALTIME/./} + $1 * 1000000))
	shift
	until "$@" >/dev/null 2>&1; do
		if ((${EPOCHREALTIME/./} > deadline)); then
			diag "still not so: $*"
			return 1
		fi
		read -rt 0.02 <> <(:)
	done
	return 0
}

gone() {
	! kill -0 "$1" 2>/dev/null
}

# ticks PID: the CPU time it has used, in hundredths of a second; burned PID TICKS: has it used so much?
ticks() {
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}

burned() {
	[ "$(ticks "$1")" -ge "$2" ]
}

# meter FILE PID: writes in the background, again and again, the CPU time of a process and the moments of the monotonic
# clock between which it was so, all in microseconds: "MOMENT MOMENT CPU"
meter() {
	start "$1" perl -MTime::HiRes=clock_gettime,usleep,CLOCK_MONOTONIC -e '
		$| = 1;
		sub us { int(1e6 * clock_gettime($_[0])) }
		my $clock = -8 * (1 + $ARGV[0]) + 2; # of the CPU time of that process
		for (;;) {
			my ($before, $cpu, $after) = (us(CLOCK_MONOTONIC), us($clock), us(CLOCK_MONOTONIC));
			last if $cpu < 0;
			print "$before $after $cpu\n";
			usleep 4000;
		}' "$2"
	wait_for 20 test -s "$1"
}

# metered FILE FROM TO: "LEAST MOST", the CPU seconds from one moment of the monotonic clock to another that a meter saw
metered() {
	awk -v from="$2" -v to="$3" '
		$2 <= from { before = $3 }
		$1 >= from && from_here == "" { from_here = $3 }
		$2 <= to { to_here = $3 }
		$1 >= to && after == "" { after = $3 }
		END { printf "%.6f %.6f\n", (to_here - from_here) / 1e6, after == "" ? 0 : (after - before) / 1e6 }' "$1"
}

# run COMMAND...: its exit in $status, its words in $T/stdout and $T/stderr
run() {
	if [ "$(type -t "$1")" = function ]; then
		export -f "${1?}"
		set -- bash -c '"$@"' - "$@"
	fi
	timeout -k 5 180 "$@" >"$T/stdout" 2>"$T/stderr"
	status=$?
	return 0
}

# ---- wick ----

# record ARGUMENT...: must end well; leaves $T/x.folded and $T/x.json
record() {
	rm -f "$T/x.folded" "$T/x.json"
	run "$WICK" record -o "$T/x.folded" --stats "$T/x.json" "$@"
	if [ "$status" -ne 0 ]; then
		diag "wick record $* ended with $status: $(cat "$T/stderr")"
		return 1
	fi
}

# waited PID: milliseconds that wick and its worker have waited for a CPU while they had work
waited() {
	local pid
	for pid in "$1" $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		case $(cat "/proc/$pid/comm" 2>/dev/null) in wick*) cat "/proc/$pid/schedstat" 2>/dev/null ;; esac
	done | awk '{ sum += $2 } END { printf "%d\n", sum / 1e6 }'
}

# record_held ARGUMENT...: as record; milliseconds that wick and its worker were held up in $held: they waited for a CPU, or
# the machine for its host
record_held() {
	local before now
	rm -f "$T/x.folded" "$T/x.json"
	before=$(stolen)
	held=0
	start "$T/wick.out" "$WICK" record -o "$T/x.folded" --stats "$T/x.json" "$@"
	until gone "$started"; do
		now=$(waited "$started")
		held=$((now > held ? now : held))
		read -rt 0.02 <> <(:)
	done
	wait "$started"
	status=$?
	held=$(perl -e "print int($held + 1000 * ($(stolen) - $before))")
	if [ "$status" -ne 0 ]; then
		diag "wick record $* ended with $status: $(cat "$T/wick.out")"
		return 1
	fi
}

# record_start ARGUMENT...: the same in the background, when sampling has begun; its pid in $started
record_start() {
	rm -f "$T/x.folded" "$T/x.json"
	start "$T/wick.out" "$WICK" record -o "$T/x.folded" --stats "$T/x.json" "$@"
	wait_for 20 sampling "$started"
}

# record_until PID[,PID]... TICKS ARGUMENT...: the same, until each of these processes has used so many hundredths of a
# second of CPU time meanwhile. The first of them is in $started afterwards.
record_until() {
	local pids=${1//,/ } ticks=$2 wick pid goals=()
	shift 2
	record_start "$@" || return 1
	wick=$started
	for pid in $pids; do goals+=("$pid $(($(ticks "$pid") + ticks))"); done
	# shellcheck disable=SC2086 # a pid, and its goal
	for pid in "${goals[@]}"; do wait_for 120 burned $pid; done
	end "$wick"
	started=${pids%% *}
	[ "$status" -eq 0 ] || diag "wick record $* ended with $status: $(cat "$T/wick.out")"
	return "$status"
}

# A process that has perf events and is past its set-up: it sleeps between drains.
sampling() {
	local fd events=0
	for fd in /proc/"$1"/fd/*; do
		case $(readlink "$fd") in *perf_event*) events=1 ;; esac
	done
	[ "$events" = 1 ] && grep -q '^State:[[:space:]]*S' "/proc/$1/status"
}

# end PID [SIGNAL]: asks wick to end and waits; its exit in $status
end() {
	kill "-${2:-INT}" "$1"
	if ! wait_for 30 gone "$1"; then
		kill -KILL "$1"
	fi
	wait "$1"
	status=$?
}

# stat FILE EXPRESSION: from a --stats file
stat_of() {
	jq -r "$2" "$1"
}

# folded_sum FILE [COMM]
folded_sum() {
	awk -v comm="${2:-}" '{ n = $NF; sub(/( [0-9]+$)|;.*/, ""); if (comm == "" || $0 == comm) sum += n }
		END { printf "%d\n", sum }' "$1"
}

# comms FILE: the names in a profile, one a line
comms() {
	sed 's/;.*//; s/ [0-9]*$//' "$1" | sort -u
}

# symbolize [NAME=]PROGRAM... <FOLDED: file+0xoffset frames of these programs become names of functions; with -k,
# kernel addresses do as well. NAME is what the file is called in the profile, where that is not its own name.
symbolize() {
	perl "$tests_dir/symbolize" "$@"
}

# sums_hold NAME STATS FOLDED: the accounting is exact
sums_hold() {
	local sums
	sums=$(jq -r '
		.fired as $fired | .samples.taken as $taken | .samples.counted as $counted |
		([.left_out[]] | add) as $out | ([.samples.lost[]] | add // 0) as $lost |
		if $fired != $taken + $out then "fired \($fired) != taken \($taken) + left out \($out)"
		elif $taken != $counted + $lost then "taken \($taken) != counted \($counted) + lost \($lost)"
		elif $taken == 0 then "nothing was taken"
		else "exact" end' "$2")
	is "$1: fired = taken + left_out, taken = counted + lost" "$sums" exact
	is "$1: the profile holds what was counted" "$(folded_sum "$3")" "$(jq -r .samples.counted "$2")"
}

# shares_hold NAME FOLDED COMM PROGRAM: 70, 20 and 10 percent within five standard deviations, each by its path
shares_hold() {
	local report
	report=$(grep -E "^$3;" "$2" | symbolize "$(basename "$4")=$4" | perl -ne '
		s/ (\d+)$// or next;
		my $n = $1;
		my @frames = grep { !/_\[k\]$/ } split /;/;
		my $leaf = $frames[-1] // "";
		$all += $n;
		next unless $leaf =~ /^hot(70|20|10)$/;
		$hot += $n;
		$count{$1} += $n;
		my $path = join ";", @frames;
		my %way = (70 => "run;a;b;hot70", 20 => "run;c;d;hot20", 10 => "run;e;hot10");
		$astray += $n unless $path =~ /;(main|thread|in_children);\Q$way{$1}\E$/;
		END {
			my @bad;
			push @bad, "only " . ($hot // 0) . " of " . ($all // 0) . " samples in the hot functions"
				if !$all || $all < 100 || $hot < 0.85 * $all;
			push @bad, "$astray of $hot samples not by the known path" if $hot && ($astray // 0) > 0.01 * $hot + 2;
			for my $percent (70, 20, 10) {
				my $p = $percent / 100;
				my $off = $hot ? (($count{$percent} // 0) - $p * $hot) / sqrt($hot * $p * (1 - $p)) : 99;
				push @bad, sprintf "hot%d has %d of %d, %.1f standard deviations off", $percent,
					$count{$percent} // 0, $hot, $off if abs($off) > 5;
			}
			print @bad ? join("; ", @bad) : "right", "\n";
		}')
	is "$1: shares and paths" "$report" right
}
