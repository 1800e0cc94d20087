#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each kind of file that never comes by itself, so that none can hide behind another: before wick begins, and while it
# runs.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

in_peace -F 499 3

# tried WHAT: after a recording with an attacker
tried() {
	judge "$1" h
	release
	ok "$1: nothing is left" wait_for 10 nothing_left || diag "$(where_it_waits)"
	find "$home" -maxdepth 1 -name '*.fuse' -exec rm -rf {} +
	stop_victims
}

for mode in open getattr read flush lookup readlink statfs all exec lock maps; do
	victims h
	stall "$mode"
	bounded -F 499 3
	tried "$mode, before"
	victims h
	bounded_start -F 499 4
	stall "$mode"
	bounded_end
	took=$(perl -e "print $took - 1")
	tried "$mode, meanwhile"
done

# Whoever keeps others from looking at his mappings is often the first to be seen with a library that all have: their
# tables and names do not wait for him, nor are they lost with him.
prepare_lies
for round in 1 2 3 4 5 6 7 8; do
	victims h
	lie
	stall maps
	bounded -F 999 3
	tried "beside others of his, round $round"
done

finish
