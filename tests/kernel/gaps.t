#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Code without CFI in a gap of a few bytes between functions that have some: its stacks have their true callers, or say
# that they are incomplete. Never are they whole with the callers missing, as the row of the function before would have it.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

zoo=${WICK_BUILD:-$tests_dir/../build}/zoo
path='_start;__libc_start_main;__libc_start_call_main;main;outer;inner;enters'

# judge LEAF: samples of it in all, those with their true callers, and those that are neither whole nor said to be cut;
# the first of these on standard error
judge() {
	awk -v leaf="$1" -v path="$path" '
		{ count = $NF; sub(/ [0-9]+$/, "") }
		substr($0, length($0) - length(leaf)) != ";" leaf { next }
		{ all += count }
		$0 == "gaps;" path ";" leaf { whole += count; next }
		/^gaps;\[incomplete: / { next }
		{ if (!bad) print "got " $0 >"/dev/stderr"; bad += count }
		END { print all + 0, whole + 0, bad + 0 }' "$T/x.folded"
}

for mode in root zero leaf; do
	start "$T/words" "$zoo/gaps" "$mode"
	gaps=$started
	wait_for 20 grep -q '^ready ' "$T/words"
	record_until "$gaps" 50 -F 999 -p "$gaps"
	stop "$gaps"
	read -r all whole bad < <(judge "hidden_$mode")
	holds "$mode: it was sampled" "$all >= 100"
	is "$mode: stacks that are called complete without their callers" "$bad" 0
	[ "$mode" = leaf ] && holds "$mode: the stack is found without CFI" "$whole >= 0.9 * $all"
done

finish
