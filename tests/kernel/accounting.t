#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# No sample is lost in silence: fired = taken + left_out, taken = counted + lost, and the profile holds what was
# counted, to the sample, whatever happens to the machine; what is lost has a name.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

lost() {
	stat_of "$T/x.json" "[.samples.lost$1] | add // 0"
}

# How many events a .wick file holds: the first number of its section.
events_in() {
	perl -e '
		local $/;
		open my $in, "<:raw", $ARGV[0] or die;
		my $data = <$in>;
		for (my $at = 12; $at + 40 <= length $data; ) {
			my ($tag, $flags, $packed, $zero, $stored, $raw) = unpack "a4VVVQ<Q<", substr $data, $at, 32;
			if ($tag eq "EVNT") {
				my $body = substr $data, $at + 40, $stored;
				if ($packed) {
					open my $out, ">:raw", "$ARGV[0].zst" or die;
					print $out $body;
					close $out;
					$body = qx(zstd -dcq "$ARGV[0].zst");
				}
				my ($value, $shift) = (0, 0);
				for (unpack "C10", $body) {
					$value |= ($_ & 127) << $shift;
					$shift += 7;
					last unless $_ & 128;
				}
				print "$value\n";
				exit;
			}
			$at += 40 + $stored;
		}
		print "0\n"' "$1"
}

start /dev/null "$PROGS/shares" -j 2
load=$started

ok '99 Hz: runs' record 2
sums_hold '99 Hz' "$T/x.json" "$T/x.folded"
holds '99 Hz: as many ticks as expected' \
	"abs($(stat_of "$T/x.json" '.fired + .missed - .expected')) < 0.05 * $(stat_of "$T/x.json" .expected) + 4"

ok '4,999 Hz: runs' record -F 4999 2
sums_hold '4,999 Hz' "$T/x.json" "$T/x.folded"
holds '4,999 Hz: nearly all of the ticks' "$(stat_of "$T/x.json" '.fired + .missed') > 0.9 * $(stat_of "$T/x.json" .expected)"

ok '-c: runs' record -c 2000000 1
sums_hold '-c' "$T/x.json" "$T/x.folded"
holds '-c: a tick every 2 ms' "abs($(stat_of "$T/x.json" '.fired + .missed') - 1000 * $(stat_of "$T/x.json" .duration_s)) < 150"

ok 'a drain every 10 ms: runs' record -F 4999 --drain-ms 10 2
sums_hold 'a drain every 10 ms' "$T/x.json" "$T/x.folded"

# While the kernel copies a large value of a map, it runs no program on that CPU.
start /dev/null nice -n -20 "$PROGS/blind" 0
ok 'ticks that vanish: runs' record -F 499 -C 0 2
stop "$started"
sums_hold 'ticks that vanish' "$T/x.json" "$T/x.folded"
holds 'ticks that vanish: are missed' "$(stat_of "$T/x.json" .missed) > 0.02 * $(stat_of "$T/x.json" .expected)"
holds 'ticks that vanish: as many as did not come' \
	"abs($(stat_of "$T/x.json" '.fired + .missed - .expected')) < 0.05 * $(stat_of "$T/x.json" .expected)"

ok 'events: runs' record -F 1999 --events -o "$T/x.wick" 2
sums_hold 'events' "$T/x.json" "$T/x.folded"
counted=$(stat_of "$T/x.json" .samples.counted)
lost_events=$(stat_of "$T/x.json" .events.lost)
is 'events: one for every sample counted' "$(($(events_in "$T/x.wick") + lost_events))" "$counted"

ok 'events and a small ring: runs' record -F 4999 --events --ring-bytes 4096 --drain-ms 200 -o "$T/x.wick" 2
sums_hold 'events and a small ring' "$T/x.json" "$T/x.folded"
lost_events=$(stat_of "$T/x.json" .events.lost)
is 'events and a small ring: each is there or counted as lost' "$(($(events_in "$T/x.wick") + lost_events))" \
	"$(stat_of "$T/x.json" .samples.counted)"
stop "$load"

start "$T/storm" "$PROGS/storm" 200 3
load=$started
ok 'a storm of forks: runs' record -F 4999 2
sums_hold 'a storm of forks' "$T/x.json" "$T/x.folded"

ok 'room for 64 stacks: runs' record -F 1999 --max-stacks 64 2
sums_hold 'room for 64 stacks' "$T/x.json" "$T/x.folded"
holds 'room for 64 stacks: lost, and by name' "$(lost .stacks) + $(lost .counts) > 0"
ok 'room for 64 stacks: says so to people' grep -qE 'lost|stacks' "$T/stderr"

ok 'a ring of 4,096 bytes: runs' record -F 4999 --ring-bytes 4096 --drain-ms 500 2
sums_hold 'a ring of 4,096 bytes' "$T/x.json" "$T/x.folded"
holds 'a ring of 4,096 bytes: lost, and by name' "$(lost .ring) > 0"

ok 'all at once: runs' record -F 4999 --ring-bytes 4096 --max-stacks 64 --drain-ms 10 --threads 2
sums_hold 'all at once' "$T/x.json" "$T/x.folded"
stop "$load"

if command -v perf >/dev/null; then
	start "$T/storm" "$PROGS/storm" 200 3
	load=$started
	start /dev/null perf record -q -e cpu-clock -a -F 999 -o "$T/perf.data"
	perf=$started
	wait_for 10 sampling "$perf"
	ok 'beside perf: runs' record -F 999 3
	sums_hold 'beside perf' "$T/x.json" "$T/x.folded"
	end "$perf"
	stop "$load"
else
	skip 'beside perf' 'perf is not installed'
fi

finish
