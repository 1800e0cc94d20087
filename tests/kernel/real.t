#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Real programs as the distribution packages them, at work: a database server, an embedded one, compressors, a compiler,
# pipelines of short processes, interpreters, cryptography. wick takes turns with perf record -a -g on the same loads: it
# has as many samples of their CPU time under the right names, and nearly every user stack reaches a true root.
#
# A load runs on one CPU, which it keeps busy: then hardly anything is left to chance, because every tick of that CPU
# either is the load's or is missing. All its processes have names of their own, and its CPU time is what the kernel says
# of all of them together, from their first instruction to their last; sampling begins before and ends after.
#
# REAL_ROUNDS and REAL_SECONDS make more of it; with more than one round it is the medians that count, and perf's
# --call-graph dwarf takes part as well and must be ahead nowhere. REAL_LOADS, or the arguments, choose among the loads
# (`short` is the loop of short processes).

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

rounds=${REAL_ROUNDS:-1}
export LOAD_SECONDS=${REAL_SECONDS:-1.2}
hz=${REAL_HZ:-499}
short_hz=499
export PERF_CONFIG=/dev/null LOAD_T=$T LOAD_BIN=$T/bin
listevents=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/listevents
SOURCES=$(cd "$tests_dir/../src" && pwd)
export SOURCES

# ---- The loads. Programs run under names of their own, so that others of the machine are not taken for them ----

names='w-[\w.]+|bio_\w+|jemalloc_bg_thd'
all=(redis sqlite compress compile pipeline python perl lua shell openssl short)
chosen=("$@")
[ $# -gt 0 ] || read -ra chosen <<<"${REAL_LOADS:-${all[*]}}"
loads=()
short=false
for name in "${chosen[@]}"; do
	case " ${all[*]} " in *" $name "*) ;; *) echo "real.t: no load is called $name" >&2 && exit 2 ;; esac
	if [ "$name" = short ]; then short=true; else loads+=("$name"); fi
done
load_cpu=$(sed -n 's/^Cpus_allowed_list:.*[^0-9]//p' /proc/self/status)

mkdir "$LOAD_BIN"
link() { # link NAME PROGRAM
	ln -s "$(readlink -f "$(PATH=/usr/bin:/bin command -v "$2")")" "$LOAD_BIN/w-$1"
}
for program in xz zstd gzip head gcc as bash sed grep tr cat timeout sqlite3 python3 perl lua5.4 openssl; do
	link "$program" "$program"
done
link redis redis-server
link rbench redis-benchmark
link cc1 "$(gcc -print-prog-name=cc1)"
head -c 6000000 "$(readlink -f "$WICK")" >"$T/data"

before_end() {
	((${EPOCHREALTIME/./} < LOAD_END))
}

load_redis() {
	"$LOAD_BIN/w-redis" --port 0 --unixsocket "$LOAD_T/redis" --save '' --appendonly no >/dev/null &
	local server=$!
	until [ -S "$LOAD_T/redis" ] || ! before_end; do read -rt 0.01 <> <(:); done
	"$LOAD_BIN/w-timeout" "$LOAD_SECONDS" "$LOAD_BIN/w-rbench" -s "$LOAD_T/redis" -q -l -t set,get,lpush,lrange_100 -d 64 >/dev/null
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
		"$LOAD_BIN/w-head" -c 1500000 "$LOAD_T/data" | "$LOAD_BIN/w-xz" -1 -c >/dev/null
		"$LOAD_BIN/w-zstd" -q -7 -c "$LOAD_T/data" >/dev/null
		"$LOAD_BIN/w-head" -c 3000000 "$LOAD_T/data" | "$LOAD_BIN/w-gzip" -c >/dev/null
	done
}

load_compile() {
	while before_end; do
		"$LOAD_BIN/w-gcc" -B"$LOAD_BIN/w-" -O2 -D_GNU_SOURCE -I"$SOURCES" -c -o "$LOAD_T/o.o" "$SOURCES/base/text.c"
	done
}

load_pipeline() {
	cd "$LOAD_BIN" || exit
	while before_end; do
		echo "$RANDOM abc" | ./w-sed s/a/b/ | ./w-grep -c b | ./w-tr 1 2 | ./w-cat >/dev/null
	done
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
	local x='' i
	while before_end; do
		for ((i = 0; i < 500; i++)); do x=$x$((i % 7)); case $x in *66*) x=${x//6/} ;; esac; done
		x=
	done
}

load_openssl() {
	local seconds=${LOAD_SECONDS%.*}
	"$LOAD_BIN/w-openssl" speed -seconds "$((seconds > 3 ? seconds / 3 : 1))" -bytes 1024 sha256 rsa2048 >/dev/null 2>&1
}

# end_in SECONDS: when a load that begins now ends
end_in() {
	perl -MTime::HiRes=time -e 'print int((time + $ARGV[0]) * 1e6)' "$1"
}

# load NAME: runs it; its CPU seconds, all its processes together, in $cpu
load() {
	local TIMEFORMAT='%U %S'
	LOAD_END=$(end_in "$LOAD_SECONDS")
	export LOAD_END
	{ time taskset -c "$load_cpu" "$LOAD_BIN/w-bash" -c "load_$1" >/dev/null 2>"$T/load.err"; } 2>"$T/time"
	cpu=$(awk '{ print $1 + $2 }' "$T/time")
}
for name in "${all[@]}"; do
	[ "$name" = short ] || export -f "load_${name?}"
done
export -f before_end

# ---- The tools: each leaves "SAMPLES USER ROOTED" ----

tool_wick() {
	record_start -F "$hz"
	load "$1"
	end "$started"
	[ "$status" -eq 0 ] || diag "wick ended with $status: $(cat "$T/wick.out")"
	perl "$tests_dir/realstacks" folded "$names" "$T/bad.$1" <"$T/x.folded"
	sums_right "$1"
}

sums_right() {
	jq -e '.samples.taken == .samples.counted + ([.samples.lost[]] | add)' "$T/x.json" >/dev/null || echo "$1" >>"$T/sums"
}

# perf is told when to begin, and says when it has
perf_with() {
	local name=$1
	shift
	start "$T/perf.out" perf record -q -e cpu-clock -F "$hz" -a -o "$T/perf.data" -D -1 --control "fifo:$T/control,$T/answer" "$@"
	while read -rt 0.01 <&8; do :; done # what it answered last time
	echo enable >"$T/control"
	read -rt 20 <"$T/answer" || diag "perf does not begin: $(cat "$T/perf.out")"
	load "$name"
	echo stop >"$T/control"
	if ! wait_for 60 gone "$started"; then stop "$started"; fi
	perf script -i "$T/perf.data" --no-inline -F comm,ip,sym,dso 2>/dev/null |
		perl "$tests_dir/realstacks" perf "$names"
}

tool_perf() {
	perf_with "$1" -g
}

tool_dwarf() {
	perf_with "$1" --call-graph dwarf,32768
}

mkfifo "$T/control" "$T/answer"
exec 7<>"$T/control" 8<>"$T/answer" # so that opening one does not wait for the other side
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

# meter GROUP: "MICROSECONDS MICROSECONDS" again and again: the CPU time of all processes that a cgroup ever had, by the
# monotonic clock, until the group is empty
meter() {
	perl -MTime::HiRes=clock_gettime,usleep,CLOCK_MONOTONIC -e '
		$| = 1;
		while (open my $procs, "<", "$ARGV[0]/cgroup.procs") {
			last if !defined <$procs>;
			open my $in, "<", "$ARGV[0]/cpu.stat" or last;
			my $now = int(clock_gettime(CLOCK_MONOTONIC) * 1e6);
			<$in> =~ /^usage_usec (\d+)/ and print "$now $1\n";
			usleep 4000;
		}' "$1"
}

# in_group GROUP COMMAND...
in_group() {
	echo "$BASHPID" >"$1/cgroup.procs" && exec "${@:2}"
}

measure_short() {
	local unified group
	unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	if [ -z "$unified" ]; then
		unified=$T/cgroup
		at_end "umount $unified"
		mkdir "$unified" && mount -t cgroup2 none "$unified"
	fi
	group=$unified/wick-real.$$
	at_end "until rmdir $group; do read -rt 0.05 <> <(:); done"
	at_end "echo 1 >$group/cgroup.kill"
	mkdir "$group"
	LOAD_END=$(end_in 600)
	export LOAD_END
	start /dev/null in_group "$group" taskset -c "$load_cpu" "$LOAD_BIN/w-bash" -c load_pipeline
	wait_for 20 grep -q . "$group/cgroup.procs"
	start "$T/meter" meter "$group"
	wait_for 20 test -s "$T/meter"
	for ((round = 0; round < (rounds > 5 ? rounds : 5); round++)); do
		run "$WICK" record -F "$short_hz" --events -o "$T/short.wick" -o "$T/short.folded" 6
		[ "$status" -eq 0 ] || diag "wick ended with $status: $(cat "$T/stderr")"
		"$listevents" "$T/short.wick" >"$T/events.$round"
		perl "$tests_dir/realstacks" folded "$names" "$T/bad.short" <"$T/short.folded" >>"$T/short.roots"
	done
	echo 1 >"$group/cgroup.kill"
}

# Samples of the loop over those that its CPU time calls for, in percent: "FIRST LATER NOISE", medians for the second
# from the first tick on and for the time after it. NOISE is what chance may make of it in the second: nothing where the
# loop had its CPU for itself.
short_captured() {
	perl -e '
		my ($hz, $names, $meter, @files) = @ARGV;
		my (@when, @used, %share, @noise);
		sub median { my @s = sort { $a <=> $b } @_; @s ? ($s[$#s / 2] + $s[@s / 2]) / 2 : 0 }
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
				my $want = $hz * ($used[$to] - $used[$from]) / 1e6 or next;
				push @{$share{$part}}, 100 * (grep { $_ >= $when[$from] && $_ < $when[$to] } @own) / $want;
				my $busy = ($used[$to] - $used[$from]) / ($when[$to] - $when[$from]);
				push @noise, 200 * sqrt((1 - $busy) / $want) if $part eq "first" && $busy < 1;
			}
		}
		printf "%.2f %.2f %.2f (rounds: %s; %s)\n", median(@{$share{first}}), median(@{$share{later}}), median(@noise),
			map { join " ", map { sprintf "%.1f", $_ } @{$share{$_}} } qw(first later);
		' "$short_hz" "$names" "$T/meter" "$T"/events.*
}

if $short; then
	measure_short
fi

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
		# Is x ahead of y? All of the 95 % interval of their differences is above nothing.
		sub ahead {
			my ($x, $y) = @_;
			my @t = (0, 0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26);
			my @d = map { $x->[$_] - $y->[$_] } 0 .. $#$x;
			my $k = @d;
			return 0 if $k < 2;
			my ($mean, $var) = (0, 0);
			$mean += $_ / $k for @d;
			$var += ($_ - $mean) ** 2 / ($k - 1) for @d;
			return $mean - ($t[$k] // 2) * sqrt($var / $k) > 0;
		}
		my $wick = median(@{$captured{wick}});
		my $noise = 100 * 3 / sqrt($n{wick}[0] || 1);
		$noise = 0 if @{$captured{wick}} > 1;
		my $level = $wick > 0 && $wick >= median(@{$captured{perf}}) - 2 - $noise;
		my $share = $n{wick}[1] ? 100 * $n{wick}[2] / $n{wick}[1] : 0;
		my $whole = $n{wick}[1] >= 50 && $share >= 99;
		my $dwarf = !$captured{dwarf} || !ahead($captured{dwarf}, $captured{wick}) && !ahead($rooted{dwarf}, $rooted{wick});
		printf "%d %d %d", $level, $whole, $dwarf;
		printf " %s: captured %.1f %% (", $name, $wick;
		print join ", ", map { sprintf "%s %.1f %%", $_, median(@{$captured{$_}}) } grep { $_ ne "wick" } sort keys %captured;
		printf "), to the root %.2f %% of %d (", $share, $n{wick}[1];
		print join ", ", map { sprintf "%s %.1f %%", $_, median(@{$rooted{$_}}) } grep { $_ ne "wick" } sort keys %rooted;
		print ")\n";
		if (@{$captured{wick}} > 1) {
			print STDERR "# $name, rounds: ", join("; ", map { my $tool = $_;
				join " ", $tool, map { sprintf "%.1f", $_ } @{$captured{$tool}} } sort keys %captured), "\n";
		}' "$T/data.txt" "$1" "$hz"
}

for name in "${loads[@]}"; do
	read -r level whole dwarf words <<<"$(judge "$name")"
	diag "$words"
	is "$name: as many samples as perf -g, under the right names" "$level" 1
	is "$name: 99 % of user stacks reach a true root" "$whole" 1 || diag "$(sort -rn "$T/bad.$name" | head -5 | cut -c1-400)"
	[ "$rounds" -eq 1 ] || is "$name: perf with copied stacks is not ahead" "$dwarf" 1
done

if $short; then
	read -r first later noise words <<<"$(short_captured)"
	diag "short processes: $first % counted in wick's first second, $later % after it $words"
	if [ "$rounds" -gt 1 ]; then noise=0; fi
	holds 'short processes: 97 % counted in the first second' "$first >= 97 - $noise"
	holds 'short processes: 99 % counted after it' "$later >= 99 - $noise"
	holds 'short processes: 99 % of their user stacks reach a true root' \
		"$(awk '{ user += $2; rooted += $3 } END { printf "%d > 0 && %d >= 0.99 * %d", user, rooted, user }' "$T/short.roots")" ||
		diag "$(sort -rn "$T/bad.short" | head -5 | cut -c1-400)"
fi

finish
