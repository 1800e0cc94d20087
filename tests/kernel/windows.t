#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A recording without end, cut into windows: each has its own exact sums, nothing is lost or doubled between them or from
# one era to the next, what happened is in the window in which it happened, and everything has its name.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

windows=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/windows

# cut WINDOW_MS ERA_S ARGUMENT...: windows in $T/w, one folded file each; all together in $T/all.folded; lines in $T/lines
cut_windows() {
	local window
	rm -rf "$T/w" && mkdir "$T/w"
	timeout -k 5 60 "$windows" "$T/w" "$@" >"$T/lines" 2>"$T/stderr"
	status=$?
	[ "$status" -eq 0 ] || diag "windows $* ended with $status: $(cat "$T/stderr")"
	: >"$T/all.folded"
	for window in $(seq "$(grep -c '^window' "$T/lines")"); do
		"$WICK" convert -f folded -o "$T/w/$window.folded" "$T/w/$window.wick"
		cat "$T/w/$window.folded" >>"$T/all.folded"
	done
	return "$status"
}

# column NUMBER: the sum of a field over all windows
column() {
	awk -v column="$1" '/^window/ { sum += $column } END { print sum + 0 }' "$T/lines"
}

# What must hold in each window, and from one to the next. Fields: see tests/tools/windows.c.
windows_hold() {
	is "$1: sums are exact in each window" "$(awk '
		$1 != "window" { next }
		{ windows++ }
		$5 != $6 + $9 { print $2 ": fired " $5 ", taken " $6 ", left out " $9 }
		$6 != $7 + $8 { print $2 ": taken " $6 ", counted " $7 ", lost " $8 }
		$7 != $12 { print $2 ": counted " $7 ", in the profile " $12 }
		$13 > $12 { print $2 ": " $12 " samples, " $13 " events" }
		{ samples += $12; seconds += $15 }
		to && ($16 < to - 1 || $16 > to + 1) { print $2 ": begins at " $16 " us, the one before ends at " to }
		{ to = $17 }
		END {
			if (samples != seconds)
				print "in windows " samples ", in seconds " seconds
			print (windows > 1 ? "exact" : "no windows")
		}' "$T/lines")" exact
	is "$1: nothing is lost" "$(column 8)" 0
	holds "$1: nearly every event" "$(column 13) >= 0.99 * $(column 12) - 2"
}

# A program whose shares are known, as a whole and in each window

start "$T/cpu" "$PROGS/shares" -s 8
wait_for 10 burned "$started" 10
load=$started
before=$(ticks "$load")
stolen_before=$(stolen)
ok 'cuts windows' cut_windows 2000 0 -F 199 -p "$load" 7
cpu=$(perl -e "print(($(ticks "$load") - $before) / 100)")
windows_hold 'shares'
shares_hold 'all windows' "$T/all.folded" shares "$PROGS/shares"
as_many 'as many samples as CPU time' "$(folded_sum "$T/all.folded" shares)" 199 "$cpu" \
	"$(perl -e "print $(stolen) - $stolen_before")" 0.1
is 'windows end where the clock has a multiple of their length' "$(awk '
	/^window/ { if (NR > 1 && last % 2000 > 150 && last % 2000 < 1850) print last; last = $4 }' "$T/lines")" ''
holds 'three or more windows of about two seconds' "$(grep -c '^window' "$T/lines") >= 3"
is 'what is named is named in each window' "$(awk '/^window/ && $14 > 2 { print $2 ": " $14 }' "$T/lines")" ''
stop "$load"

# What changes is in the windows in which it was so

start /dev/null "$PROGS/turns" 2000
load=$started
ok 'cuts windows of a program that changes' cut_windows 2000 0 -F 199 -p "$load" 9
windows_hold 'turns'
# Of each window's samples, the share of each function is that of its turns in the window's time
is 'each window has the function of its time' "$(awk '/^window/ { print $2, $3, $4 }' "$T/lines" |
	while read -r window from to; do
		awk -v window="$window" -v from="$from" -v to="$to" '
			/;even/ { even += $NF }
			/;odd/ { odd += $NF }
			END {
				for (turn = int(from / 2000); turn * 2000 < to; turn++) {
					begin = turn * 2000 < from ? from : turn * 2000
					end = turn * 2000 + 2000 > to ? to : turn * 2000 + 2000
					due[turn % 2] += end - begin
				}
				n = even + odd
				if (n < 20 && to - from > 1700)
					print window ": " n + 0 " samples"
				off = even - n * due[0] / (to - from)
				if (off * off > (0.1 * n + 5) ^ 2)
					printf "%d: %d even in %d ms, %d odd in %d\n", window, even, due[0], odd, due[1]
			}' "$T/w/$window.folded"
	done)" ''
stop "$load"

# Eras: another recording takes over, and nobody can tell from the windows

start "$T/cpu" "$PROGS/shares" -s 60
load=$started
wait_for 10 burned "$load" 10
start /dev/null "$PROGS/storm" 60 2
storm=$started
ok 'cuts windows, with room for few stacks' cut_windows 2000 0 -F 199 --max-stacks 2048 9
windows_hold 'few stacks'
holds 'new eras have begun' "$(grep -c '^log a new era begins .*: many stacks' "$T/lines") >= 1"
holds 'as many ticks as expected' "abs($(column 5) + $(column 10) - $(column 11)) < 0.05 * $(column 11) + 4"
shares_hold 'over eras' "$T/all.folded" shares "$PROGS/shares"
stop "$storm"
before=$(ticks "$load")
stolen_before=$(stolen)
ok 'cuts windows, eras of two seconds' cut_windows 1000 2 -F 199 -p "$load" 8
cpu=$(perl -e "print(($(ticks "$load") - $before) / 100)")
windows_hold 'short eras'
holds 'several eras' "$(grep -c '^log a new era begins .*: long ago' "$T/lines") >= 2"
shares_hold 'over short eras' "$T/all.folded" shares "$PROGS/shares"
as_many 'no sample lost or doubled from one to the next' "$(folded_sum "$T/all.folded" shares)" 199 "$cpu" \
	"$(perl -e "print $(stolen) - $stolen_before")" 0.1
stop "$load"

# Short processes, from many files, are gone when their names are asked for

mkdir "$T/names"
start /dev/null "$PROGS/execs" 6 200 "$T/names"
ok 'cuts windows of short processes' cut_windows 2000 0 -F 499 5
windows_hold 'short processes'
# Process eN works in spin_<N modulo 4>
is 'they are who they are, with their functions' "$(perl -ne '
	my ($process, $count) = /^e(\d+);.* (\d+)$/ or next;
	$nameless += $count if /;execs\+0x\w+ \d+$/;
	my ($function) = /;(spin_\d)/ or next;
	$function eq "spin_" . $process % 4 ? ($good += $count) : ($bad += $count);
	END {
		print $good > 20 && !$bad && $nameless < 0.05 * $good ? "right"
			: sprintf("%d right, %d not, %d without a name", $good, $bad, $nameless);
	}' "$T/all.folded")" right

finish
