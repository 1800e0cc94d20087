#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs that do their worst to whoever unwinds them (tests/progs/hostile.c): files that lie about themselves, stacks
# that are none, libraries without number. Each gets its reason, wick stays small and ends well, and the stacks of a
# bystander are what they always are.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

# Modes and what their stacks come to: a reason, `whole`, or any of these where that is up to chance
modes=(h-good:whole h-loop:bad_rule h-climb:depth h-kernel:no_memory h-nowhere:no_memory h-deref:no_memory h-odd:odd_rule
	h-overlap:whole h-huge:any h-cut:any h-fifo:whole h-device:any h-sp-low:no_memory h-sp-kernel:no_memory
	h-sp-gap:no_memory h-sp-odd:bad_rule h-unreadable:no_memory h-moving:any h-changing:any h-sparse:any)
batch=5

# outcome COMM: what most of its samples came to, of those that were not before the file's table
outcome() {
	perl -ne '
		s/ (\d+)$// or next;
		my ($n, $comm, @frames) = ($1, split /;/);
		next if $comm ne $ENV{COMM} || "@frames" =~ /incomplete: no_table/ || !grep { /\.so|zero/ } @frames;
		$sum{$frames[0] =~ /^\[incomplete: (\w+)\]/ ? $1 : "whole"} += $n;
		END {
			my ($most) = sort { $sum{$b} <=> $sum{$a} } keys %sum;
			print $most // "nothing";
		}' "$T/x.folded"
}

all_burned() {
	local pid
	for pid in "${pids[@]}"; do
		burned "$pid" 60 || return 1
	done
}

# try MODE:OUTCOME...: all at once, beside a bystander
try() {
	local mode pids=() wick name="$*"
	start /dev/null "$PROGS/shares" -n bystander
	pids+=("$started")
	record_start -F 499
	wick=$started
	for mode; do
		start "$T/words" "$PROGS/hostile" "$T" "${mode%:*}"
		pids+=("$started")
	done
	ok "they run" wait_for 120 all_burned
	end "$wick"
	stop "${pids[@]}"
	is "wick ends well: $name" "$status" 0
	sums_hold "with them" "$T/x.json" "$T/x.folded"
	shares_hold "beside them" "$T/x.folded" bystander "$PROGS/shares"
	holds "wick and its worker stay small" "$(stat_of "$T/x.json" .self.max_rss_bytes) < 96 << 20"
	for mode; do
		got=$(COMM=${mode%:*} outcome)
		if [ "${mode#*:}" = any ]; then
			ok "${mode%:*}: is in the profile" grep -q "^${mode%:*};" "$T/x.folded"
		else
			is "${mode%:*}" "$got" "${mode#*:}"
		fi
	done
}

for ((i = 0; i < ${#modes[@]}; i += batch)); do
	try "${modes[@]:i:batch}"
done

# ---- 100,000 tiny libraries of one process, and then a program that nobody has met ----
cp "$PROGS/shares" "$T/late"
record_start -F 999 --max-stacks 200000 # each of them has some of its own
wick=$started
start "$T/many" "$PROGS/hostile" "$T" many 100000
many=$started
ok 'many: all of them were mapped' wait_for 200 grep -q 'done' "$T/many"
open=("/proc/$wick/fd/"*)
holds 'many: wick has few of them open' "${#open[@]} < 2500"
start /dev/null "$T/late" -n late
wait_for 60 burned "$started" 100
end "$wick"
stop "$many" "$started"
is 'many: wick ends well' "$status" 0
sums_hold 'many' "$T/x.json" "$T/x.folded"
shares_hold 'many: a program that came after them' "$T/x.folded" late "$T/late"
holds 'many: they were too many' "$(stat_of "$T/x.json" .notes.files_full) > 0"
holds 'many: wick and its worker stay small' "$(stat_of "$T/x.json" .self.max_rss_bytes) < 96 << 20"
holds 'many: so do its tables' "$(stat_of "$T/x.json" .self.bpf_map_bytes) < 96 << 20"

finish
