#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The programs load, the walk through the mappings agrees with /proc/self/maps, and a look at the whole machine works.

# shellcheck source=lib.sh
. /tests/lib.sh

timed() {
	[ "$(stat_of samples.counted)" -gt 0 ] &&
		[ "$(stat_of samples.counted)" -eq $(($(stat_of events.sent) + $(stat_of events.lost))) ]
}

begin shares
record 2
check "loads and samples the machine" succeeded
[ "$status" -eq 0 ] || wick record --debug -o /tmp/debug.folded 1 2>&1 | tail -n 60 | sed 's/^/# /'
check "no warning: the self-test passed" no grep warning /tmp/err
check "the sums hold" exact
check "the busy program was seen" some '^shares;'
check "by its file" some '^shares;.*;(shares\+0x|hot70)'
record --events 2
[ "$status" -eq 0 ] || wick record --debug --events -o /tmp/debug.folded 1 2>&1 | tail -n 60 | sed 's/^/# /'
check "--events: the sums hold" exact
check "--events: each sample has its time" timed
record -e cycles 1
check "no hardware counters here: refused" [ "$status" -eq 1 ]
check "in one line" [ "$(wc -l </tmp/err)" -eq 1 ]
end

record 1
check "a machine at rest: idle is left out" at_least 1 left_out.idle
check "the sums hold at rest" exact
record -I 1
check "-I: idle is a sample" [ "$(stat_of left_out.idle)" = 0 ]
check "the sums hold with idle" exact
