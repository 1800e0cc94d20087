#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Go that goes on on other stacks: its collector runs on that of the thread, and so does C. Stacks lead back to the
# goroutine, and end where Go's do.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

zoo=${WICK_BUILD:-$tests_dir/../build}/zoo

# percent PATTERN: of the samples with a user stack, but those before the first table
percent() {
	perl -ne '
		s/ (\d+)$// or next;
		my ($n, undef, @frames) = ($1, split /;/);
		@frames = grep { !/_\[k\]$/ } @frames;
		next if !@frames || $frames[0] =~ /no_table/;
		$all += $n;
		$found += $n if join(";", @frames) =~ /$ENV{PATTERN}/;
		END { printf "%.2f\n", $all ? 100 * ($found // 0) / $all : 0 }' "$T/x.folded"
}

start "$T/words" "$zoo/go" collect
go=$started
ok 'it runs' wait_for 20 grep -q ready "$T/words"
record_start -F 999 -p "$go"
wick=$started
before=$(ticks "$go")
ok 'for a while' wait_for 60 burned "$go" $((before + 300))
end "$wick"
stop "$go"
is 'exit' "$status" 0
sums_hold 'Go' "$T/x.json" "$T/x.folded"
holds 'stacks end where Go begins' \
	"$(PATTERN='^(runtime\.(goexit|mcall|mstart|rt0_go|sigreturn__sigaction)|_rt0_amd64\w*|_start|clone3?)(;|$)' percent) >= 98"
holds 'hardly any is incomplete' "$(PATTERN='^\[incomplete' percent) <= 1"
holds 'the collector leads back to who allocates' "$(PATTERN='^runtime\.goexit;runtime\.main;main\.main;main\.collect;(main\.grow;)+.*;runtime\.systemstack;runtime\.' percent) > 0"
holds 'C leads back to who called it' \
	"$(PATTERN='^runtime\.goexit;main\.collect\.func1;.*runtime\.cgocall;runtime\.asmcgocall;.*moment' percent) > 5"

finish
