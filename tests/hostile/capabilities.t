#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# wick with file capabilities, as its own message advises, in the hands of an ordinary user: he can sample, and can read
# and write no file that he could not without wick. The same for a wick that is set-user-ID root, which nobody advises.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

unset SUDO_UID SUDO_GID
PATH=$PATH:/usr/sbin:/sbin
user=65534
as_user=(setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps=-all --ambient-caps=-all --)
chmod 711 "$T"
umask 022
cp "$WICK" "$T/wick"
cp "$WICK" "$T/plain"
chmod 755 "$T/wick" "$T/plain"
mkdir -m 755 "$T/out" && chown $user:$user "$T/out"

# The message's own words
run "${as_user[@]}" "$T/plain" record -o "$T/out/x.folded" 1
advice=$(sed -n 's/.*setcap \([a-z_,]*+ep\) .*/\1/p' "$T/stderr")
ok 'the message names capabilities' test -n "$advice" || diag "$(cat "$T/stderr")"
# Some kernels want more of who opens a perf event.
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || advice=cap_sys_admin,$advice
ok 'they are given' setcap "$advice" "$T/wick"

# ---- What is not the user's: a file, and a folder that he cannot enter with a file that is for everyone ----

cp "$tests_dir/golden/busy.wick" "$T/secret.wick"
chmod 600 "$T/secret.wick"
cp "$tests_dir/golden/busy.wick" "$T/for-all.wick"
chmod 644 "$T/for-all.wick"
mkdir "$T/locked"
cp "$tests_dir/golden/busy.wick" "$T/locked/open.wick"
mkdir "$T/locked/out"
chmod 777 "$T/locked/out"
chmod 666 "$T/locked/open.wick"
chmod 700 "$T/locked"
mkdir -m 755 "$T/here" "$T/kept"
chown $user "$T/here" "$T/kept"

# refuses NAME WORDS COMMAND...: in one line, and without a word of what was asked for
refuses() {
	local name=$1 words=$2 before
	shift 2
	before=$(files)
	run "${as_user[@]}" env -C "$T/here" "$@"
	is "$name: exit" "$status" 1
	ok "$name: why" grep -qE -- "$words" "$T/stderr" || diag "$(head -3 "$T/stderr")"
	is "$name: says nothing else" "$(wc -l <"$T/stderr") $(wc -c <"$T/stdout")" '1 0'
	is "$name: writes nothing" "$(files)" "$before"
}

files() {
	find "$T/locked" "$T/here" "$T/out" -type f -printf '%P %U %m %s %T@\n' | sort
}

# ---- Commands that do not sample have no capabilities at all ----

for how in report convert merge "diff $T/secret.wick" 'convert -f html -o -' "serve --listen 127.0.0.1:0 --replay"; do
	# shellcheck disable=SC2086 # words
	refuses "${how%% /*}: root's file" "secret\.wick': Permission denied" timeout 30 "$T/wick" $how "$T/secret.wick"
	case $how in diff*) continue ;; esac
	# shellcheck disable=SC2086
	refuses "$how: root's folder" "locked/open\.wick': Permission denied" timeout 30 "$T/wick" $how "$T/locked/open.wick"
done
refuses 'report: through a link' "link': Permission denied" bash -c "ln -sf '$T/secret.wick' link && exec '$T/wick' report link"
refuses 'sql: a store' 'Permission denied' "$T/wick" sql --data "$T/locked/out" 'SELECT 1'
refuses 'convert: writing to a folder that he cannot enter' "locked/out/x\.folded': Permission denied" \
	"$T/wick" convert "$T/for-all.wick" -o "$T/locked/out/x.folded"

capless() {
	[ "$(awk '/^Cap(Inh|Prm|Eff|Amb)/ { sum += ($2 != "0000000000000000") } END { print NR ? sum : "none" }' "/proc/$1/status")" = 0 ]
}
for command in report convert merge; do
	mkfifo "$T/in.$command" && chmod 666 "$T/in.$command"
	start "$T/words" "${as_user[@]}" "$T/wick" "$command" "$T/in.$command"
	exec 9>"$T/in.$command" # it is in its input now
	ok "$command: gives up its capabilities before it reads" capless "$started"
	exec 9>&-
	wait "$started" 2>/dev/null
done
start "$T/words" "${as_user[@]}" "$T/wick" serve --listen 127.0.0.1:0 --replay "$T/for-all.wick"
ok 'serve --replay: listens' wait_for 20 grep -q listening "$T/words"
ok 'serve --replay: has no capabilities' capless "$started"
end "$started" INT

# ---- Commands that sample do that, and nothing else, with them ----

run "${as_user[@]}" "$T/wick" record -F 999 -o "$T/out/x.folded" --stats "$T/out/x.json" -- timeout 2 "$(readlink -f "$(command -v perl)")" -e '1 while 1'
is 'record works' "$status$(grep -v 'wick: note:' "$T/stderr")" 124
holds 'record sees samples of the command' "$(folded_sum "$T/out/x.folded" perl) > 500"
is "record: its files are the user's" "$(stat -c %u "$T/out/x.folded" "$T/out/x.json" | sort -u)" $user
run "${as_user[@]}" "$T/wick" record -F 999 -f folded -o - 1
is 'record works for the whole machine' "$status" 0
holds 'it sees samples' "$(folded_sum "$T/stdout") > 0"
rm -f "$T"/out/*

refuses 'record -o: a folder that he cannot enter' "locked/out/x\.folded': Permission denied" \
	"$T/wick" record -o "$T/locked/out/x.folded" 50
refuses 'record --stats: the same' "locked/out/x\.json': Permission denied" \
	"$T/wick" record -f folded -o /dev/null --stats "$T/locked/out/x.json" 50
start /dev/null bash -c "exec 3>>'$T/locked/open.wick'; exec tail -f /dev/null"
wait_for 20 test -e "/proc/$started/fd/3"
refuses 'record -o: the descriptor of another process' "fd/3': Permission denied" \
	"$T/wick" record -f folded -o "/proc/$started/fd/3" 50
stop "$started"
refuses 'record --cp: the map of colours' "palette\.map': Permission denied" \
	bash -c "ln -sf '$T/secret.wick' palette.map && exec '$T/wick' record -f svg -o /dev/null --cp 50"
refuses 'serve --data: the same' 'Permission denied' \
	timeout 30 "$T/wick" serve --listen 127.0.0.1:0 --data "$T/locked/out/data" --socket "$T/here/sock"
echo 0123456789abcdef0123456789abcdef >"$T/token"
chmod 600 "$T/token"
refuses 'serve --token-file: the same' "token': Permission denied" \
	timeout 30 "$T/wick" serve --listen 127.0.0.1:0 --data "$T/kept/data" --socket "$T/here/sock" --token-file "$T/token"

start "$T/words" "${as_user[@]}" "$T/wick" serve --listen 127.0.0.1:0 --data "$T/out/data" --socket "$T/out/sock" --window 1
ok 'serve works' wait_for 20 grep -q 'sampling at' "$T/words"
end "$started" INT
is 'serve ends well' "$status" 0

# ---- Root is root, with such a file too ----

chown $user "$T/secret.wick"
run "$T/wick" report "$T/secret.wick"
is "root reads a user's file" "$status" 0
chown 0 "$T/secret.wick"

# ---- Set-user-ID ----

setcap -r "$T/wick"
chown 0 "$T/wick"
chmod 4755 "$T/wick"
rm -rf "$T"/out/* "$T"/here/*
for command in report convert merge; do
	refuses "set-user-ID: $command" "secret\.wick': Permission denied" "$T/wick" "$command" "$T/secret.wick"
done
refuses 'set-user-ID: record -o' "locked/x\.folded': Permission denied" "$T/wick" record -o "$T/locked/x.folded" 50
SUDO_UID=1 SUDO_GID=1 run "${as_user[@]}" "$T/wick" record -o "$T/out/x.folded" -- id -u
is 'set-user-ID: the command is run by the user' "$status $(cat "$T/stdout")" "0 $user"
is "set-user-ID: the output is the user's" "$(stat -c %u "$T/out/x.folded")" $user

finish
