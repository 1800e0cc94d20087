#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Recorded stacks (tests/unwind/record made them), unwound in user space by the steps that the kernel runs: every frame is
# the one that gdb gave at the same instant.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

replay=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/replay
recorded=$tests_dir/unwind/recorded

# Debian's musl has no CFI: nobody gets beyond its qsort
declare -A ends=([plain-muslstatic]='agrees 3 then no_frame_pointer' [deep]='agrees 905')

for file in "$recorded"/*.zst; do
	name=${file##*/}
	name=${name%.zst}
	got=$("$replay" "$file" 2>&1)
	is "$name" "${got#"$name.zst "}" "${ends[$name]:-agrees $(zstd -dcq "$file" | grep -ac '^frame ')}"
done
holds 'there are many' "$tap_count > 50"
holds 'they are small' "$(cat "$recorded"/*.zst | wc -c) < 1000000"

# changed NAME EXPRESSION: perl changes the recorded bytes of a stack, and that is seen
changed() {
	perl -0777pe "$2" "$T/plain" >"$T/changed"
	zstd -qf "$T/changed" -o "$T/changed.zst"
	ok "$1: the bytes did change" test "$(cksum <"$T/plain")" != "$(cksum <"$T/changed")"
	is "$1 is seen" "$("$replay" "$T/changed.zst" 2>&1 | grep -c 'agrees 15$')" 0
}

zstd -dq "$recorded/plain.zst" -o "$T/plain"
changed 'another answer of gdb' 's/^(frame .*\nframe .*\nframe ).*/${1}1234/m'
changed 'another stack pointer' 's/^((?:.*\n){8}register .*)\w\n/${1}f\n/'
changed 'another stack' 'substr($_, -1600) = "\0" x 1600'

finish
