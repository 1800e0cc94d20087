#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The report as people read it: busy.wick, printed in every manner, against busy-*.expected beside this file; and what
# the command says when it is used wrongly. Needs no root.
#
# busy.wick was made with tests/tools/mkprofile. When the report changes on purpose, read the difference that the
# test shows, then write the texts anew: tests/golden/report.t --write

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

here=$tests_dir/golden
write=${1:-}

same() {
	diff -u "$1" "$2" >&2
}

# shows NAME ARGUMENT...: the text is busy-NAME.expected; it is made in the folder of the profile, whose path it names
shows() {
	local expected=$here/busy-$1.expected
	local name=$1
	shift
	run bash -c 'cd "$1" && shift && "$@"' - "$here" "$WICK" report "$@"
	is "$name: exit" "$status" 0
	is "$name: nothing on standard error" "$(cat "$T/stderr")" ""
	[ "$write" != --write ] || cp "$T/stdout" "$expected"
	ok "$name: as expected" same "$expected" "$T/stdout"
}

# says NAME STATUS WORDS ARGUMENT...
says() {
	local name=$1 wanted=$2 words=$3
	shift 3
	run "$WICK" report "$@" </dev/null
	is "$name: exit" "$status" "$wanted"
	is "$name: one line" "$(grep -c '' "$T/stderr") $(grep -c '^wick: ' "$T/stderr")" "1 1"
	ok "$name: $words" grep -qF -e "$words" "$T/stderr"
}

# ---- What it looks like ----

shows 80 busy.wick
shows 200 --width 200 busy.wick
shows top --top 3 busy.wick
shows tree --tree busy.wick
shows tree-200 --tree --width=200 --percent-limit 0 busy.wick
shows callers --callers luaH_getstr busy.wick
shows callers-200 --callers do_syscall_64 --width 200 busy.wick
shows by-process --by process --top 4 busy.wick
shows by-thread --by thread --top 4 busy.wick
shows by-module --by module --top 4 busy.wick
shows by-container --by container --top 4 busy.wick
shows by-unit --by unit --top 4 busy.wick
shows focus --focus '^lua' busy.wick
shows ignore --ignore redis --hide '^(_start|main|__libc_start_main)$' busy.wick
shows limit --percent-limit 10 busy.wick
shows quality --quality busy.wick

# Folded stacks of it: the same functions and paths, without what they do not hold.
run "$WICK" convert "$here/busy.wick" -o "$T/busy.folded"
run "$WICK" convert "$T/busy.folded" -f folded -o -
ok "folded, read and written again, is the same" same "$T/busy.folded" "$T/stdout"
run "$WICK" report "$here/busy.wick"
grep -E '^ *[0-9.]+% ' "$T/stdout" | grep -vE ' (×?[0-9]+) +[^ ]+ +[0-9]+% ' >"$T/wick.lines"
run bash -c '"$1" report - <"$2"' - "$WICK" "$T/busy.folded"
is "from standard input: exit" "$status" 0
ok "folded: its hottest path is there" grep -qF 'evalCommand → lua_pcall → luaD_call → luaV_execute' "$T/stdout"
is "folded: the same paths" "$(grep -E '^ +[0-9.]+% .*(─|: )' "$T/stdout")" "$(grep -E '─|: ' "$T/wick.lines")"
ok "folded: losses are not claimed" grep -q 'losses are not known' "$T/stdout"

# The tool still makes the profile that the texts were made from.
run "$WICK_TOOLS/mkprofile"
cp "$T/stdout" "$T/busy.wick"
run "$WICK" convert "$T/busy.wick" -f folded -o -
ok "mkprofile makes this profile" same "$T/busy.folded" "$T/stdout"

# ---- Where it goes ----

run "$WICK" report -o "$T/report.txt" "$here/busy.wick"
is "-o: exit" "$status" 0
is "-o: nothing on standard output" "$(wc -c <"$T/stdout")" 0
ok "-o: the report" grep -q luaV_execute "$T/report.txt"
run bash -c '"$1" report "$2" | head -n 1' - "$WICK" "$here/busy.wick"
is "a reader that leaves is no error" "$status $(cat "$T/stderr")" "0 "

# On a terminal: its width, and colour unless NO_COLOR is set. What is seen there goes to $T/seen.
on_terminal() {
	script -qec "stty cols 120 && $1" "$T/typescript" >/dev/null </dev/null
	tr -d '\r' <"$T/typescript" | sed '/^Script /d' | sed '${/^$/d}' >"$T/seen"
}
on_terminal "NO_COLOR=1 TERM=xterm '$WICK' report '$here/busy.wick'"
run "$WICK" report --width 120 "$here/busy.wick"
ok "terminal: its width, no colour with NO_COLOR" same "$T/stdout" "$T/seen"
on_terminal "env -u NO_COLOR TERM=xterm '$WICK' report '$here/busy.wick'"
ok "terminal: colour" grep -q "$(printf '\033\\[1;31m 22.5%%')" "$T/seen"
on_terminal "env -u NO_COLOR TERM=dumb '$WICK' report '$here/busy.wick'"
is "dumb terminal: no colour" "$(grep -c "$(printf '\033')" "$T/seen")" 0

# ---- Used wrongly ----

says "no file" 2 "no file to read"
says "two files" 2 "one profile to read, and it was given 2" a b
says "a command" 2 "it runs no command" a -- b
says "no such file" 1 "No such file or directory" "$T/none.wick"
says "no such function" 1 "no function in this profile is called 'nosuch'" --callers nosuch "$here/busy.wick"
says "bad pattern" 2 "focus '('" --focus '(' "$here/busy.wick"
says "bad group" 2 "'cgroup' is not process, thread, module, container or unit" --by cgroup "$here/busy.wick"
says "bad number" 2 "--top: 'many' is not a number" --top many "$here/busy.wick"
says "bad percentage" 2 "--percent-limit: '101' is not a number from 0 to 100" --percent-limit 101 "$here/busy.wick"
says "narrow" 2 "--width: '39' is not a number from 40" --width 39 "$here/busy.wick"
says "quality of a tree" 2 "--quality: not together with --tree" --quality --tree "$here/busy.wick"
printf 'sh;a 1\nsh;b\n' >"$T/bad.folded"
says "a line without a count" 1 "bad.folded': line 2: no count at its end" "$T/bad.folded"
printf 'PERFILE2' >"$T/perf.data"
says "perf's own data" 1 "perf script" "$T/perf.data"
: >"$T/empty.wick"
says "empty" 1 "empty" "$T/empty.wick"

finish
