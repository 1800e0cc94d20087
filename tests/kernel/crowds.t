#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Machines full of processes and processes full of mappings.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

# ---- 10,000 processes ----
start "$T/crowd" "$PROGS/crowd" 10000
crowd=$started
start /dev/null "$PROGS/shares" -n in-crowd
load=$started
ok '10,000 processes: they are there' wait_for 50 grep -q 'ready 10000' "$T/crowd"
begin=${EPOCHREALTIME/./}
ok '10,000 processes: runs' record_held -F 999 1
holds '10,000 processes: hardly longer than without' "(${EPOCHREALTIME/./} - $begin) / 1e6 - $held / 1e3 < 6"
sums_hold '10,000 processes' "$T/x.json" "$T/x.folded"
ok '10,000 processes, until one of them has done some work: runs' record_until "$load" 30 -F 999
shares_hold '10,000 processes' "$T/x.folded" in-crowd "$PROGS/shares"
holds '10,000 processes: within 64 MB' "$(stat_of "$T/x.json" .self.max_rss_bytes) < 64 << 20"
ok '10,000 processes, children of one: runs' record -F 999 -p "$crowd" --children 1
is '10,000 processes, children of one: nobody else' "$(folded_sum "$T/x.folded" in-crowd)" 0
stop "$crowd" "$load"
ok '10,000 processes: they are gone' wait_for 30 eval '! pgrep -x crowd'

# ---- 60,000 mappings ----
most=$(cat /proc/sys/vm/max_map_count)
if [ "$most" -lt 61000 ]; then
	at_end "echo $most >/proc/sys/vm/max_map_count"
	echo 65530 >/proc/sys/vm/max_map_count
fi
start "$T/maps" "$PROGS/manymaps" 60000
ok '60,000 mappings: they are there' wait_for 30 grep -qE 'maps 600[0-9][0-9]' "$T/maps"
begin=${EPOCHREALTIME/./}
maps=$started
ok '60,000 mappings: runs' record_held -F 1999 -p "$maps" 1
holds '60,000 mappings: hardly longer than without' "(${EPOCHREALTIME/./} - $begin) / 1e6 - $held / 1e3 < 6"
holds '60,000 mappings: every sample in the function that runs' "
	$(symbolize "$PROGS/manymaps" <"$T/x.folded" | sed 's/;[^;]*_\[k\]//g' | awk '/;main;hot [0-9]+$/ { n += $NF } END { print n + 0 }') > 0.95 * $(folded_sum "$T/x.folded")"
is '60,000 mappings: none not found' "$(stat_of "$T/x.json" '.stacks.incomplete.no_mapping // 0')" 0
ok '60,000 mappings, the whole machine: runs' record 1
stop "$maps"

finish
