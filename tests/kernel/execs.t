#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A storm of fork and exec, a thousand short processes a second: the sums are exact, next to nothing is lost, every
# sample is under the name of its process, and memory does not grow with the number of processes that came and went.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

seconds=${STORM_SECONDS:-6}
rate=1000
hz=499

# resident PID: what wick and its worker keep in memory, in kB. Not files: they are programs, and unwind tables of whatever
# else runs on the machine, which have a budget of their own.
resident() {
	local pid
	for pid in "$1" $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		awk '/^RssAnon:/ { print $2 }' "/proc/$pid/status" 2>/dev/null
	done | awk '{ sum += $1 } END { print sum + 0 }'
}

# middle FILE FROM TO: the median of its lines in this part of the run
middle() {
	awk -v from="$2" -v to="$3" '{ line[NR] = $1 }
		END { for (i = 1; i <= NR; i++) if (i > from * NR && i <= to * NR) print line[i] }' "$1" |
		sort -n | awk '{ line[NR] = $1 } END { print line[int((NR + 1) / 2)] + 0 }'
}

# storm HZ: recorded at that rate, until it is over; what was resident in $early and $late
storm() {
	local storm wick
	rm -rf "$T/names" "$T/rss"
	mkdir "$T/names"
	record_start -F "$1"
	wick=$started
	start "$T/storm" "$PROGS/execs" "$seconds" "$rate" "$T/names" "$((rate * seconds / 5 + 1))"
	storm=$started
	while ! gone "$storm"; do
		resident "$wick" >>"$T/rss"
		read -rt 0.1 <> <(:)
	done
	wait "$storm"
	is 'the storm ran' "$?" 0
	end "$wick"
	is 'wick ends well' "$status" 0
	early=$(middle "$T/rss" 0.2 0.4)
	late=$(middle "$T/rss" 0.8 1)
	diag "resident: $early kB early, $late kB late"
}

before=$(stolen)
storm "$hz"
stolen=$(perl -e "print $(stolen) - $before")
started_count=$(awk '/^started/ { print $2 }' "$T/storm")
cpu=$(awk '/^cpu/ { print $2 }' "$T/storm")
diag "$started_count processes in $(awk '/^seconds/ { print $2 }' "$T/storm") s, $cpu CPU seconds"
holds 'a storm worth the name' "$started_count > ${STORM_LEAST:-0.2} * $rate * $seconds"

sums_hold 'storm' "$T/x.json" "$T/x.folded"
lost=$(stat_of "$T/x.json" '[.samples.lost[]] | add')
holds 'less than one in a thousand lost' "$lost < 0.001 * $(stat_of "$T/x.json" .samples.taken)" ||
	diag "$(stat_of "$T/x.json" .samples.lost)"
is 'no notice lost' "$(stat_of "$T/x.json" .notes.notices_lost)" 0

seen=$(awk '/^e[0-9]+[; ]/ { n += $NF } END { print n + 0 }' "$T/x.folded")
all=$(awk '/^(e[0-9]+|execs)[; ]/ { n += $NF } END { print n + 0 }' "$T/x.folded")
diag "$seen samples under their names, $all with those of the parent, of $(perl -e "print int($hz * $cpu)") by their CPU time"
holds 'as many samples as their CPU time says' "$all > 0.9 * $hz * ($cpu - $stolen)"
is 'each runs in the function of its name' "$(symbolize "$PROGS/execs" <"$T/x.folded" | perl -ne '
	/^e(\d+);/ or next;
	my $own = "spin_" . $1 % 4;
	for my $spin (/;(spin_\d)/g) { print unless $spin eq $own }' | head -3)" ''
holds 'and most of them do run there' "
	$(symbolize "$PROGS/execs" <"$T/x.folded" | awk '/^e[0-9]+;.*;main;.*spin_/ { n += $NF } END { print n + 0 }') > 0.1 * $seen"
is 'processes have the name of their program' \
	"$(stat_of "$T/x.json" '[.processes[] | select(.exe | endswith("/progs/execs")) | .comm | select(test("^(e[0-9]+|execs)$") | not)] | unique | join(" ")')" ''

# What was sampled is in the profile and stays
kept=$(stat_of "$T/x.json" '.processes | length')
holds 'memory is that of what was sampled' "$early > 0 && $late - $early < 1024 + $kept" || diag "$(tr '\n' ' ' <"$T/rss")"

# What was not sampled does not: the same storm, and hardly a sample
storm 1
kept=$(stat_of "$T/x.json" '.processes | length')
holds 'hardly any of them is sampled' "$kept < 0.05 * $(awk '/^started/ { print $2 }' "$T/storm")"
holds 'memory is flat' "$early > 0 && $late - $early < 1024" || diag "$(tr '\n' ' ' <"$T/rss")"

finish
