#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The programs load, the walk through the mappings agrees with /proc/self/maps, and a look at the whole machine works.

# shellcheck source=lib.sh
. /tests/lib.sh

begin shares
record 2
check "loads and samples the machine" succeeded
[ "$status" -eq 0 ] || wick record --debug -o /tmp/debug.folded 1 2>&1 | tail -n 60 | sed 's/^/# /'
check "no complaint: the self-test passed" [ ! -s /tmp/err ]
check "the sums hold" exact
check "the busy program was seen" some '^shares;'
check "by its file" some '^shares;.*shares\+0x'
end

record 1
check "a machine at rest: idle is left out" at_least 1 left_out.idle
check "the sums hold at rest" exact
record -I 1
check "-I: idle is a sample" [ "$(stat_of left_out.idle)" = 0 ]
check "the sums hold with idle" exact
