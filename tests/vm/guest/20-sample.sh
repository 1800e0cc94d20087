#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# A program whose shares are known, its whole path in order; stacks of samples inside the kernel; files that are gone.

# shellcheck source=lib.sh
. /tests/lib.sh

begin shares
record -p "$begun" 5
names shares
check "samples one program" succeeded
check "the sums hold" exact
check "nothing but that program" only '^shares;'
all_three=';hot(70|20|10)[; ]'
check "70 percent" share 70 ';hot70[; ]' "$all_three"
check "20 percent" share 20 ';hot20[; ]' "$all_three"
check "10 percent" share 10 ';hot10[; ]' "$all_three"
check "the paths are whole and in order" mostly ';main;run;(a;b;hot70|c;d;hot20|e;hot10)[; ]' "$all_three"
end

begin dd if=/dev/zero of=/dev/null bs=64k
record -p "$begun" 2
check "samples inside the kernel have kernel frames" some '^dd;.*_\[k\] '
check "after the user frames of the same sample" some '^dd;.*busybox[+@]0x[0-9a-f]+;([^;]*_\[k\];)*[^;]*_\[k\] '
check "-p: none but dd" only '^dd;'
record -p "$begun" -K 2
check "-K: kernel frames only" none 'busybox[+@]0x'
record -p "$begun" -U 2
check "-U: user frames only" none '_\[k\]'
end

cp /progs/shares /tmp/gone
begin /tmp/gone
pid=$begun
timeout 10 sh -c "until grep -q /tmp/gone /proc/$pid/maps; do :; done"
rm /tmp/gone
record -p "$pid" 2
names shares gone
check "a deleted program keeps its name" only '^gone;'
check "and its frames their offsets" some ';main;run;a;b;hot70[; ]'
end

begin compat32
record -p "$begun" 2
check "a 32-bit program says why it has no stack" only '^compat32;\[incomplete: compat\]'
check "32 bits: the sums hold" exact
end
