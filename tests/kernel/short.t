#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Thousands of processes that work for 2 ms each: at least as many samples as perf sees in the same run, within the noise of
# sampling, each under its own name and in the function that only a process of that name runs.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

command -v perf >/dev/null || skip_all 'perf is not installed'
count=3000
hz=997

mkdir "$T/names"
start "$T/perf.out" perf record -q -e cpu-clock -a -F "$hz" -o "$T/perf.data"
perf=$started
wait_for 10 sampling "$perf"
record_start -F "$hz"
wick=$started
before=$(stolen)
run "$PROGS/short" "$count" 2 "$T/names"
after=$(stolen)
end "$wick"
is 'wick ends well' "$status" 0
end "$perf"
is 'all of them ran' "$(grep -E '^(started|failed)' "$T/stdout" | tr '\n' ' ')" "started $count failed 0 "
cpu=$(sed -n 's/^cpu //p' "$T/stdout")

sums_hold 'short' "$T/x.json" "$T/x.folded"
seen=$(awk '/^s[0-9]+[; ]/ { n += $NF } END { print n + 0 }' "$T/x.folded")
perf script -i "$T/perf.data" -F comm 2>/dev/null >"$T/perf.comms"
perf_seen=$(grep -cE '^ *s[0-9]+ *$' "$T/perf.comms")
diag "wick saw $seen samples, perf $perf_seen, of $cpu CPU seconds"
holds 'perf saw them too' "$perf_seen > 0.5 * $hz * $cpu"
there=$(sed -n 's/^seconds //p' "$T/stdout") # two at a time
missed=$(stat_of "$T/x.json" .missed)
# Both are left to chance, as far as others were on the CPU; a tick that the kernel could not hand to wick is no sample
holds 'at least as many samples as perf' \
	"$seen - $perf_seen >= -4 * sqrt(2 * $perf_seen * (1 - $cpu / 2 / ($there + 1e-6))) - $missed"
as_many 'as many as their CPU time says' "$seen" "$hz" "$cpu" "2 * $there" "($after - $before)" 0.15

distinct=$(comms "$T/x.folded" | grep -cE '^s[0-9]+$')
perf_distinct=$(grep -oE '^ *s[0-9]+' "$T/perf.comms" | sort -u | wc -l)
holds 'thousands of them are in the profile by name' "$distinct > 0.6 * $count"
holds 'at least as many names as perf' "$distinct - $perf_distinct >= -4 * sqrt($perf_distinct)"

is 'each runs in the function of its name' "$(symbolize "$PROGS/short" <"$T/x.folded" | perl -ne '
	/^s(\d+);/ or next;
	my $own = "spin_" . $1 % 4;
	for my $spin (/;(spin_\d)/g) { print unless $spin eq $own }' | head -3)" ''
as_many 'as many as the work of each asks for have the whole path, the rest is start and exit' \
	"$(symbolize "$PROGS/short" <"$T/x.folded" | awk '/^s[0-9]+;.*;main;.*spin_/ { n += $NF } END { print n + 0 }')" \
	"$hz" "$count * 0.002" "2 * $there" "($after - $before)" 0.05

holds 'each is a process of its own' "$(stat_of "$T/x.json" '[.processes[] | select(.comm | test("^s[0-9]+$")) | .pid] | length') >= $distinct"

finish
