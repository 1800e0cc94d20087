#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A recording without end, cut into windows: each has its own exact sums, nothing is lost or doubled between them or from
# one era to the next, what happened is in the window in which it happened, and everything has its name.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

tools=${WICK_TOOLS:-$tests_dir/../build/tests/tools}

# cut WINDOW_MS ERA_S ARGUMENT...: windows in $T/w, one folded file each; all together in $T/all.folded; lines in $T/lines;
# what was sampled when, with the number of its window before it, in $T/events
cut_windows() {
	local window
	rm -rf "$T/w" && mkdir "$T/w"
	timeout -k 5 180 "$tools/windows" "$T/w" "$@" >"$T/lines" 2>"$T/stderr"
	status=$?
	[ "$status" -eq 0 ] || diag "windows $* ended with $status: $(cat "$T/stderr")"
	: >"$T/all.folded"
	: >"$T/events"
	for window in $(seq "$(grep -c '^window' "$T/lines")"); do
		"$WICK" convert -f folded -o "$T/w/$window.folded" "$T/w/$window.wick"
		cat "$T/w/$window.folded" >>"$T/all.folded"
		"$tools/listevents" "$T/w/$window.wick" | sed "s/^/$window\t/" >>"$T/events"
	done
	return "$status"
}

# column NUMBER: the sum of a field over all windows
column() {
	awk -v column="$1" '/^window/ { sum += $column } END { print sum + 0 }' "$T/lines"
}

# as_much_as NAME METER: as many samples as the CPU time of the load was, from when sampling began until it ended. What
# may be a little before the first window or behind the last one is seen by the samples.
as_much_as() {
	local from to least most
	read -r from to < <(awk '/^window/ { from = from ? from : $16; to = $17 } END { print from, to }' "$T/lines")
	wait_for 20 eval "[ \"\$(tail -n 1 '$2' | cut -d' ' -f1)\" -gt $((to + 1000000)) ]"
	read -r least _ < <(metered "$2" "$from" "$to")
	read -r from to < <(cut -f2 "$T/events" | awk -v from="$from" -v to="$to" '
		{ from = $1 < from ? $1 : from; to = $1 > to ? $1 : to } END { print from, to }')
	read -r _ most < <(metered "$2" "$from" "$to")
	diag "$1: $(folded_sum "$T/all.folded" shares) samples, $least to $most CPU seconds"
	as_many "$1" "$(folded_sum "$T/all.folded" shares)" 199 "$least" "$most" "(($to - $from) / 1e6)" "$(perl -e "print $(stolen) - $stolen_before")" 0.03
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

start "$T/cpu" "$PROGS/shares"
wait_for 10 burned "$started" 10
load=$started
meter "$T/meter" "$load"
stolen_before=$(stolen)
ok 'cuts windows' cut_windows 2000 0 -F 199 -p "$load" 7
windows_hold 'shares'
shares_hold 'all windows' "$T/all.folded" shares "$PROGS/shares"
as_much_as 'as many samples as CPU time' "$T/meter"
# Who gets no CPU at that moment is late, by as much
is 'windows end where the clock has a multiple of their length' "$(awk '
	/^window/ {
		if (last && last % 2000 > 150 + held && last % 2000 < 1980)
			print last " ms, held up for " held
		last = $4
		held = $18
	}' "$T/lines")" ''
holds 'three or more windows of about two seconds' "$(grep -c '^window' "$T/lines") >= 3"
# A name that is not there in time, because the worker gets no CPU, comes by itself
is 'what is named is named in each window, or late' "$(awk '
	/^window/ && $14 > 2 { unnamed += $14 - 2; which = which " " $2 ": " $14 }
	/^late/ { late += $2 }
	END { if (unnamed > late) print which ", late: " late + 0 }' "$T/lines")" ''
stop "$load"

# What changes is in the windows in which it was so

start /dev/null "$PROGS/turns" 2000
load=$started
ok 'cuts windows of a program that changes' cut_windows 2000 0 -F 199 -p "$load" 9
windows_hold 'turns'
# Each sample has the function of the time that it was taken at, and is in the window of that time. The program looks at
# the clock after each bit of work: who gets no CPU in the last one of a turn finishes it later, and that is one sample, the
# first of the next turn. In the first window samples may wait for the unwind table, and be counted when it is there. Within
# some milliseconds of an edge, nothing is said.
is 'each window has the function of its time' "$(sort -t $'\t' -k2n "$T/events" | perl -e '
	my ($lines, $edge) = (shift, 3000);
	my (%wall, %from, %to, %n, $last, $bad, $astray);
	open my $in, "<", $lines or die;
	while (<$in>) {
		my (undef, $window, @f) = /^window/ ? split : next;
		($wall{$window}, $from{$window}, $to{$window}) = (1000 * $f[0], @f[13, 14]);
	}
	while (<STDIN>) {
		my ($window, $when, undef, $functions) = split /\t/;
		my ($function) = $functions =~ /(?:^|;)(even|odd);/ or next;
		my $wall = $wall{$window} + $when - $from{$window};
		my $turn = int($wall / 2e6);
		my $near = $wall % 2e6 < $edge || $wall % 2e6 > 2e6 - $edge;
		$n{$window}++;
		$bad .= "$function at $wall us\n" if !$near && $function ne ($turn % 2 ? "odd" : "even") && ($last // $turn) == $turn;
		$last = $turn unless $near;
		$astray .= "window $window, $from{$window} to $to{$window}: $when\n"
			if $when > $to{$window} + $edge || $when < $from{$window} - $edge && $when > $to{1} + $edge;
	}
	print $bad // "", $astray // "";
	$to{$_} - $from{$_} > 1.7e6 && ($n{$_} // 0) < 20 and print "window $_: ", $n{$_} // 0, " samples\n" for sort keys %to;
	' "$T/lines" | head -n 5)" ''
stop "$load"

# Eras: another recording takes over, and nobody can tell from the windows

start "$T/cpu" "$PROGS/shares"
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
meter "$T/meter" "$load"
stolen_before=$(stolen)
ok 'cuts windows, eras of two seconds' cut_windows 1000 2 -F 199 -p "$load" 8
windows_hold 'short eras'
holds 'several eras' "$(grep -c '^log a new era begins .*: long ago' "$T/lines") >= 2"
shares_hold 'over short eras' "$T/all.folded" shares "$PROGS/shares"
as_much_as 'no sample lost or doubled from one to the next' "$T/meter"
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
