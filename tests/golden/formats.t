#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every format that wick writes, read by tests/unfold, which knows it from its documentation alone: it must be valid to
# the letter and hold the same stacks and counts as the folded text. And the same bytes whenever it is written. Needs no
# root.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

here=$tests_dir/golden

same() {
	cmp "$1" "$2" >&2 || { diff -a "$1" "$2" | head -n 6 >&2 && false; }
}

# The table, from help: name and suffix a line
"$WICK" help convert | sed -n '/^formats:/,$s/^  \([a-z]*\) *\(\.[^ ]*\) .*/\1 \2/p' >"$T/formats"
is "the formats" "$(cut -d' ' -f1 "$T/formats" | sort | tr '\n' ' ')" 'firefox folded html perf pprof report speedscope svg wick '
is "record has the same" "$("$WICK" help record | sed -n '/^formats:/,$p')" "$("$WICK" help convert | sed -n '/^formats:/,$p')"

# ---- The same stacks and counts, in valid files ----

# holds_all NAME PROFILE: every format that tells stacks apart holds what the folded text has
holds_all() {
	local name=$1 profile=$2 format suffix
	run "$WICK" convert "$profile" -o "$T/wanted.folded"
	is "$name: exit" "$status $(cat "$T/stderr")" "0 "
	ok "$name: there is something" test -s "$T/wanted.folded"
	while read -r format suffix; do
		case $format in pprof | speedscope | perf | firefox | html) ;; *) continue ;; esac
		run "$WICK" convert "$profile" -o "$T/x$suffix"
		is "$name: $format: exit" "$status $(cat "$T/stderr")" "0 "
		run perl "$tests_dir/unfold" "$format" "$T/x$suffix"
		is "$name: $format: valid" "$status $(cat "$T/stderr")" "0 "
		ok "$name: $format: the same stacks and counts" same "$T/wanted.folded" "$T/stdout"
	done <"$T/formats"
}

holds_all "a busy machine" "$here/busy.wick"
holds_all "with events, odd names and no path" "$tests_dir/fuzz/corpus/wick/example-v1"
holds_all "odd, and not by wick" "$tests_dir/fuzz/corpus/wick/by-hand"

# Names that would break a line, run a script, move a cursor, or be taken for something else by a reader
cat >"$T/hostile.folded" <<'END'
sh;main;<script>alert(1)</script>;</script><!--;a&b"c'd 5
sh;Lorg/foo\x3b::bar_[j];x -> y;operator-> 4
b c d;f (int);(anonymous namespace)::g;h+0x12;k_[k] 3
#x;a\x1b[2J;\xff\xfe;b\x5cc;\x0a\x0d\x00;{"name":1} 2
 lead;a 7
sh;lib.so+0x12;lib.so@0x300;[vdso]+0x6f0;[jit]_[j];[kernel]+0xffffffff81000000_[k] 8
sh 3
sh;[incomplete: no_table];q;r main.c:12;s x.h:9_[i];t x.h:10_[i] 1
[unnamed];a 2
12;5 6
x;[unknown];a  b;日本語;\xe2\x80\xae 3
END
holds_all "hostile names" "$T/hostile.folded"

# Values that are too many to be written one by one
printf 'sh;a 4000000\nsh;b;c 18000000000\n' >"$T/large.folded"
holds_all "large counts" "$T/large.folded"
is "large counts: one record each" "$(grep -c ' cpu-clock:$' "$T/x.perf")" 2
holds "large counts: in a small file" "$(wc -c <"$T/x.perf") < 2000"
ok "large counts: perf says who wrote it" grep -q '^# wick version : ' "$T/x.perf"
run "$WICK" report "$T/x.perf"
ok "large counts: they are samples again" grep -qE '[0-9,]{9,} samples' "$T/stdout"

printf 'sh;a 3\n' >"$T/three.folded"
run "$WICK" convert -f perf "$T/three.folded"
is "a count without times is so many records" "$(grep -c '^sh 0/0 [0-9.]*: 1 cpu-clock:$' "$T/stdout")" 3

# ---- What else is known ----

run "$WICK" convert "$tests_dir/fuzz/corpus/wick/example-v1" -f perf -o -
ok "perf: times and CPUs from events" grep -qE '^.* [0-9]+/[0-9]+ \[[0-9]{3}\] [0-9]+\.[0-9]{6}: 1 ' "$T/stdout"
for format in perf speedscope firefox; do
	run "$WICK" convert "$here/busy.wick" -f "$format" -o -
	ok "$format: losses are shown" grep -q 'lost: ring 3' "$T/stdout"
	is "$format: nothing steers a terminal" "$("$WICK" convert "$T/hostile.folded" -f "$format" -o - |
		LC_ALL=C tr -d '\n\t\040-\176\200-\377' | wc -c)" 0
done

# ---- The same bytes ----

while read -r format suffix; do
	for profile in "$here/busy.wick" "$T/hostile.folded"; do
		run "$WICK" convert "$profile" -o "$T/a$suffix"
		is "$format: exit" "$status" 0
		run env TZ=Asia/Kolkata LC_ALL=C.UTF-8 HOME=/ "$WICK" convert -f "$format" -o "$T/b" "$profile"
		is "$format: exit, elsewhere" "$status" 0
		ok "$format: the same bytes" same "$T/a$suffix" "$T/b"
	done
	run "$WICK" convert "$here/busy.wick" -o "$T/again.wick"
	run "$WICK" convert "$T/again.wick" -o "$T/b$suffix"
	run "$WICK" convert "$here/busy.wick" -o "$T/a$suffix"
	ok "$format: the same bytes of a copy" same "$T/a$suffix" "$T/b$suffix"
done <"$T/formats"

# ---- Where it goes ----

run "$WICK" convert "$here/busy.wick" -o "$T/1.pb.gz" -o "$T/1.json" -o "$T/1.fx.json" -o "$T/1.perf" -o "$T/1.folded"
is "five at once: exit" "$status $(cat "$T/stderr")" "0 "
run "$WICK" convert "$here/busy.wick" -f firefox -o "$T/2"
ok ".fx.json is not .json" same "$T/1.fx.json" "$T/2"

on_terminal() {
	script -qec "$1; echo status \$?" "$T/typescript" >/dev/null </dev/null
	tr -d '\r' <"$T/typescript" | sed '/^Script /d' >"$T/seen"
}
for format in pprof wick; do
	on_terminal "'$WICK' convert -f $format '$here/busy.wick'"
	is "$format: not to a terminal" "$(head -n 2 "$T/seen")" \
		"wick: format '$format': standard output is a terminal, and this is not text: give it a file with -o, or a pipe
status 2"
	on_terminal "'$WICK' convert -f $format '$here/busy.wick' | wc -c"
	ok "$format: to a pipe" grep -qE '^[1-9][0-9]+$' "$T/seen"
done
on_terminal "'$WICK' convert -f speedscope '$T/three.folded'"
ok "text goes to a terminal" grep -q 'speedscope.app' "$T/seen"

# ---- The words about them ----

page=$tests_dir/../docs/man/wick-convert.1
is "the manual lists the same, in this order" "$(sed -n '/^\.Sh FORMATS/,/^\.El/p' "$page" |
	sed -n 's/^\.It Ar //p; s/^\.Pa \([^ ]*\) :$/\1/p' | paste -d' ' - -)" "$(cat "$T/formats")"
is "docs/formats.md lists the same" "$(sed -n 's/^| `\([a-z]*\)` | `\(\.[^`]*\)` .*/\1 \2/p' "$tests_dir/../docs/formats.md")" \
	"$(cat "$T/formats")"
while read -r format suffix; do
	ok "README names $suffix" grep -qF "\`$suffix\`" "$tests_dir/../README.md"
done <"$T/formats"

finish
