#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# How a recording ends: by its time, by signals, by a reader that has gone; and what people see while it runs.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

start /dev/null "$PROGS/shares" -n ends
load=$started

for signal in INT TERM; do
	record_start -F 999 -p "$load"
	wick=$started
	wait_for 10 burned "$load" "$(($(ticks "$load") + 100))"
	end "$wick" "$signal"
	is "SIG$signal: exit" "$status" 0
	shares_hold "SIG$signal: everything is written" "$T/x.folded" ends "$PROGS/shares"
	sums_hold "SIG$signal" "$T/x.json" "$T/x.folded"
done

# With a time given, a signal still ends it early.
record_start -F 999 -p "$load" 60
begin=${EPOCHREALTIME/./}
end "$started" INT
is 'SIGINT before its time: exit' "$status" 0
holds 'SIGINT before its time: at once' "(${EPOCHREALTIME/./} - $begin) / 1e6 < 5"
ok 'SIGINT before its time: written' test -s "$T/x.json"

# A signal to the whole foreground, as Ctrl-C is: the command gets it as well.
start "$T/wick.out" env --default-signal=INT setsid "$WICK" record -o "$T/x.folded" -- "$PROGS/shares" -n ctrl-c
wick=$started
wait_for 20 pgrep -x ctrl-c
wait_for 10 burned "$(pgrep -x ctrl-c)" 30
kill -INT -- "-$wick"
wait_for 10 gone "$wick"
wait "$wick"
is 'Ctrl-C with a command: its status' "$?" 130
ok 'Ctrl-C with a command: written' test -s "$T/x.folded"

# The second one ends it while it is still writing: the reader of this pipe never reads.
mkfifo "$T/pipe"
start "$T/wick.out" "$WICK" record -F 4999 -I -f folded -o "$T/pipe"
wick=$started
exec 8<>"$T/pipe"
wait_for 20 sampling "$wick"
start /dev/null "$PROGS/storm" 2 2
wait_for 10 gone "$started"
kill -INT "$wick"
wait_for 10 grep -q pipe_write "/proc/$wick/wchan"
kill -INT "$wick"
ok 'a second SIGINT: stops at once' wait_for 5 gone "$wick"
exec 8>&-

# ---- Standard output ----
run bash -c '"$1" record -F 999 -I -f folded -o - 1 | head -1; exit "${PIPESTATUS[0]}"' - "$WICK"
is '| head -1: one line came' "$(wc -l <"$T/stdout")" 1
ok '| head -1: not killed, no crash' test "$status" -le 1
ok '| head -1: at most one line about it' test "$(wc -l <"$T/stderr")" -le 1
run bash -c '"$1" record -f folded -o - 1 >&-' - "$WICK"
is 'standard output closed: exit' "$status" 1
is 'standard output closed: one line' "$(wc -l <"$T/stderr")" 1
run "$WICK" record -F 999 -p "$load" -f folded -o - 1
is 'standard output: exit' "$status" 0
shares_hold 'standard output is the profile, nothing else' "$T/stdout" ends "$PROGS/shares"
run "$WICK" record -F 999 -p "$load" -f folded -o - -o "$T/two.folded" -o "$T/two.wick" 1
ok 'three outputs of one run are the same' cmp -s "$T/stdout" "$T/two.folded"
ok 'three outputs: .wick is there' test -s "$T/two.wick"
is 'hottest first' "$(sed 's/.* //' "$T/two.folded")" "$(sed 's/.* //' "$T/two.folded" | sort -rn)"
is 'identical lines are added up' "$(sed 's/ [0-9]*$//' "$T/two.folded" | sort | uniq -d)" ''

# Nobody sees half a file: an old one stays until the new one is whole.
# What killed it cannot be caught: the new one has no name until it is whole, where the file system knows such files.
mkdir "$T/killed"
echo old >"$T/killed/old.folded"
start /dev/null "$WICK" record -F 999 -p "$load" -o "$T/killed/old.folded" -o "$T/killed/new.wick"
wait_for 20 sampling "$started"
is 'while it runs, the old file is there' "$(cat "$T/killed/old.folded")" old
kill -KILL "$started"
wait "$started" 2>/dev/null
is 'killed: the old file is there' "$(cat "$T/killed/old.folded")" old
if perl -MFcntl -e 'sysopen my $f, $ARGV[0], O_WRONLY | 020200000 or exit 1' "$T/killed"; then # O_TMPFILE
	is 'killed: nothing else is' "$(cd "$T/killed" && echo .[!.]* *)" '.[!.]* old.folded'
else
	skip 'killed: nothing else is' 'this file system has no files without names'
fi
run "$WICK" record -F 999 -p "$load" -o "$T/killed/old.folded" 1
shares_hold 'then replaced' "$T/killed/old.folded" ends "$PROGS/shares"
# Without its descriptors in /proc a file cannot get a name later: it has one from the beginning.
for name in old.folded another.folded; do
	run unshare -m bash -c 'mount --make-rprivate / && mount -t tmpfs none "/proc/$$/fd" && exec "$1" convert "$2" -o "$3"' - \
		"$WICK" "$T/x.folded" "$T/killed/$name"
	is "no /proc, $name: exit" "$status" 0
	ok "no /proc, $name: written" cmp -s "$T/x.folded" "$T/killed/$name"
done
is 'no /proc: nothing else' "$(cd "$T/killed" && echo .[!.]* *)" '.[!.]* another.folded old.folded'

mkdir "$T/clean"
run "$WICK" record -o "$T/clean/x.folded" -o "$T/clean/x.wick" --stats "$T/clean/x.json" 0.2
is 'no other name stays behind' "$(cd "$T/clean" && echo .[!.]* *)" '.[!.]* x.folded x.json x.wick'

# ---- What people see ----
run "$WICK" record -p "$load" 1
is 'no output asked for: exit' "$status" 0
ok 'no output asked for: a report' test -s "$T/stdout"
is 'no progress in a pipe' "$(tr -cd '\r\033' <"$T/stderr" | wc -c)" 0
run script -qec "'$WICK' record -p $load -o '$T/x.folded' 2" /dev/null
ok 'a progress line on a terminal' grep -q $'\r' "$T/stdout"
ok 'which counts samples' grep -qE '[0-9]+ samples' "$T/stdout"
run script -qec "'$WICK' record -p $load -f folded -o - 1 2>/dev/null" /dev/null
is 'none if standard error is no terminal' "$(tr -cd '\033' <"$T/stdout" | wc -c)" 0

# ---- The numbers ----
record -F 999 -p "$load" 1
is 'all the fields of the contract' "$(jq -r '
	[has("schema"), has("hz"), has("duration_s"), has("expected"), has("fired"), has("missed"),
	(.left_out | has("idle") and has("filter") and has("self")),
	(.samples | has("taken") and has("counted") and has("lost")),
	(.stacks | has("user") and has("complete") and has("incomplete")),
	(.frames | has("row") and has("fp") and has("user")),
	(.self | has("cpu_seconds") and has("max_rss_bytes") and has("bpf_map_bytes") and has("bpf_ns_per_sample") and has("first_sample_ms")),
	(.processes[0] | has("pid") and has("comm") and has("exe") and has("samples") and has("user_samples") and has("complete") and has("median_depth"))]
	| all' "$T/x.json")" true
is 'hz is what was asked for' "$(stat_of "$T/x.json" .hz)" 999
is 'user stacks are complete or have a reason' \
	"$(stat_of "$T/x.json" '.stacks.user == .stacks.complete + ([.stacks.incomplete[]] | add // 0)')" true
is 'processes add up to what was counted' "$(stat_of "$T/x.json" '([.processes[].samples] | add) == .samples.counted')" true

finish
