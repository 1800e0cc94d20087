#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Profiles compared, added up and filtered, as people type it. The tables are in diff-*.expected beside this file; when
# they change on purpose, read the difference that the test shows, then write them anew: tests/golden/diff.t --write
# Needs no root.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

here=$tests_dir/golden
write=${1:-}
cd "$T" || exit 1

# shows NAME ARGUMENT...: ends well, says nothing, and prints diff-NAME.expected
shows() {
	local name=$1
	shift
	run "$WICK" "$@"
	is "$name: exit" "$status" 0
	is "$name: nothing on standard error" "$(cat "$T/stderr")" ""
	[ "$write" != --write ] || cp "$T/stdout" "$here/diff-$name.expected"
	ok "$name: as expected" diff -u "$here/diff-$name.expected" "$T/stdout"
}

# prints NAME TEXT ARGUMENT...
prints() {
	local name=$1 text=$2
	shift 2
	run "$WICK" "$@"
	is "$name: exit" "$status" 0
	is "$name" "$(cat "$T/stdout")" "$text"
}

# says NAME STATUS WORDS ARGUMENT...
says() {
	local name=$1 wanted=$2 words=$3
	shift 3
	run "$WICK" "$@" </dev/null
	is "$name: exit" "$status" "$wanted"
	is "$name: one line" "$(grep -c '' "$T/stderr") $(grep -c '^wick: ' "$T/stderr")" "1 1"
	ok "$name: $words" grep -qF -e "$words" "$T/stderr"
}

cat >old.folded <<'END'
web;main;serve;parse 300
web;main;serve;std::map<std::string, std::vector<int>>::find(std::string const&) 500
web;main;serve;lib.so@0x10;memcpy_[k] 100
web;main;log 98
cron;main;log 2
END
cat >new.folded <<'END'
web;main;serve;parse 700
web;main;serve;std::map<std::string, std::vector<int>>::find(std::string const&) 520
web;main;serve;lib.so@0x10;memcpy_[k] 110
web;main;log 120
web;main;zip 50
END

# ---- diff ----

shows table diff old.folded new.folded
is 'table: 80 columns' "$(awk '{ gsub(/[\200-\277]/, ""); if (length > 80) print }' "$T/stdout")" ''
shows table-200 diff --width 200 old.folded new.folded
shows top diff --top 2 old.folded new.folded
shows same diff old.folded old.folded
ok 'the same twice: no line but noise' test "$(grep -c noise "$T/stdout")" -gt 10
is 'the same twice: nothing grew or shrank' "$(grep -cE 'grew|shrank' "$T/stdout")" 0
shows focus diff --focus serve --hide lib --process web old.folded new.folded
prints 'both counts' "web;main;serve;parse 300 700
web;main;serve;std::map<std::string, std::vector<int>>::find(std::string const&) 500 520
web;main;log 98 120
web;main;serve;lib.so@0x10;memcpy_[k] 100 110
web;main;zip 0 50
cron;main;log 2 0" diff -f folded old.folded new.folded
prints 'both counts, scaled' "web;main;serve;parse 450 700
web;main;serve;std::map<std::string, std::vector<int>>::find(std::string const&) 750 520
web;main;log 147 120
web;main;serve;lib.so@0x10;memcpy_[k] 150 110
web;main;zip 0 50
cron;main;log 3 0" diff --normalize -f folded old.folded new.folded
"$WICK" diff old.folded new.folded -o d.folded
run "$WICK" diff -f folded old.folded new.folded
ok 'by suffix as by name' cmp d.folded "$T/stdout"
"$WICK" diff old.folded new.folded -o d.svg --title Compared --width 500
ok 'a graph' grep -q '<text[^>]*>Compared</text>' d.svg
ok 'a graph: as wide as asked' grep -q '<svg[^>]* width="500"' d.svg
run "$WICK" diff -f svg old.folded new.folded --title Compared --width 500
ok 'a graph: by suffix as by name' cmp d.svg "$T/stdout"
"$WICK" diff old.folded new.folded -o d.svg --normalize
ok 'a graph: scaled' grep -q 'parse (700 samples, 46.67%; +16.67%)' d.svg
run "$WICK" diff --fail-above 16.6 old.folded new.folded -o d.svg
is 'a graph: and a test' "$status" 3
"$WICK" convert old.folded -o old.wick
run "$WICK" diff old.wick new.folded
is 'formats may differ' "$(sed 1d "$T/stdout")" "$(sed 1d "$here/diff-table.expected")"
run "$WICK" diff - new.folded <old.folded
is 'from standard input' "$(sed 1d "$T/stdout")" "$(sed 1d "$here/diff-table.expected")"

says 'grew by too much' 3 'parse grew by 16.67 percentage points (' diff --fail-above 16.6 old.folded new.folded
ok 'grew by too much: the table is there' grep -q '^SELF' "$T/stdout"
run "$WICK" diff --fail-above 16.7 old.folded new.folded
is 'grew by less' "$status" 0
run "$WICK" diff --fail-above 0 old.folded old.folded
is 'did not grow' "$status" 0
# Twice as much of next to nothing may be chance.
printf 'a;b 3\na;c 97\n' >few.folded
printf 'a;b 6\na;c 94\n' >more.folded
run "$WICK" diff --fail-above 1 few.folded more.folded
is 'grew, but that may be noise' "$status" 0
ok 'grew, but that may be noise: it is said' grep -qE '^ +\+3\.00 .* noise +b ' "$T/stdout"

says 'one file' 2 'two profiles to compare, and it was given 1' diff old.folded
says 'three files' 2 'two profiles to compare, and it was given 3' diff old.folded old.folded old.folded
says 'both from standard input' 2 'only one of the two' diff - -
says 'a limit in words' 2 "--fail-above: 'much' is not a number" diff --fail-above much old.folded new.folded
says 'a negative limit' 2 "--fail-above: '-1' is not a number" diff --fail-above -1 old.folded new.folded
says 'a format that shows no difference' 2 'there are report (.txt), folded (.folded), svg (.svg)' diff -f wick old.folded new.folded
says 'a suffix that names none' 2 "its suffix names no format for a difference" diff -o x.wick old.folded new.folded
says 'a graph is shaped that is none' 2 '--title: it shapes a flame graph, and none is written' \
	diff --title x old.folded new.folded -o d.folded
says 'a graph is turned that is none' 2 '--negate: it shapes a flame graph' diff --negate old.folded new.folded
says 'a graph in a colour that is none' 2 "--colors: 'pink'" diff --colors pink old.folded new.folded -o d.svg
says 'a graph that is too narrow' 2 "--width: '99' is not" diff --width 99 old.folded new.folded -o d.svg
says 'a bad pattern' 2 "focus 'a('" diff --focus 'a(' old.folded new.folded
says 'a file that is not there' 1 "reading 'none'" diff old.folded none
says 'a full device' 1 'No space left on device' diff old.folded new.folded -o /dev/full -f report

# ---- merge ----

prints 'merge' "web;main;serve;std::map<std::string, std::vector<int>>::find(std::string const&) 1020
web;main;serve;parse 1000
web;main;log 218
web;main;serve;lib.so@0x10;memcpy_[k] 210
web;main;zip 50
cron;main;log 2" merge old.folded new.folded -f folded
cp "$T/stdout" sum
"$WICK" merge old.wick new.folded -o a.wick -o b.folded
ok 'merge: from two formats to two' cmp b.folded sum
prints 'merge: the sum, saved' "$(cat sum)" convert a.wick -f folded
"$WICK" merge old.wick new.folded -o again.wick
ok 'merge: the same twice' cmp a.wick again.wick
prints 'merge: one alone' "$("$WICK" convert -f folded old.folded)" merge -f folded old.folded
prints 'merge: filtered' 'cron;main;log 4' merge --process cron -f folded old.folded new.folded old.folded
# shellcheck disable=SC2046 # as many words
prints 'merge: many' 'a;c 9700
a;b 300' merge -f folded $(yes few.folded | head -100)
"$WICK" merge "$here/busy.wick" "$here/busy.wick" --stats sum.json >sum.txt
"$WICK" convert "$here/busy.wick" --stats one.json >one.txt
is 'merge: the accounting adds up' "$(jq -c '[.fired, .left_out.idle, .samples.taken, .samples.counted]' sum.json)" \
	"$(jq -c '[.fired, .left_out.idle, .samples.taken, .samples.counted] | map(. * 2)' one.json)"
says 'merge: nothing' 2 'no profiles to read' merge
says 'merge: one is bad' 1 "reading 'none'" merge old.folded none -o kept.wick
ok 'merge: then nothing is written' test ! -e kept.wick

# ---- convert ----

prints 'convert --process' 'cron;main;log 2' convert --process '^cr' -f folded old.folded
prints 'convert --focus --hide' "web;main;parse 300" convert --focus parse --hide serve -f folded old.folded
prints 'convert --ignore' "web;main;log 98
cron;main;log 2" convert --ignore serve -f folded old.folded
says 'convert: a bad pattern' 2 "process '['" convert --process '[' old.folded
run "$WICK" report --process cron old.folded
ok 'report --process' grep -q "^process 'cron': 2 of 1,000 samples" "$T/stdout"

finish
