#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What was kept, asked later from the shell: report, convert and diff of a range of time, out of a folder that a server
# wrote, and what they say when there is nothing. Needs no root.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

export TZ=UTC
MKSTORE=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/mkstore
cd "$T" || exit 1

printf '%s\n' 'app;main;alpha 5' 'app;main;shared 1' >a.folded
printf '%s\n' 'app;main;beta 7' 'app;main;shared 1' >b.folded
ok 'ten minutes of one, ten of the other' "$MKSTORE" kept 2026-03-01T10:00:00 10 60 a.folded
ok 'and more in the same folder' "$MKSTORE" kept 2026-03-01T10:10:00 10 60 b.folded
ok 'a store of the last minutes' "$MKSTORE" fresh -10m 10 60 a.folded

# says NAME STATUS WORDS ARGUMENT...: in one line, and nothing else
says() {
	local name=$1 wanted=$2 words=$3
	shift 3
	run "$WICK" "$@" </dev/null
	is "$name: exit" "$status" "$wanted"
	is "$name: nothing on standard output" "$(wc -c <"$T/stdout")" 0
	is "$name: one line" "$(grep -c '' "$T/stderr") $(grep -c '^wick: ' "$T/stderr")" '1 1'
	ok "$name: $words" grep -qF -e "$words" "$T/stderr"
}

# folds NAME WANTED ARGUMENT...: folded lines, joined
folds() {
	local name=$1 wanted=$2
	shift 2
	run "$WICK" convert -f folded "$@"
	is "$name" "$(paste -sd' ' "$T/stdout")$(cat "$T/stderr")" "$wanted"
}

# ---- Ranges ----

folds 'all that is kept' 'app;main;beta 420 app;main;alpha 300 app;main;shared 120' --data kept
folds 'from the beginning to a time' 'app;main;alpha 300 app;main;shared 60' --data kept --to 2026-03-01T10:10:00
folds 'a range' 'app;main;beta 42 app;main;shared 6' --data kept --from 2026-03-01T10:12:00Z --to 2026-03-01T10:13:00Z
folds 'in another zone' 'app;main;beta 42 app;main;shared 6' --data kept --from 2026-03-01T11:12:00+01:00 --to 2026-03-01T11:13:00+01:00
folds 'over the change' 'app;main;beta 7 app;main;alpha 5 app;main;shared 2' --data kept --from 2026-03-01T10:09:50 --to 2026-03-01T10:10:10
folds 'a filter' 'app;main;shared 2' --data kept --focus shared --from 2026-03-01T10:09:50 --to 2026-03-01T10:10:10
folds 'so long ago' 'app;main;alpha 300 app;main;shared 60' --data fresh --from -11m
folds 'a time of day' 'app;main;alpha 300 app;main;shared 60' --data fresh --from "$(date -d '-11 min' +%H:%M:%S)" --to "$(date -d '+1 min' +%H:%M)"

run "$WICK" report --data kept --from 2026-03-01T10:00 --to 2026-03-01T10:05
is 'report: exit' "$status" 0
ok 'report: of that range' grep -q ' alpha ' "$T/stdout"
is 'report: and no other' "$(grep -c ' beta ' "$T/stdout")" 0
next=$(sed -n 's/.*wick \(report --tree .*\)/\1/p' "$T/stdout")
is 'report: what to type next' "$next" 'report --tree --from 2026-03-01T10:00:00 --to 2026-03-01T10:05:00 --data kept'
# shellcheck disable=SC2086 # words, as typed
run "$WICK" $next
is 'report: and typing it works' "$status" 0

run "$WICK" diff --data kept --from 2026-03-01T10:12 --to 2026-03-01T10:15 --against 2026-03-01T10:02
is 'diff: exit' "$status" 0
ok 'diff: what grew' grep -qE 'grew .*beta' "$T/stdout"
ok 'diff: what shrank' grep -qE 'shrank .*alpha' "$T/stdout"
run "$WICK" diff --data kept --from 2026-03-01T10:12 --to 2026-03-01T10:15 --against 2026-03-01T10:02 -f folded -o -
is 'diff: ranges of equal length' "$(paste -sd' ' "$T/stdout")" 'app;main;beta 0 126 app;main;shared 18 18 app;main;alpha 90 0'

# ---- What goes wrong ----

says 'nothing of that time' 1 \
	'nothing is kept from 2026-03-01T11:00:00 to 2026-03-01T12:00:00: there is something from 2026-03-01T10:00:00 to 2026-03-01T10:20:00' \
	report --data kept --from 2026-03-01T11:00 --to 2026-03-01T12:00
says 'nothing before' 1 'nothing is kept before 2026-02-01T00:00:00: there is something from' report --data kept --to 2026-02-01
says 'nothing to compare with' 1 'nothing is kept from 2026-03-02' diff --data kept --from 2026-03-01T10:12 --to 2026-03-01T10:15 --against 2026-03-02
says 'no time' 2 "'soon' is no time" report --from soon
says 'a range that ends before it begins' 2 'nothing is between -5m and -10m' report --from -5m --to -10m
says 'a file and a time' 2 'not both' report --from -5m a.folded
says 'a folder and a server' 2 'not both' convert --data kept --socket s
says 'a type of what is kept' 2 '--type: it is for files' convert --data kept --type x
says 'diff: one beginning' 2 'two beginnings' diff --from -5m
says 'diff: nothing to compare' 2 'two beginnings' diff --against -5m
says 'no such folder' 1 "store 'none': No such file or directory" report --data none
mkdir -m 700 empty
says 'a folder without a store' 1 "store '$(realpath "$T")/empty': there is none: is it the folder that wick serve writes to?" report --data empty
says 'no server' 1 "asking the server at 'none.sock': No such file or directory: is wick serve running?" report --socket none.sock
says 'a path that no socket can have' 1 'File name too long' report --socket "$(printf '%0200d' 0)"
if ! [ -e /run/wick ] && ! [ -e /var/lib/wick ]; then
	says 'neither a server nor its folder' 1 'no server answers at /run/wick/wick.sock, and there is no folder /var/lib/wick' report --from -15m
fi

cp -r kept newer
printf '\0\0\0\x2a' | dd of=newer/wick.db bs=1 seek=60 conv=notrunc status=none
says 'a newer store' 1 "store 'newer': it has version 42, this wick knows 2: use a newer wick, or another folder" report --data newer
cp -r kept other
printf '\0\0\0\0' | dd of=other/wick.db bs=1 seek=68 conv=notrunc status=none
says 'what is no store' 1 "store 'other': wick.db is not a store of wick: use another folder" report --data other
mkdir -m 700 rubbish
head -c 100000 /dev/urandom >rubbish/wick.db
says 'not even a database' 1 'store:' report --data rubbish
cp -r kept cut
truncate -s 40000 cut/wick.db
says 'cut short' 1 'store:' report --data cut

chmod 755 "$T"
nobody=()
[ "$(id -u)" -ne 0 ] || nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 000 kept
run "${nobody[@]}" "$WICK" report --data kept
is 'no permission: exit' "$status" 1
is 'no permission: one line' "$(cat "$T/stderr")" "wick: store '$(realpath "$T")/kept': Permission denied: it is for who runs wick serve: use sudo"
chmod 700 kept

# ---- Damage anywhere: an answer or one line, never a crash ----

size=$(stat -c %s kept/wick.db)
ended=''
for seed in $(seq 1 60); do
	cp -r kept hurt
	perl -e 'srand($ARGV[0]); open F, "+<", $ARGV[1] or die;
		for (1 .. 20) { seek F, 100 + int rand($ARGV[2] - 100), 0; print F pack "C", rand 256 }' "$seed" hurt/wick.db "$size"
	run "$WICK" convert -f folded --data hurt
	one=$status
	run "$WICK" sql --timeout 20 --data hurt 'SELECT count(stack), sum(samples) FROM samples'
	case $one$status in
	[01][012]) ;;
	*) ended="$ended seed $seed: $one $status;" ;;
	esac
	rm -r hurt
done
is 'damaged stores' "$ended" ''

finish
