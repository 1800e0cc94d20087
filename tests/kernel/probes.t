#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Functions whose entry or return somebody probes: the kernel changes return addresses on the stack and runs instructions
# elsewhere; the stacks are the same as without probes.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

zoo=${WICK_BUILD:-$tests_dir/../build}/zoo
tools=${WICK_TOOLS:-$tests_dir/../build/tests/tools}

# offsets FILE FUNCTION[/r]...: where they are in the file, which is linked to address zero or 0x400000
offsets() {
	local file=$1 name address
	shift
	for name; do
		address=$(nm "$file" | awk -v name="${name%/r}" '$3 == name { print $1; exit }')
		printf '%x%s\n' $((16#$address & 0x3fffff)) "$([ "${name%/r}" = "$name" ] || echo r)"
	done
}

probing() {
	grep -q '^probing' "$T/probe"
}

# sample PROGRAM ARGUMENT OPTION...: profiles it from before its beginning. $stack is its commonest stack without the
# leaf, which moves.
sample() {
	local program=$1 argument=$2 name=${1##*/} wick
	shift 2
	record_start --raw -F 999 -n "$name" "$@"
	wick=$started
	# shellcheck disable=SC2086 # there may be none
	start "$T/words" "$program" $argument
	wait_for 60 burned "$started" 60
	end "$wick"
	stop "$started"
	stack=$(sed -n "s/^$name;//p" "$T/x.folded" | sed 's/;[^;]*_\[k\]//g' | awk '{
		count = $NF
		sub(/;[^;]* [0-9]+$/, "")
		sum[$0] += count
		if (sum[$0] > sum[most])
			most = $0 } END { print most }')
}

# alike NAME PROGRAM ARGUMENT FUNCTIONS OPTION...
alike() {
	local name=$1 program=$2 argument=$3 functions=$4 probe without places
	shift 4
	sample "$program" "$argument" "$@"
	without=$stack
	holds "$name: a stack of many functions" "$(grep -o ';' <<<"$without" | wc -l) > 10"
	# shellcheck disable=SC2086 # a list of words
	mapfile -t places < <(offsets "$program" $functions)
	start "$T/probe" "$tools/probe" "$program" "${places[@]}"
	probe=$started
	ok "$name: probes are in place" wait_for 20 probing
	sample "$program" "$argument" "$@"
	is "$name: the stack with probes" "$stack" "$without"
	holds "$name: hardly any is incomplete" "$(stat_of "$T/x.json" '[.stacks.incomplete[]] | add') <= 2"
	holds "$name: samples" "$(stat_of "$T/x.json" .stacks.user) > 100"
	stop "$probe"
}

# Some functions have two probes, one is probed at its entry only
alike rows "$zoo/plain" '' 'sort/r inner/r middle/r middle/r middle outer compare/r zoo_spin/r main/r'
holds 'rows: some were unwound in user space' "$(stat_of "$T/x.json" .frames.user) > 0"
alike 'frame pointers' "$PROGS/deep" 40 'deep/r bottom/r' --unwind fp
alike recursion "$PROGS/deep" 40 'deep/r deep/r bottom/r'

# Entries and returns of functions that are called all the time: samples are on the kernel's page as well
start "$T/probe" "$tools/probe" "$zoo/libtiny.so" \
	"$(offsets "$zoo/libtiny.so" tiny_one)" "$(offsets "$zoo/libtiny.so" tiny_two)"
wait_for 20 probing
sample "$zoo/plt" ''
all=$(folded_sum "$T/x.folded")
holds 'no leaf is on the page where displaced instructions run' \
	"$all > 100 && $(grep 'jit' "$T/x.folded" | folded_sum /dev/stdin) < 0.01 * $all"
holds 'most are in the probed functions' "$(grep ';libtiny.so+0x' "$T/x.folded" | folded_sum /dev/stdin) > 0.5 * $all"
holds 'they are whole' "$(stat_of "$T/x.json" '[.stacks.incomplete[]] | add') < 0.01 * $all"

finish
