#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What people meet before any sampling: help, bad words, and saved profiles turned into other formats. Needs no root.
# The texts that are compared whole are in *.expected beside this file; when one changes on purpose, write it anew with
# the command that is tested.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

here=$tests_dir/golden
corpus=$tests_dir/fuzz/corpus/wick
example=$corpus/example-v1

# says NAME STATUS WORDS ARGUMENT...: ends so, with nothing on standard output and these words in one line on the other
says() {
	local name=$1 wanted=$2 words=$3
	shift 3
	run "$WICK" "$@" </dev/null
	is "$name: exit" "$status" "$wanted"
	is "$name: nothing on standard output" "$(wc -c <"$T/stdout")" 0
	is "$name: one line" "$(grep -c '' "$T/stderr") $(grep -c '^wick: ' "$T/stderr")" "1 1"
	ok "$name: $words" grep -qF -e "$words" "$T/stderr"
}

# tells NAME WORDS ARGUMENT...: ends well, with these words on standard output and nothing on the other
tells() {
	local name=$1 words=$2
	shift 2
	run "$WICK" "$@" </dev/null
	is "$name: exit" "$status" 0
	is "$name: nothing on standard error" "$(cat "$T/stderr")" ""
	ok "$name: $words" grep -qF -e "$words" "$T/stdout"
}

same() {
	cmp "$1" "$2" >&2 || { diff -u "$1" "$2" >&2 && false; }
}

# ---- Help ----

run "$WICK"
is "nothing asked: exit" "$status" 2
is "nothing asked: nothing on standard output" "$(wc -c <"$T/stdout")" 0
ok "nothing asked: usage on standard error" grep -q "^usage: wick COMMAND" "$T/stderr"

tells "--help" "usage: wick COMMAND" --help
cp "$T/stdout" "$T/help"
tells "help" "usage: wick COMMAND" help
ok "help is --help" same "$T/help" "$T/stdout"
for command in record convert; do
	ok "--help names $command" grep -qE "^ +$command " "$T/help"
	tells "help $command" "usage: wick $command" help "$command"
	cp "$T/stdout" "$T/help-command"
	tells "$command --help" "usage: wick $command" "$command" --help
	ok "$command --help is help $command" same "$T/help-command" "$T/stdout"
done
tells "help record" "-F, --frequency HZ" help record
is "help fits 80 columns" "$(awk 'length > 80' "$T/stdout")" ""
tells "--version" "wick " --version
ok "--version: a number, on one line" grep -qxE "wick [0-9]+\.[0-9]+\.[0-9]+.*" "$T/stdout"

# ---- Bad words ----

says "unknown command" 2 "'nope' is not a command" nope
says "unknown command with a control code" 2 "'\\x1b[2J' is not a command" $'\e[2J'
says "help of an unknown command" 2 "'nope' is not a command" help nope
says "unknown option" 2 "unknown option '--nope'" record --nope
says "misspelt option" 2 "did you mean '--frequency'?" record --frequenzy 99
says "unknown letter" 2 "unknown option '-Q'" record -Q
says "missing value" 2 "--output: needs a value" convert -o
says "unknown suffix" 2 "output '$T/x.nope': its suffix names no format" convert -o "$T/x.nope" "$example"
says "no suffix" 2 "output '$T/x': its suffix names no format" convert -o "$T/x" "$example"
says "unknown format" 2 "format 'nope': no such format: there are svg (.svg), html (.html), pprof (.pb.gz), folded (.folded)," \
	convert -f nope "$example"
says "one bad output of two" 2 "x.nope" convert -o "$T/good.folded" -o "$T/x.nope" "$example"
says "nothing to convert" 2 "one profile to read" convert
says "two to convert" 2 "one profile to read" convert "$example" "$example"
says "frequency 0" 2 "-F: '0'" record -F 0
says "negative frequency" 2 "-F: '-1'" record -F -1
says "frequency in words" 2 "-F: 'fast'" record -F fast
says "frequency above all limits" 2 "-F: " record -F 18446744073709551616
says "seconds in words" 2 "'soon' is not a number of seconds" record soon
says "no seconds at all" 2 "'0' is not a number of seconds" record 0
says "suffix is checked before anything is sampled" 2 "its suffix names no format" record -o "$T/x.nope" 1
says "options for a report that is not written" 2 "--top: it shapes a report" record --top 5 -o "$T/x.folded" 1
is "options for a report that is not written: nothing is" "$(find "$T" -name "*.folded*")" ""
says "options for a report, with another format" 2 "--tree: it shapes a report" record --tree -f folded -o - 1
says "a place that cannot be written, before anything is sampled" 1 "writing '$T/none/x.wick'" record -o "$T/none/x.wick" 1
is "nothing was left behind" "$(cd "$T" && ls -d -- *x.* *good* .??* 2>/dev/null)" ""

# ---- Bad files ----

printf 'not a profile' >"$T/bad"
: >"$T/empty"
says "file that is not there" 1 "reading '$T/none'" convert "$T/none"
says "a folder" 1 "reading '$T'" convert "$T"
says "not a profile" 1 "reading '$T/bad': line 1: no count at its end" convert "$T/bad"
says "empty file" 1 "reading '$T/empty': the profile is empty" convert "$T/empty"
says "cut short" 1 "cut short" convert "$corpus/cut"
says "from the future" 1 "made by a newer wick" convert "$corpus/newer"
says "damaged" 1 "a process is its own ancestor" convert "$corpus/ancestry"
says "place that cannot be written" 1 "writing '$T/none/x.folded'" convert "$example" -o "$T/none/x.folded"
says "full device" 1 "No space left on device" convert "$example" -f folded -o /dev/full

echo precious >"$T/kept.folded"
says "bad file, good output" 1 "no count at its end" convert "$T/bad" -o "$T/kept.folded"
is "what was there stays" "$(cat "$T/kept.folded")" precious
is "and nothing half-written lies beside it" "$(find "$T" -name '*kept*' | wc -l)" 1

# ---- From one format to another ----

converts() {
	run "$WICK" convert "$@"
	is "convert ${*//"$T/"/}: exit" "$status" 0
	is "convert ${*//"$T/"/}: says nothing" "$(cat "$T/stderr")" ""
}

cp "$example" "$T/example"
converts "$T/example" -o "$T/again.wick" -o "$T/x.folded" -o "$T/x.txt"
ok "round trip: the same to the byte" same "$example" "$T/again.wick"
ok "folded as expected" same "$here/example.folded.expected" "$T/x.folded"
ok "report as expected" same "$here/example.report.expected" "$T/x.txt"
converts "$T/example"
ok "the report is what comes by itself" same "$here/example.report.expected" "$T/stdout"
converts -f folded -o - "$T/example"
ok "by name to standard output" same "$here/example.folded.expected" "$T/stdout"
converts "$T/example" -f folded -o "$T/any.txt"
ok "a name goes before a suffix" same "$here/example.folded.expected" "$T/any.txt"
converts "$T/again.wick" -f wick -o -
ok "round trip through a pipe" same "$example" "$T/stdout"
run "$WICK" convert -f folded - <"$example"
is "from standard input: exit" "$status" 0
ok "from standard input" same "$here/example.folded.expected" "$T/stdout"

run perl -e 'pipe R, W; close R; open STDOUT, ">&W"; exec @ARGV' -- "$WICK" convert "$example"
is "a reader that has left is no failure" "$status" 0
is "and nothing is said of it" "$(cat "$T/stderr")" ""

finish
