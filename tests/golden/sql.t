#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# wick sql: the views of docs/store.md, formats, and what a question may not do. Needs no root.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

export TZ=UTC
MKSTORE=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/mkstore
cd "$T" || exit 1

printf '%s\n' 'app;main;alpha 5' 'app;main;main;shared 1' >a.folded
printf '%s\n' 'other;main;beta 7' $'ev\e[1m,"il;main 2' >b.folded
ok 'a store' "$MKSTORE" kept 2026-03-01T10:00:00 10 90 a.folded
ok 'and more of it' "$MKSTORE" kept 2026-03-01T10:15:00 10 30 b.folded

# asks NAME WANTED QUESTION: rows as CSV, joined by blanks
asks() {
	run "$WICK" sql --data kept -f csv "$3"
	is "$1" "$(paste -sd' ' "$T/stdout")$(cat "$T/stderr")" "$2"
}

# refuses NAME WORDS QUESTION
refuses() {
	run "$WICK" sql --data kept "$3"
	is "$1: exit" "$status" 2
	is "$1: one line" "$(cat "$T/stderr")" "wick: sql: $2"
}

asks 'windows' 'level,count(*),sum(samples) window,120,810' 'SELECT level, count(*), sum(samples) FROM windows GROUP BY 1 ORDER BY 1'
asks 'one by one' 'sequence,last_sequence,start,end,samples,lost 120,120,1772360390,1772360400,9,0' \
	'SELECT sequence, last_sequence, start, end, samples, lost FROM windows ORDER BY sequence DESC LIMIT 1'
asks 'samples' 'process,n app,540 "ev\x1b[1m,""il",60 other,210' 'SELECT process, sum(samples) AS n FROM samples GROUP BY 1 ORDER BY 1'
asks 'samples of a range' 'sum(samples) 36' "SELECT sum(samples) FROM samples('2026-03-01T10:01:00', '2026-03-01T10:02:00')"
asks 'in seconds since 1970' 'sum(samples) 36' "SELECT sum(samples) FROM samples(1772359260, 1772359320.0)"
asks 'samples in less detail' 'start,sum(samples) 1772359200,36 1772359260,36' \
	"SELECT start, sum(samples) FROM samples('2026-03-01T10:00:00', '2026-03-01T10:02:00', 'minute') GROUP BY 1"
asks 'stacks' 'stack,samples main;alpha,450 main;main;shared,90' \
	"SELECT stack, sum(samples) AS samples FROM samples WHERE process = 'app' GROUP BY stack ORDER BY 1"
asks 'functions: a stack counts once' 'function,self,total alpha,450,450 beta,210,210 main,60,810 shared,90,90' \
	'SELECT function, sum(self) AS self, sum(samples) AS total FROM frames GROUP BY 1 ORDER BY 1'
asks 'the view of functions' 'function,module,self,total main,-,60,810' "SELECT * FROM functions WHERE function = 'main'"
asks 'the view of processes' 'process,start,end,samples app,1772359200,1772360100,540' \
	"SELECT process, start, end, samples FROM processes WHERE process = 'app'"
asks 'the view of minutes' 'count(*),sum(samples) 25,810' 'SELECT count(*), sum(samples) FROM minutes'
asks 'gaps' 'count(*) 0' 'SELECT count(*) FROM gaps'
asks 'sizes' 'what windows minutes hours dictionaries events' 'SELECT what FROM sizes'
asks 'two at once' 'n 3600' "SELECT count(*) AS n FROM samples('2026-03-01T10:00:00', '2026-03-01T10:05:00') a, samples('2026-03-01T10:05:00', '2026-03-01T10:10:00') b"
asks 'nothing there' 'sum(samples) ' "SELECT sum(samples) FROM samples('2001-01-01', '2001-01-02')"

# A whole hour, whose windows have no rows of their own any more
ok 'a store of more than an hour' "$MKSTORE" hour 2026-03-01T10:00:00 10 400 a.folded
run "$WICK" sql --data hour -f csv 'SELECT level, count(*), count(DISTINCT sequence), sum(samples), min(start), max(end), sum(bytes) > 0 FROM windows GROUP BY 1'
is 'its windows' "$(paste -sd' ' "$T/stdout")" \
	'level,count(*),count(DISTINCT sequence),sum(samples),min(start),max(end),sum(bytes) > 0 hour,1,1,2160,1772359200,1772362800,1 window,400,400,2400,1772359200,1772363200,1'
run "$WICK" sql --data hour -f csv "SELECT start, end, sum(samples) FROM samples('2026-03-01T10:59:00', '2026-03-01T11:01:00', 'minute') GROUP BY 1"
is 'in minutes' "$(paste -sd' ' "$T/stdout")" 'start,end,sum(samples) 1772362740,1772362800,36 1772362800,1772362860,36'
rm -r hour

run "$WICK" sql --data kept "SELECT 1 AS one, 'x' AS text, NULL AS empty UNION SELECT 1000, 'long text', 2.5"
is 'a table' "$(cat "$T/stdout")" $' one  text       empty\n   1  x               \n1000  long text    2.5'
run "$WICK" sql --data kept -f json "SELECT 1 AS one, 'a\"b' AS text, NULL AS empty, 2.5 AS half, x'0aff' AS bytes, 9e999 AS much"
is 'JSON' "$(jq -c . "$T/stdout")" '[{"one":1,"text":"a\"b","empty":null,"half":2.5,"bytes":"0aff","much":null}]'
run "$WICK" sql --data kept -f json 'SELECT 1 WHERE 0'
is 'JSON of nothing' "$(jq -c . "$T/stdout")" '[]'
run "$WICK" sql --data kept 'SELECT process FROM samples'
is 'no control codes on a terminal' "$(grep -c $'\e' "$T/stdout")" 0

cp kept/wick.db "$T/before.db"
for write in 'DELETE FROM window' 'DROP TABLE window' 'CREATE TABLE x(y)' "ATTACH 'x' AS y" 'PRAGMA user_version = 9' 'VACUUM' \
	'BEGIN' "CREATE TEMP TABLE x AS SELECT 1" 'UPDATE window SET value = 0' "INSERT INTO samples VALUES (1)" 'REINDEX' 'ANALYZE'; do
	run "$WICK" sql --data kept "$write"
	is "$write: exit" "$status" 2
	is "$write: one line" "$(grep -c '^wick: sql: ' "$T/stderr") $(grep -c '' "$T/stderr") $(wc -c <"$T/stdout")" '1 1 0'
done
is 'nothing was made' "$(ls -A)" "$(printf '%s\n' a.folded b.folded before.db kept stderr stdout)"
ok 'and nothing changed' cmp kept/wick.db before.db
refuses 'a word too many' 'no such column: nope' 'SELECT nope FROM windows'
refuses 'no SQL' 'near "hello": syntax error' 'hello'
refuses 'nothing' 'nothing is asked' '  '
refuses 'two questions' 'one question at a time, and there is more:  SELECT 2' 'SELECT 1; SELECT 2'
refuses 'no extensions' 'not authorized to use function: load_extension' "SELECT load_extension('x')"
refuses 'no time' "'soon' is no time: write 14:03, 14:03:20, 2026-03-01T14:03:20Z, -15m, now or milliseconds since 1970" "SELECT * FROM samples('soon')"
refuses 'no detail' "'second' is no detail: window, minute or hour" "SELECT * FROM samples(NULL, NULL, 'second')"

forever='WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n'
run "$WICK" sql --data kept --timeout 1 "$forever"
is 'in time: exit' "$status" 1
is 'in time: one line' "$(cat "$T/stderr")" 'wick: sql: not done in time: ask of a shorter time, or give it more with --timeout'
start "$T/out" env --default-signal=INT "$WICK" sql --data kept --timeout 0 "$forever"
ok 'it works' wait_for 20 burned "$started" 5
kill -INT "$started"
ok 'Ctrl-C ends it' wait_for 5 gone "$started"

run "$WICK" sql --data kept
is 'no question: exit' "$status" 2
ok 'no question: words' grep -q 'one question, in quotes' "$T/stderr"
run "$WICK" sql --data kept -f xml 'SELECT 1'
is 'another format: exit' "$status" 2
run "$WICK" sql --data none 'SELECT 1'
is 'no folder: one line' "$status $(cat "$T/stderr")" "1 wick: store 'none': No such file or directory"

finish
