#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Unwind tables of real files, whole: at every address the row is what readelf says of it.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

rows=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/rows

# differences FILE: compares every interval that readelf knows, and says how many rows there are of each kind
differences() {
	readelf --debug-dump=frames-interp "$1" 2>/dev/null >"$T/frames" # not 0 where a debug file is missing
	"$rows" "$1" >"$T/rows" && perl -e '
		use strict;
		use warnings;
		no warnings "portable";
		my ($rows, $frames) = @ARGV;
		my (@rows, @intervals, @bad, %kinds);

		open my $in, "<", $rows or die;
		while (<$in>) {
			my ($at, @rule) = split;
			push @rows, [hex $at, @rule];
			die "rows are not in order\n" if @rows > 1 && $rows[-2][0] >= $rows[-1][0];
		}

		# [start, end, { column => text }]
		my ($end, @columns, @function, %seen);
		my $finish = sub {
			for my $i (0 .. $#function) {
				push @intervals, [$function[$i][0], $i < $#function ? $function[$i + 1][0] : $end, $function[$i][1]];
			}
			@function = @columns = ();
		};
		open $in, "<", $frames or die;
		while (<$in>) {
			if (/^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)/) {
				$finish->();
				my $start = hex $1;
				$end = $start && !$seen{$start}++ ? hex $2 : 0;
			} elsif (/^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ CIE/) {
				$finish->();
				$end = 0;
			} elsif (/^\s+LOC\s+(.*)/) {
				@columns = split " ", $1;
			} elsif ($end && @columns && /^([0-9a-f]{16}) (.*)/) {
				my ($at, $texts, %rule) = (hex $1, $2);
				$texts =~ s/r\d+ \((\w+)\)/$1/g;
				@rule{@columns} = split " ", $texts;
				pop @function if @function && $function[-1][0] == $at;
				push @function, [$at, \%rule] if $at < $end;
			}
		}
		$finish->();
		@intervals = sort { $a->[0] <=> $b->[0] } @intervals;

		my $at = 0;
		for (@intervals) {
			my ($start, $past, $wanted) = @$_;
			next if $start >= $past;
			$at++ while $at < $#rows && $rows[$at + 1][0] <= $start;
			for (my $i = $at; $i < @rows && $rows[$i][0] < $past; $i++) {
				my (undef, $kind, $cfa, $ra, @saves) = @{ $rows[$i] };
				my %got = (CFA => $cfa, ra => $ra);
				@got{qw(rbp rbx r12 r13 r14 r15)} = @saves;
				$kinds{$kind}++;
				if (($wanted->{ra} // "") eq "u") {
					push @bad, sprintf "%x: %s, not root", $start, $kind if $kind ne "root";
					next;
				}
				next if $kind eq "odd";
				if ($wanted->{CFA} eq "exp") {
					push @bad, sprintf "%x: %s, not an expression", $start, $kind
						unless $kind =~ /^(deref|plt|signal)$/;
					next if $kind eq "signal";
					delete $got{CFA};
				}
				for my $name (keys %got) {
					my $want = $wanted->{$name} // "u";
					$want = "-" if $want eq "u" || $want eq "s";
					next if $got{$name} eq $want || ($want eq "exp" && $got{$name} =~ /^f/);
					push @bad, sprintf "%x: %s is %s, not %s", $start, $name, $got{$name}, $want;
				}
			}
		}
		# Only where longjmp and setcontext put a stack pointer back
		push @bad, "$kinds{odd} rows of " . @intervals . " not understood" if ($kinds{odd} // 0) > 0.0005 * @intervals;
		push @bad, "only " . @intervals . " rows" if @intervals < 50;
		splice @bad, 5;
		print STDERR "# $ARGV[2]: ", join(", ", map { "$kinds{$_} $_" } sort keys %kinds), "\n";
		print @bad ? join("\n", @bad) : "none", "\n"' "$T/rows" "$T/frames" "$1"
}

library() {
	gcc -print-file-name="$1"
}

for file in "$WICK" "$(library libc.so.6)" "$(library ld-linux-x86-64.so.2)" "$(library libgcc_s.so.1)" \
	"$(library libstdc++.so.6)"; do
	is "${file##*/}: differences from readelf" "$(differences "$file")" none
done

finish
