#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# Stacks up to 1,024 user frames are whole; one more and the stack says so.

# shellcheck source=lib.sh
. /tests/lib.sh

limit=1024

# frames DEPTH: records deep DEPTH and prints how many user frames the most frequent stack has, its note not among them.
frames() {
	begin deep "$1"
	record -U -p "$begun" 2
	end
	head -n 1 /tmp/folded | sed 's/ [0-9]*$//' | tr ';' '\n' | sed 1d | grep -vc '^\[incomplete'
}

# whole, cut: of the last record
whole() {
	cut -c 1-200 /tmp/folded
	[ "$(stat_of stacks.user)" -gt 0 ] && [ "$(stat_of stacks.user)" -eq "$(stat_of stacks.complete)" ] &&
		[ "$(samples 'incomplete')" -eq 0 ]
}

frames 10 >/tmp/ten
more=$(($(cat /tmp/ten) - 10))
check "a stack of ten and a few frames" [ "$more" -ge 1 -a "$more" -le 4 ]
check "is whole" whole
names deep
check "and named in order" some '^deep;_start;enter;(deep;)+bottom '

frames $((limit - more)) >/tmp/most
check "$limit frames" [ "$(cat /tmp/most)" = $limit ]
check "are whole" whole
check "and exact" exact
names deep
check "from the first" some '^deep;_start;enter;deep;deep;'

frames $((limit - more + 1)) >/tmp/cut
check "one more: $limit frames are kept" [ "$(cat /tmp/cut)" = $limit ]
check "and the stack says so" only '^deep;\[incomplete: depth\];enter;deep;'
check "and so do the statistics" [ "$(stat_of stacks.user)" -eq "$(stat_of stacks.incomplete.depth)" ]
check "and the sums hold" exact

frames 5000 >/tmp/cut
check "5,000 frames: $limit are kept" [ "$(cat /tmp/cut)" = $limit ]
check "and the stack of 5,000 says so" only '^deep;\[incomplete: depth\];deep[;+]'
