#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A CPU that goes and comes back is followed: its samples resume, and the accounting holds.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

online=/sys/devices/system/cpu/cpu1/online
if [ ! -w "$online" ] || [ "$(cat "$online")" != 1 ]; then
	skip_all 'CPU 1 cannot be taken offline'
fi
at_end "echo 1 >$online"

switch() {
	echo "$1" >"$online" && [ "$(cat "$online")" = "$1" ]
}

# A load that goes where there is a CPU, and one that comes to CPU 1 when it is back.
on_cpu1() {
	taskset -c 1 "$PROGS/shares" -s "$1" -n "$2" >/dev/null
}

record_start -F 499 -C 1
wick=$started
ok 'before: the CPU is busy' on_cpu1 1 before
ok 'it can be taken offline' switch 0
ok 'and online again' switch 1
# wick notices within seconds, not at once: the first whole round says when.
resumed=
for round in 1 2 3 4 5; do
	on_cpu1 1 "after$round"
done
end "$wick"
is 'wick ends well' "$status" 0
sums_hold 'gone and back' "$T/x.json" "$T/x.folded"
before=$(folded_sum "$T/x.folded" before)
for round in 5 4 3 2 1; do
	if [ "$(folded_sum "$T/x.folded" "after$round")" -gt 400 ]; then resumed=$round; else break; fi
done
diag "samples: $before before; all of them again in round ${resumed:-none} of a CPU second each"
holds 'sampled before' "$before > 0.8 * 499"
ok 'samples resume within seconds, and stay' test -n "$resumed"

# Offline when wick starts, online later.
switch 0
record_start -F 499
wick=$started
switch 1
for _ in 1 2 3 4 5 6; do
	on_cpu1 0.5 late
done
end "$wick"
is 'offline at the start: wick ends well' "$status" 0
sums_hold 'offline at the start' "$T/x.json" "$T/x.folded"
holds 'offline at the start: followed when it comes' "$(folded_sum "$T/x.folded" late) > 0.6 * 3 * 499"

# And again and again, under load.
start /dev/null "$PROGS/shares" -j 4
load=$started
record_start -F 499
wick=$started
for _ in 1 2 3 4 5; do
	switch 0
	switch 1
done
end "$wick"
is 'many times: wick ends well' "$status" 0
sums_hold 'many times' "$T/x.json" "$T/x.folded"
stop "$load"

finish
