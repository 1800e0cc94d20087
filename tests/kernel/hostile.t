#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs that do their worst to whoever unwinds them (tests/progs/hostile.c): files that lie about themselves, stacks
# that are none, libraries without number. Each gets its reason, wick stays small and ends well, and the stacks of two
# bystanders are what they always are: one has frame pointers, the other only its unwind table.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

zoo=${WICK_BUILD:-$tests_dir/../build}/zoo
batch=5

# Modes, what their stacks come to (`whole`, or the reason; `_` between those that are up to chance), and what is said of
# their file: `stripped` is said of every good one. What changes all the time is many files.
changing=whole_bad_rule_odd_rule_no_memory_no_mapping_not_code_no_frame_pointer_no_table_depth
modes=(
	'h-good whole stripped'
	'h-loop bad_rule stripped'
	'h-climb depth stripped'
	'h-kernel no_memory stripped'
	'h-nowhere no_memory stripped'
	'h-deref no_memory stripped'
	'h-odd odd_rule stripped'
	'h-overlap whole stripped'
	'h-huge whole no_unwind_info'
	'h-cut whole no_unwind_info'
	'h-fifo whole stripped'
	'h-device whole not_a_file'
	'h-sp-low no_memory stripped'
	'h-sp-kernel no_memory stripped'
	'h-sp-gap no_memory stripped'
	'h-sp-odd bad_rule stripped'
	'h-unreadable no_memory stripped'
	'h-moving whole_no_mapping_not_code_bad_rule_no_memory stripped'
	"h-changing $changing no_unwind_info"
	'h-sparse whole stripped'
)

# outcomes COMM: what its samples in the hostile code came to, without what came before the file's table and was too
# much to be kept; less than one in a hundred is not said. A stack is whole if it is the one that the program has, or,
# where memory changes, if it is what that memory says.
outcomes() {
	perl -ne '
		s/ (\d+)$// or next;
		my ($n, $comm, @frames) = ($1, split /;/);
		@frames = grep { !/_\[k\]$/ } @frames;
		next if $comm ne $ENV{COMM} || !grep { /^(h-[a-z-]+\.so|zero)[@+]/ } @frames;
		my $path = join ";", @frames;
		my $whole = $comm eq "h-moving" ? qr/^(h-moving\.so[@+]\w+;)?h-moving\.so[@+]\w+$/ :
			qr/^_start;.*;main;run_(mode|device);(run;)?(h-[a-z-]+\.so|zero)[@+]\w+$/;
		my $what = $path =~ /^\[incomplete: (\w+)\]/ ? $1 : $path =~ $whole ? "whole" : "wrong: $path";
		next if $what eq "no_table";
		$sum{$what} += $n;
		$all += $n;
		END {
			my @often = grep { $sum{$_} >= 0.01 * $all } sort keys %sum;
			print join " ", @often;
		}' "$T/x.folded"
}

# outcome_holds MODE WANTED: only what is wanted
outcome_holds() {
	local got each
	got=$(COMM=$1 outcomes)
	for each in ${got:-nothing}; do
		case _$2_ in
		*"_${each}_"*) ;;
		*) got= ;;
		esac
	done
	ok "$1: $2" test -n "$got" || diag "$(COMM=$1 outcomes)"
}

# victim_holds: one stack, whole, in every sample of it but those that came before its table and were too many to be
# kept, which is when the machine has no time for the worker
victim_holds() {
	is 'the bystander without frame pointers: every stack is whole' "$(stat_of "$T/x.json" ".processes[] |
		select(.pid == $victim) | .complete > 100 and .user_samples == .complete + (.incomplete.no_table // 0)")" true ||
		diag "$(stat_of "$T/x.json" ".processes[] | select(.pid == $victim)")"
	is 'and the one that it has' "$(grep '^h-victim;[^[]' "$T/x.folded" | perl -ne '
		s/ \d+$//;
		chomp;
		print join(";", grep { !/_\[k\]$/ } split /;/), "\n";' | sort -u | sed -E 's/;sort(;[^;[]+)+;compare;/;sort;...;compare;/')" \
		'h-victim;_start;__libc_start_main;__libc_start_call_main;main;outer;middle;inner;sort;...;compare;zoo_spin'
}

small() {
	holds "$1: wick and its worker stay small" "$(stat_of "$T/x.json" .self.max_rss_bytes) < 96 << 20"
	holds "$1: so do its tables" "$(stat_of "$T/x.json" .self.bpf_map_bytes) < 96 << 20"
}

all_burned() {
	local pid
	for pid in "${pids[@]}"; do
		burned "$pid" 60 || return 1
	done
}

# try "MODE OUTCOMES REASON"...: all at once, beside the bystanders
try() {
	local line mode want reason pids=() victim wick names
	names=$(printf '%s\n' "$@" | cut -d' ' -f1 | tr '\n' ' ')
	start /dev/null "$PROGS/shares" -n bystander
	pids+=("$started")
	start "$T/victim" "$T/h-victim"
	victim=$started
	pids+=("$victim")
	wait_for 20 grep -q '^ready' "$T/victim"
	record_start -F 499
	wick=$started
	for line; do
		start "$T/words" "$PROGS/hostile" "$T" "${line%% *}"
		pids+=("$started")
	done
	ok "they run" wait_for 120 all_burned
	end "$wick"
	stop "${pids[@]}"
	is "wick ends well: $names" "$status" 0
	sums_hold "with them" "$T/x.json" "$T/x.folded"
	is 'user stacks are whole or have a reason' "$(stat_of "$T/x.json" '
		.stacks.user == .stacks.complete + ([.stacks.incomplete[]] | add)
		and ([.processes[] | .user_samples == .complete + ([.incomplete[]] | add // 0)] | all)')" true
	shares_hold "beside them" "$T/x.folded" bystander "$PROGS/shares"
	victim_holds
	small "with them"
	for line; do
		read -r mode want reason <<<"$line"
		outcome_holds "$mode" "$want"
		ok "$mode: of its file, $reason" test "$(stat_of "$T/x.json" "[.files[] |
			select(.path == \"$T/$mode.so\" or (\"$mode\" == \"h-device\" and .path == \"/dev/zero\")) | .reason] |
			index(\"$reason\") != null")" = true || diag "$(stat_of "$T/x.json" '.files | tostring' | cut -c1-400)"
	done
}

ln -s "$zoo/plain" "$T/h-victim"
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
small 'many'

finish
