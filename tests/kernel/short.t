#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Thousands of processes that live 2 ms each: at least as many samples as perf sees in the same run, within the noise of
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
holds 'at least as many samples as perf' "$seen - $perf_seen >= -4 * sqrt($perf_seen)"
as_many 'as many as their CPU time says' "$seen" "$hz" "$cpu" "2 * $(sed -n 's/^seconds //p' "$T/stdout")" "($after - $before)" 0.15

distinct=$(comms "$T/x.folded" | grep -cE '^s[0-9]+$')
perf_distinct=$(grep -oE '^ *s[0-9]+' "$T/perf.comms" | sort -u | wc -l)
holds 'thousands of them are in the profile by name' "$distinct > 0.6 * $count"
holds 'at least as many names as perf' "$distinct - $perf_distinct >= -4 * sqrt($perf_distinct)"

is 'each runs in the function of its name' "$(symbolize "$PROGS/short" <"$T/x.folded" | perl -ne '
	/^s(\d+);/ or next;
	my $own = "spin_" . $1 % 4;
	for my $spin (/;(spin_\d)/g) { print unless $spin eq $own }' | head -3)" ''
holds 'most samples have the whole path, the rest is start and exit' "
	$(symbolize "$PROGS/short" <"$T/x.folded" | awk '/^s[0-9]+;.*;main;.*spin_/ { n += $NF } END { print n + 0 }') > 0.5 * $seen"

holds 'each is a process of its own' "$(stat_of "$T/x.json" '[.processes[] | select(.comm | test("^s[0-9]+$")) | .pid] | length') >= $distinct"

finish
