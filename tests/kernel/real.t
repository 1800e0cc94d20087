#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Real programs as the distribution packages them, at work: a database server, an embedded one, compressors, a compiler,
# pipelines of short processes, interpreters, cryptography. wick takes turns with perf record -a -g on the same loads: it
# has as many samples of their CPU time under the right names, and nearly every user stack reaches a true root.
#
# REAL_ROUNDS and REAL_SECONDS make more of it; with more than one round perf's --call-graph dwarf takes part as well and
# must be ahead nowhere. REAL_LOADS chooses among the loads.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

rounds=${REAL_ROUNDS:-1}
export LOAD_SECONDS=${REAL_SECONDS:-1.2}
hz=${REAL_HZ:-499}
export PERF_CONFIG=/dev/null LOAD_T=$T LOAD_BIN=$T/bin
listevents=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/listevents
SOURCES=$(cd "$tests_dir/../src" && pwd)
export SOURCES

# ---- The loads. Programs run under names of their own, so that others of the machine are not taken for them ----

declare -A names=(
	[redis]='w-redis|w-rbench|bio_\w+|jemalloc_bg_thd'
	[sqlite]='w-sqlite3'
	[compress]='w-xz|w-zstd|w-gzip|w-head'
	[compile]='w-gcc|cc1|as'
	[pipeline]='w-bash|w-sed|w-grep|w-tr|w-cat'
	[python]='w-python3'
	[perl]='w-perl'
	[lua]='w-lua5.4'
	[shell]='w-bash'
	[openssl]='w-openssl'
)
loads=(redis sqlite compress compile pipeline python perl lua shell openssl)
read -ra loads <<<"${REAL_LOADS:-${loads[*]}}"

mkdir "$LOAD_BIN"
link() { # link NAME PROGRAM
	ln -s "$(readlink -f "$(PATH=/usr/bin:/bin command -v "$2")")" "$LOAD_BIN/$1"
}
for program in xz zstd gzip head gcc bash sed grep tr cat sqlite3 python3 perl lua5.4 openssl; do
	link "w-$program" "$program"
done
link w-redis redis-server
link w-rbench redis-benchmark
link cc1 "$(gcc -print-prog-name=cc1)"
head -c 6000000 "$(readlink -f "$WICK")" >"$T/data"

before_end() {
	((${EPOCHREALTIME/./} < LOAD_END))
}

load_redis() {
	"$LOAD_BIN/w-redis" --port 0 --unixsocket "$LOAD_T/redis" --save '' --appendonly no >/dev/null &
	local server=$!
	until [ -S "$LOAD_T/redis" ] || ! before_end; do read -rt 0.01 <> <(:); done
	timeout "$LOAD_SECONDS" "$LOAD_BIN/w-rbench" -s "$LOAD_T/redis" -q -l -t set,get,lpush,lrange_100 -d 64 >/dev/null
	kill "$server"
	wait "$server"
	rm -f "$LOAD_T/redis"
}

load_sqlite() {
	while before_end; do
		"$LOAD_BIN/w-sqlite3" :memory: 'create table t(a, b); create index i on t(b);
			with recursive c(x) as (select 1 union all select x + 1 from c where x < 60000)
			insert into t select x, (x * 7919) % 65521 from c;
			select count(distinct b % 97), sum(a * b) from t where b > 100 group by a % 13 order by 2;'
	done >/dev/null
}

load_compress() {
	while before_end; do
		"$LOAD_BIN/w-head" -c 1500000 "$LOAD_T/data" | "$LOAD_BIN/w-xz" -1 -c | cat >/dev/null
		"$LOAD_BIN/w-zstd" -q -7 -c "$LOAD_T/data" >/dev/null
		"$LOAD_BIN/w-head" -c 3000000 "$LOAD_T/data" | "$LOAD_BIN/w-gzip" -c >/dev/null
	done
}

load_compile() {
	while before_end; do
		"$LOAD_BIN/w-gcc" -O2 -D_GNU_SOURCE -I"$SOURCES" -c -o "$LOAD_T/o.o" "$SOURCES/base/text.c"
	done
}

# shellcheck disable=SC2016 # the shell that runs it expands it
pipeline='cd "$1" && while ((${EPOCHREALTIME/./} < LOAD_END)); do
	echo "$RANDOM abc" | ./w-sed s/a/b/ | ./w-grep -c b | ./w-tr 1 2 | ./w-cat >/dev/null
done'
load_pipeline() {
	"$LOAD_BIN/w-bash" -c "$pipeline" - "$LOAD_BIN"
}

load_python() {
	"$LOAD_BIN/w-python3" -S -c '
import hashlib, json, os, re, time
end = int(os.environ["LOAD_END"]) / 1e6
while time.time() < end:
    text = json.dumps({str(i): [i] * 5 for i in range(2000)})
    len(re.findall("[0-9]+1", text)), hashlib.sha256(text.encode()).hexdigest(), sorted(text)'
}

load_perl() {
	"$LOAD_BIN/w-perl" -MTime::HiRes=time -e '
		while (time < $ENV{LOAD_END} / 1e6) {
			my %h; $h{$_ % 1000} .= "x$_" for 1 .. 20000;
			my @s = sort { $a cmp $b } values %h; my $n = "@s" =~ tr/x//;
		}'
}

load_lua() {
	"$LOAD_BIN/w-lua5.4" -e '
		local stop = tonumber(os.getenv("LOAD_SECONDS"))
		while os.clock() < stop do
			local t = {}
			for i = 1, 20000 do t[i % 500] = (t[i % 500] or "") .. i % 7 end
			table.sort(t)
			string.rep("abc", 1000):gsub("b", "xy")
		end'
}

load_shell() {
	"$LOAD_BIN/w-bash" -c 'while ((${EPOCHREALTIME/./} < LOAD_END)); do
			for ((i = 0; i < 500; i++)); do x=$x$((i % 7)); case $x in *66*) x=${x//6/} ;; esac; done; x=
		done'
}

load_openssl() {
	local seconds=${LOAD_SECONDS%.*}
	"$LOAD_BIN/w-openssl" speed -seconds "$((seconds > 3 ? seconds / 3 : 1))" -bytes 1024 sha256 rsa2048 >/dev/null 2>&1
}

# load NAME: runs it; its CPU seconds, all its processes together, in $cpu
load() {
	local TIMEFORMAT='%U %S'
	export LOAD_END=$((${EPOCHREALTIME/./} + $(perl -e 'print int($ENV{LOAD_SECONDS} * 1e6)')))
	{ time "load_$1" >/dev/null 2>"$T/load.err"; } 2>"$T/time"
	cpu=$(awk '{ print $1 + $2 }' "$T/time")
}

# ---- The tools: each leaves "SAMPLES USER ROOTED" ----

tool_wick() {
	record_start -F "$hz"
	load "$1"
	end "$started"
	[ "$status" -eq 0 ] || diag "wick ended with $status: $(cat "$T/wick.out")"
	perl "$tests_dir/realstacks" folded "${names[$1]}" "$T/bad.$1" <"$T/x.folded"
	sums_right "$1"
}

sums_right() {
	jq -e '.samples.taken == .samples.counted + ([.samples.lost[]] | add)' "$T/x.json" >/dev/null || echo "$1" >>"$T/sums"
}

perf_with() {
	local name=$1
	shift
	start "$T/perf.out" perf record -q -e cpu-clock -F "$hz" -a -o "$T/perf.data" "$@"
	wait_for 20 sampling "$started"
	load "$name"
	end "$started"
	perf script -i "$T/perf.data" --no-inline -F comm,ip,sym,dso 2>/dev/null |
		perl "$tests_dir/realstacks" perf "${names[$name]}"
}

tool_perf() {
	perf_with "$1" -g
}

tool_dwarf() {
	perf_with "$1" --call-graph dwarf,32768
}

tools=(wick perf)
[ "$rounds" -eq 1 ] || tools+=(dwarf)
for ((round = 0; round < rounds; round++)); do
	for name in "${loads[@]}"; do
		for ((i = 0; i < ${#tools[@]}; i++)); do
			tool=${tools[(i + round) % ${#tools[@]}]}
			"tool_$tool" "$name" >"$T/counts"
			echo "$name $tool $(cat "$T/counts") $cpu" >>"$T/data.txt"
		done
	done
done

# ---- Processes that live under 10 ms, from the first second of wick on: the loop runs before wick does ----

# meter PID: "MICROSECONDS HUNDREDTHS" again and again: the CPU time of a process and of those it has waited for, by the
# monotonic clock, until the process ends
meter() {
	perl -MTime::HiRes=clock_gettime,usleep,CLOCK_MONOTONIC -e '
		$| = 1;
		while (open my $in, "<", "/proc/$ARGV[0]/stat") {
			my $now = int(clock_gettime(CLOCK_MONOTONIC) * 1e6);
			my $stat = <$in> // last;
			$stat =~ s/.*\) //;
			my @fields = split / /, $stat;
			print "$now ", $fields[11] + $fields[12] + $fields[13] + $fields[14], "\n";
			usleep 10000;
		}' "$1"
}

measure_short() {
	local loop
	LOAD_END=$((${EPOCHREALTIME/./} + 250000000)) "$LOAD_BIN/w-bash" -c "$pipeline" - "$LOAD_BIN" 2>/dev/null &
	loop=$!
	children+=("$loop")
	start "$T/meter" meter "$loop"
	wait_for 20 test -s "$T/meter"
	for ((round = 0; round < (rounds > 3 ? rounds : 3); round++)); do
		run "$WICK" record -F "$hz" --events -o "$T/short.wick" -o "$T/short.folded" 3
		[ "$status" -eq 0 ] || diag "wick ended with $status: $(cat "$T/stderr")"
		"$listevents" "$T/short.wick" >"$T/events.$round"
		perl "$tests_dir/realstacks" folded "${names[pipeline]}" "$T/bad.short" <"$T/short.folded" >>"$T/short.roots"
	done
	stop "$loop"
}

# Samples of the loop over those that its CPU time calls for: "FIRST LEAST LATER LEAST" in percent, for the first second
# and for the time after it, each with the least that is asked for less the noise of sampling and of the clock
short_captured() {
	perl -e '
		my ($hz, $names, $meter, @files) = @ARGV;
		my (@when, @used, %got, %want, %ticks);
		open my $in, "<", $meter or die;
		while (<$in>) { my ($t, $u) = split; push @when, $t; push @used, $u }
		for my $file (@files) {
			open my $in, "<", $file or die;
			my (@all, @own);
			while (<$in>) { chomp; my ($t, $comm) = split /\t/; push @all, $t; push @own, $t if $comm =~ /^(?:$names)$/ }
			@all = sort { $a <=> $b } @all;
			my @in = grep { $when[$_] >= $all[0] && $when[$_] <= $all[-1] } 0 .. $#when;
			my ($edge) = grep { $when[$_] >= $all[0] + 1e6 } @in or next;
			for (["first", $in[0], $edge], ["later", $edge, $in[-1]]) {
				my ($part, $from, $to) = @$_;
				$got{$part} += grep { $_ >= $when[$from] && $_ < $when[$to] } @own;
				$want{$part} += $hz * ($used[$to] - $used[$from]) / 100;
				$ticks{$part} += $used[$to] - $used[$from];
			}
		}
		printf "%.1f %.1f ", $want{$_->[0]} ? 100 * $got{$_->[0]} / $want{$_->[0]} : 0,
			$want{$_->[0]} ? $_->[1] - 100 * (2 / sqrt($want{$_->[0]}) + 2 * @files / $ticks{$_->[0]}) : 100
			for ["first", 97], ["later", 99];' "$hz" "${names[pipeline]}" "$T/meter" "$T"/events.*
}

case " ${loads[*]} " in *' pipeline '*) measure_short ;; esac

# ---- What came of it ----

is 'the sums are exact in all of them' "$(cat "$T/sums" 2>/dev/null)" ''

# judge NAME: "captured-ok rooted-ok dwarf-ok" and what was measured
judge() {
	perl -e '
		my ($file, $name, $hz) = @ARGV;
		my (%captured, %rooted, %n);
		open my $in, "<", $file or die;
		while (<$in>) {
			my ($load, $tool, $samples, $user, $rooted, $cpu) = split;
			next if $load ne $name || !$cpu;
			push @{$captured{$tool}}, 100 * $samples / ($hz * $cpu);
			push @{$rooted{$tool}}, $user ? 100 * $rooted / $user : 0;
			$n{$tool}[0] += $samples; $n{$tool}[1] += $user; $n{$tool}[2] += $rooted;
		}
		sub median { my @s = sort { $a <=> $b } @_; @s ? ($s[$#s / 2] + $s[@s / 2]) / 2 : 0 }
		# Is x ahead of y by more than that? The mean of the differences, less its 95 % interval, is above it.
		sub ahead {
			my ($x, $y, $by) = @_;
			my @t = (0, 0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26);
			my @d = map { $x->[$_] - $y->[$_] } 0 .. $#$x;
			my $k = @d;
			return 0 if $k < 2;
			my ($mean, $var) = (0, 0);
			$mean += $_ / $k for @d;
			$var += ($_ - $mean) ** 2 / ($k - 1) for @d;
			return $mean - ($t[$k] // 2) * sqrt($var / $k) > $by;
		}
		my $wick = median(@{$captured{wick}});
		my $noise = 100 * 3 / sqrt($n{wick}[0] || 1);
		my $level = @{$captured{wick}} > 1 ? $wick >= 90 && !ahead($captured{perf}, $captured{wick}, 2)
						   : $wick >= median(@{$captured{perf}}) - 2 - $noise;
		my $share = $n{wick}[1] ? 100 * $n{wick}[2] / $n{wick}[1] : 0;
		my $whole = $n{wick}[1] >= 50 && $share >= 99;
		my $dwarf = !$captured{dwarf} || !ahead($captured{dwarf}, $captured{wick}, 0) && !ahead($rooted{dwarf}, $rooted{wick}, 0);
		printf "%d %d %d", $level, $whole, $dwarf;
		printf " %s: captured %.1f %% (", $name, $wick;
		print join ", ", map { sprintf "%s %.1f %%", $_, median(@{$captured{$_}}) } grep { $_ ne "wick" } sort keys %captured;
		printf "), to the root %.2f %% of %d (", $share, $n{wick}[1];
		print join ", ", map { sprintf "%s %.1f %%", $_, median(@{$rooted{$_}}) } grep { $_ ne "wick" } sort keys %rooted;
		print ")\n";' "$T/data.txt" "$1" "$hz"
}

for name in "${loads[@]}"; do
	read -r level whole dwarf words <<<"$(judge "$name")"
	diag "$words"
	is "$name: as many samples as perf -g, under the right names" "$level" 1
	is "$name: 99 % of user stacks reach a true root" "$whole" 1 || diag "$(sort -rn "$T/bad.$name" | head -5 | cut -c1-400)"
	[ "$rounds" -eq 1 ] || is "$name: perf with copied stacks is not ahead" "$dwarf" 1
done

if [ -s "$T/short.roots" ]; then
	read -r first least later least_later <<<"$(short_captured)"
	diag "short processes: $first % counted in wick's first second (at least $least), $later % after it (at least $least_later)"
	holds 'short processes: 97 % counted in the first second, less noise' "$first >= $least"
	holds 'short processes: 99 % counted after it, less noise' "$later >= $least_later"
	holds 'short processes: 99 % of their user stacks reach a true root' \
		"$(awk '{ user += $2; rooted += $3 } END { printf "%d > 0 && %d >= 0.99 * %d", user, rooted, user }' "$T/short.roots")" ||
		diag "$(sort -rn "$T/bad.short" | head -5 | cut -c1-400)"
fi

finish
