#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Files that never come: programs of an ordinary user run from a file system of his own that does not answer, and keep
# others from looking at their mappings (fuse.c says how). Whatever wick asks for, it does not wait: a recording ends in
# time with everybody else's stacks and names, windows are sealed one after the other, and nothing is left behind.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

modes=(open getattr read flush lookup readlink statfs all exec lock maps)
seconds=3

# all_stall: every kind at once
all_stall() {
	local mode
	for mode in "${modes[@]}"; do
		stall "$mode" || return 1
	done
}

in_peace -F 999 $seconds

# ---- A program that begins is enough ----

victims h
stall exec
bounded -F 999 $seconds
judge 'one that begins' h
release
ok 'one that begins: nothing is left' wait_for 10 nothing_left || diag "$(where_it_waits)"
rm -rf "$home/exec.fuse"

# ---- All of them, beside a recording ----

ok 'all kinds of them run' all_stall
bounded -F 999 $seconds
judge 'all' h && for mode in "${modes[@]}"; do
	[ "$mode" = exec ] || holds "$mode: it was sampled" "$(folded_sum "$T/x.folded" "h-$mode") > 0"
done
release
ok 'all: nothing is left' wait_for 10 nothing_left || diag "$(where_it_waits)"
find "$home" -maxdepth 1 -name '*.fuse' -exec rm -rf {} +

# ---- And beside a server ----

serve -F 499
sealed_more 2
all_stall
begun=$(rows 'SELECT coalesce(max(last_sequence), 0) FROM windows')
now=$EPOCHREALTIME
from=${now/./}
ok 'serve: windows are sealed' wait_for "$patience" windows_up_to $((begun + 6)) || diag "$(where_it_waits)"
holds 'serve: in their time' "$EPOCHREALTIME - $now < 6 + $slack + $naming"
curl -sS -m 10 --unix-socket "$SOCKET" 'http://localhost/api/profile?format=folded&from='"${from:0:13}" >"$T/x.folded" 2>"$T/curl.err" ||
	diag "$(cat "$T/curl.err")"
shares_hold 'serve' "$T/x.folded" h-shares "$bin/h-shares"
is 'serve: a victim without frame pointers has no stack but its own' \
	"$(other_stacks h-plain "$whole;outer;middle;inner;sort(;[^;]+)*;compare;zoo_spin")" ''
before=$EPOCHREALTIME
kill -TERM "$server"
ok 'serve: it ends when it is told to' wait_for $((naming + 5)) gone "$server" || {
	diag "$(where_it_waits)"
	release
	kill -KILL "$server"
}
wait "$server"
is 'serve: and well' "$?" 0
diag "serve ended after $(perl -e "printf '%.2f', $EPOCHREALTIME - $before") s"
release
ok 'serve: nothing is left' wait_for 10 nothing_left || diag "$(where_it_waits)"

finish
