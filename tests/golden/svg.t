#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Flame graphs: rectangles, titles and colours are those of the classic script's rules (tests/flamerules works them out
# on its own), options do what they say, hostile names are harmless, what is left out is counted. Needs no root.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

here=$tests_dir/golden
rules=$tests_dir/flamerules
stacks=$here/stacks.folded
T=$(readlink -f "$T")
cd "$T" || exit 1

# rectangles SVG: as flamerules prints them, sorted
rectangles() {
	perl -ne 'if (my ($title, $numbers) = m{<title>([^<]*)</title><rect ((?:(?:x|y|width|height|fill)="[^"]*" ){5})}) {
		print join("\t", $title, $numbers =~ /="([^"]*)"/g), "\n";
	}' "$1" | sort
}

# same NAME FOLDED OPTION...: as the rules have it
same() {
	local name=$1 folded=$2
	shift 2
	perl "$rules" "$@" <"$folded" | sort >wanted
	run "$WICK" convert "$folded" -o got.svg "$@"
	is "$name: exit" "$status $(cat stderr)" '0 '
	rectangles got.svg >got
	ok "$name: there are some" test -s wanted
	if ! ok "$name: the same rectangles, titles and colours" cmp -s wanted got; then
		diag "$(diff wanted got | head -6)"
	fi
}

# many SEED: a few thousand stacks, the same for the same seed
many() {
	perl -e 'my @names = qw(main run read_[k] vfs_read_[k] a a.b a-b a:b std::map x<int> Lcom/x/Y:::z f_[j] g_[i] /x.js z 0 ~);
		my $state = shift;
		my $next = sub { $state = ($state * 1103515245 + 12345) % 2147483648; int($state / 65536) % $_[0] };
		my %count;
		for (1 .. 3000) {
			my $stack = join ";", ("sh", "swapper/0")[$next->(2)], map { $names[$next->(scalar @names)] } 0 .. $next->(9);
			$count{$stack} += 1 + $next->(10) ** $next->(5);
		}
		print "$_ $count{$_}\n" for sort { $count{$a} <=> $count{$b} || $a cmp $b } keys %count' "$1"
}

# ---- The same as the classic ----

many 1 >many.folded
same 'by default' "$stacks"
same 'many stacks' many.folded
for palette in hot mem io wakeup chain java js perl red green blue aqua yellow purple orange; do
	same "--colors $palette" "$stacks" --colors "$palette"
	same "--colors $palette --hash" "$stacks" --colors "$palette" --hash
done
same '--inverted' many.folded --inverted
same '--reverse' many.folded --reverse
same '--total' many.folded --total 100000000
same '--factor' many.folded --factor 2.5
same '--total and --factor' "$stacks" --total 123456 --factor 0.3
run "$WICK" convert "$stacks" -o one.svg --total 1
is '--total, less than there is' "$status $(cat stderr)" "1 wick: --total: 1 is less than there is: $(folded_sum "$stacks")"
same '--reverse --inverted' "$stacks" --reverse --inverted
same '--subtitle' "$stacks" --subtitle 'a second line'
same '--subtitle --inverted' "$stacks" --subtitle 'a second line' --inverted
same '--width' many.folded --width 517
same '--height --fontsize' "$stacks" --height 23 --fontsize 13.5
same '--minwidth in pixels' many.folded --minwidth 3
same '--minwidth in percent' many.folded --minwidth 0.5%
same 'nothing too narrow' many.folded --minwidth 0
same '--countname' "$stacks" --countname bytes

# ---- Differences ----

# differs NAME RULE... -- OPTION...: two profiles, and where they stand as they are, two counts, against the rules
differs() {
	local name=$1 rule=()
	shift
	while [ "$1" != -- ]; do rule+=("$1") && shift; done
	shift
	perl "$rules" --diff "${rule[@]}" <both | sort >wanted
	run "$WICK" diff before.folded after.folded -o got.svg "$@"
	is "$name: exit" "$status $(cat stderr)" '0 '
	rectangles got.svg >got
	if ! ok "$name: the same rectangles, titles and colours" cmp -s wanted got; then
		diag "$(diff wanted got | head -6)"
	fi
	run "$WICK" convert both -o pair.svg "${rule[@]}"
	is "$name: two counts: exit" "$status $(cat stderr)" '0 '
	ok "$name: two counts: the same" cmp got <(rectangles pair.svg)
}

# both [SCALE]: the counts before, scaled, and after, on one line
both() {
	perl -e 'my $scale = shift;
		my (%before, %after, %all);
		for (["before.folded", \%before], ["after.folded", \%after]) {
			my ($file, $into) = @$_;
			open my $in, "<", $file or die;
			/^(.*) (\d+)$/ and ($into->{$1}, $all{$1}) = ($2, 1) while <$in>;
		}
		print "$_ ", int(($before{$_} // 0) * $scale), " ", $after{$_} // 0, "\n" for sort keys %all' "${1:-1}" >both
}

many 2 >before.folded
many 3 >after.folded
both
differs 'a difference' --
differs 'a difference, negated' --negate -- --negate
differs 'a difference, other options' --inverted --width 700 --minwidth 2 -- --inverted --width 700 --minwidth 2
differs 'a difference, merged from the leaves' --reverse -- --reverse
both "$(perl -e "printf '%.17g', $(folded_sum after.folded) / $(folded_sum before.folded)")"
differs 'a difference of equals in length' -- --normalize
cp before.folded after.folded
both
differs 'no difference' --
ok 'no difference: all is white or grey' test "$(cut -f 6 got | sort -u | grep -cv '^rgb(\(255,255,255\|200,200,200\|160,160,160\))$')" = 0

run "$WICK" convert both -o pair.svg --type after
run "$WICK" convert after.folded -o one.svg
ok 'one of two counts: no difference' cmp <(rectangles one.svg) <(rectangles pair.svg)

run "$WICK" convert "$stacks" -o one.svg --negate
is '--negate without a difference: exit' "$status" 2
ok '--negate without a difference: words' grep -q "^wick: --negate: there is no difference in '.*': its stacks have one count: " stderr

# ---- Colours that are kept ----

run "$WICK" convert "$stacks" -o one.svg --cp --hash
is '--cp: exit' "$status $(cat stderr)" '0 '
ok '--cp: palette.map is sorted by name' sort -c <(sed 's/->rgb(.*//' palette.map)
is '--cp: every line is a name and a colour' "$(grep -cvE -- '->rgb\([0-9]+,[0-9]+,[0-9]+\)$' palette.map)" 0
run "$WICK" convert "$stacks" -o two.svg --cp --colors blue
ok '--cp: the next graph has the same colours' cmp <(rectangles one.svg) <(rectangles two.svg)
printf 'foo->rgb(1,2,3)\noperator->->rgb(4,5,6)\n' >palette.map
run "$WICK" convert "$stacks" -o two.svg --cp
is '--cp: a colour of the file' "$(rectangles two.svg | sed -n 's/^foo (.*\trgb/rgb/p' | sort -u)" 'rgb(1,2,3)'
is '--cp: of a name with an arrow' "$(rectangles two.svg | sed -n 's/^operator-&gt; (.*\trgb/rgb/p')" 'rgb(4,5,6)'
ok '--cp: and it stays in the file' grep -qxF 'operator->->rgb(4,5,6)' palette.map
printf 'foo->red" onload="alert(1)\n' >palette.map
run "$WICK" convert "$stacks" -o two.svg --cp
is '--cp: what is no colour is refused' "$status $(cat stderr)" \
	"2 wick: reading 'palette.map': line 1: it is not NAME->rgb(R,G,B)"
rm palette.map
run "$WICK" convert "$stacks" -o two.svg
ok 'without --cp nothing is kept' test ! -e palette.map

# ---- Texts ----

run "$WICK" convert "$stacks" -o x.svg --title 'A <title> & "more"' --subtitle 'sub <b>' --notes 'a -- note ]]>' \
	--nametype 'Routine <x>:' --countname 'µs <i>'
is 'texts: exit' "$status $(cat stderr)" '0 '
ok 'title' grep -qF '>A &lt;title&gt; &amp; &quot;more&quot;</text>' x.svg
ok 'subtitle' grep -qF '>sub &lt;b&gt;</text>' x.svg
ok 'notes' grep -qF '<desc>NOTES: a -- note ]]&gt;</desc>' x.svg
ok 'nametype' grep -qF 'data-nametype="Routine &lt;x&gt;:"' x.svg
ok 'countname' grep -qF ' µs &lt;i&gt;, 100%)</title>' x.svg
run "$WICK" convert "$stacks" -o x.svg --bgcolors '#123456' --fonttype Verdana
ok 'a background' grep -qF '<stop stop-color="#123456" offset="5%"/><stop stop-color="#123456"' x.svg
ok 'a font' grep -qF 'font-family: Verdana;' x.svg
run "$WICK" convert "$stacks" -o x.svg --colors io
ok 'the background of a palette' grep -qF '<stop stop-color="#eeeeee" offset="5%"/><stop stop-color="#e0e0ff"' x.svg

# ---- What is not there is said ----

printf 'sh;main;hot 1000000\nsh;main;cold;colder 1\nsh;main;cool 1\n' >narrow.folded
run "$WICK" convert narrow.folded -o x.svg
ok 'frames that are too narrow are counted' grep -qF '3 frames narrower than 0.1 px not drawn' x.svg
run "$WICK" convert narrow.folded -o x.svg --minwidth 1%
ok 'and by what' grep -qF '3 frames narrower than 1 % not drawn' x.svg
run "$WICK" convert narrow.folded -o x.svg --minwidth 0
is 'none are, and none are named' "$(grep -c 'not drawn' x.svg)" 0
ok 'losses of other tools are not known' grep -qF 'losses are not known' x.svg
run "$WICK" convert "$tests_dir/fuzz/corpus/wick/example-v1" -o x.svg
is 'a recording: exit' "$status $(cat stderr)" '0 '
"$WICK" convert "$tests_dir/fuzz/corpus/wick/example-v1" -o x.txt
quality=$(grep -o 'lost [0-9][^·]*' x.txt | head -1)
ok 'its losses are in it' grep -qF "${quality% }" x.svg
run "$WICK" convert - -o x.svg <<<'sh;main 0'
ok 'nothing at all is said too' grep -qF 'There are no samples to show.' x.svg

# ---- Names from anywhere ----

printf '%s\n' 'a;<script>alert(1)</script>;]]>;--> 5' "a;\" onload=\"alert(1)\" ' 3" >hostile.folded
printf 'a;\x1b[31mred\x1b[0m;\x01\x08;\xff\xfe bad;\xc0\xaf;\xed\xa0\x80;\xe2\x80\xae rtl;\xef\xbf\xbf 4\n' >>hostile.folded
run "$WICK" convert hostile.folded -o x.svg
is 'hostile names: exit' "$status $(cat stderr)" '0 '
is 'one script, and that is ours' "$(grep -o '<script' x.svg | wc -l) $(grep -o '<!\[CDATA\[' x.svg | wc -l)" '1 1'
is 'no event handlers' "$(sed '/<script>/,$d' x.svg | grep -oE '<[^>]* on[a-z]+="' | wc -l)" 0
ok 'it is text' iconv -f UTF-8 -t UTF-8 x.svg -o /dev/null
is 'without control characters' "$(LC_ALL=C tr -d '\n\t -~\200-\377' <x.svg | wc -c)" 0
ok 'they are shown as what they are' grep -qF '\x1b[31mred\x1b[0m' x.svg
is 'nothing is fetched' "$(grep -oE '(href|src|url)[=(][^#)]' x.svg | wc -l) $(grep -o '@import' x.svg | wc -l)" '0 0'

# ---- The same again ----

run "$WICK" convert "$stacks" -o one.svg
run "$WICK" convert "$stacks" -o two.svg
ok 'the same bytes each time' cmp one.svg two.svg
run "$WICK" convert "$stacks" -o x.wick
run "$WICK" convert x.wick -o two.svg
ok 'and of a saved profile' cmp <(rectangles one.svg) <(rectangles two.svg)
sort -R "$stacks" >mixed.folded
run "$WICK" convert mixed.folded -o two.svg
ok 'whatever the order of lines' cmp one.svg two.svg

# ---- Bad words ----

# refuses WORDS OPTION...
refuses() {
	local words=$1
	shift
	run "$WICK" convert "$stacks" -o bad.svg "$@"
	is "$*: exit" "$status" 2
	is "$*: in one line" "$(cat stderr)" "wick: $words"
	ok "$*: nothing is written" test ! -e bad.svg
}

refuses "--colors: 'pink': no such palette: there are hot mem io wakeup chain java js perl red green blue aqua yellow purple orange" --colors pink
refuses "--bgcolors: '#12345g': no such background: there are yellow blue green grey, and #rrggbb" --bgcolors '#12345g'
refuses "--fonttype: 'a;b' is not the name of a font" --fonttype 'a;b'
refuses "--width: '10' is not a number from 100 to 100000" --width 10
refuses "--height: '-1' is not a number from 2 to 1000" --height -1
refuses "--minwidth: '101%' is not a number from 0 to 100" --minwidth 101%
refuses "--fontsize: 'x' is not a number from 1 to 200" --fontsize x
refuses "--fontwidth: 'nan' is not a number from 0.1 to 10" --fontwidth nan
run "$WICK" convert "$stacks" -o x.folded --title x
is 'no graph to shape: exit' "$status" 2
is 'no graph to shape' "$(cat stderr)" 'wick: --title: it shapes a flame graph, and none is written: add -o FILE.svg'
run "$WICK" record -o x.folded --title x 1
is 'no graph to record: exit' "$status" 2
is 'no graph to record' "$(cat stderr)" 'wick: --title: it shapes a flame graph, and none is written: add -o FILE.svg'
run "$WICK" record -o x.svg --colors pink 1
is 'what is wrong is said before recording: exit' "$status" 2
ok 'what is wrong is said before recording' grep -qF "wick: --colors: 'pink': no such palette" stderr
run "$WICK" convert "$stacks" --hash -f svg
is 'on standard output by its name' "$status $(head -c 5 stdout)" '0 <?xml'

finish
