#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks that differ from the one before in a word or two are not taken for it: each leaf of tests/progs/twins says by
# which functions it was called.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

start "$T/words" "$PROGS/twins"
twins=$started
wait_for 20 burned "$twins" 5

# Counts of whole stacks, of those that are cut because the table was late, of wrong ones and of paths seen; the first wrong one on standard error
judge() {
	awk '
		{ count = $NF; sub(/ [0-9]+$/, "") }
		match($0, /;leaf_[0-9]+$/) {
			path = substr($0, RSTART + 6)
			want = ""
			for (level = 0; level < 4; level++) {
				want = want ";" (path % 2 ? "right_" : "left_") level
				path = int(path / 2)
			}
			want = "twins;_start;__libc_start_main;__libc_start_call_main;main" downs want ";last" substr($0, RSTART)
			whole = $0
			sub(/^twins;\[incomplete: no_table\]/, "", whole) # a table was late: right as far as it goes
			if (whole != $0 && length(whole) > 20 && substr(want, length(want) - length(whole) + 1) == whole) {
				cut += count
			} else if ($0 == want) {
				good += count
				seen[want] = 1
			} else if (!bad++) {
				print "got    " $0 >"/dev/stderr"
				print "wanted " want >"/dev/stderr"
			}
		}
		END { for (want in seen) paths++; print good + 0, cut + 0, bad + 0, paths + 0 }' \
		downs="$(printf ';down%.0s' {0..20})" "$1"
}

for hz in 99 4999; do
	record_start -F "$hz" -p "$twins"
	wick=$started
	wait_for 60 burned "$twins" "$(($(ticks "$twins") + 200))"
	end "$wick"
	is "$hz Hz: it ends well" "$status" 0
	read -r good cut bad paths < <(judge "$T/x.folded")
	is "$hz Hz: no stack is another's" "$bad" 0
	taken=$(stat_of "$T/x.json" .samples.counted)
	holds "$hz Hz: nearly all are in a leaf" "$good + $cut >= 0.9 * $taken && $good > 50"
done
is 'every path was met' "$paths" 16

finish
