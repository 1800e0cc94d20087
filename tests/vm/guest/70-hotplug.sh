#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# A CPU that goes and comes back, or that comes late, is followed while a recording runs.

# shellcheck source=lib.sh
. /tests/lib.sh

cpu=/sys/devices/system/cpu/cpu1/online
check "CPU 1 can be taken away" [ -w $cpu ]

record -C 1 -- sh -c "
	taskset 2 shares -n before -s 1
	echo 0 >$cpu
	shares -n without -s 1
	echo 1 >$cpu
	taskset 2 shares -n after -s 3"
check "a CPU goes and comes back" succeeded
check "seen before" some '^before;'
check "not seen while it was away" none '^without;'
check "seen again" some '^after;'
check "the sums hold" exact

record -- sh -c "
	taskset 2 shares -n before -s 1
	echo 0 >$cpu
	shares -n without -s 1
	echo 1 >$cpu
	taskset 2 shares -n after -s 3"
check "the other CPU is seen all along" some '^without;'
check "and the one that came back" some '^after;'
check "the sums hold for both" exact

echo 0 >$cpu
record -- sh -c "
	shares -n before -s 1
	echo 1 >$cpu
	taskset 2 shares -n after -s 3"
check "a CPU that comes late" succeeded
check "is seen" some '^after;'
check "and the sums hold" exact
