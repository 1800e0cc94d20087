#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# report, convert and diff ask a server over a socket of this machine: they say what it has, and what went wrong. The
# socket is one that hands every connection on to the test server.

# shellcheck source=tests/http/lib.sh
. "$(dirname "$0")/lib.sh"

export TZ=UTC

# hand_on PATH PERL: listens on a socket; the program gets each connection in $s, and the server's port in $ARGV[1];
# asked() reads a request, and is its first line
hand_on() {
	start "$T/hand_on" perl -MIO::Socket::UNIX -MIO::Socket::INET -MIO::Select -e '
		$SIG{CHLD} = "IGNORE";
		sub asked { my $first = <$s>; while (<$s> =~ /\S/) { } $first }
		my $on = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 8) or die "listen: $!";
		for (; $s = $on->accept; close $s) {
			next if fork;
			eval $ARGV[2];
			exit;
		}' -- "$1" "$port" "$2"
	wait_for 20 test -S "$1"
}

# says NAME WORDS ARGUMENT...
says() {
	local name=$1 words=$2
	shift 2
	run "$WICK" "$@" </dev/null
	is "$name: exit" "$status" 1
	is "$name: one line" "$(cat "$T/stderr")" "wick: $words"
}

"$WICK" convert "$BUSY" -f folded -o "$T/wanted"
serve "$BUSY"
hand_on "$T/s" '
	my $t = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ARGV[1]") or exit 1;
	my $both = IO::Select->new($s, $t);
	while (my @ready = $both->can_read(20)) {
		for my $from (@ready) {
			sysread($from, my $bytes, 65536) or exit;
			syswrite($from == $s ? $t : $s, $bytes);
		}
	}'

run "$WICK" convert --socket "$T/s" -f folded
is 'convert: exit' "$status $(cat "$T/stderr")" '0 '
ok 'convert: what the server has' cmp "$T/stdout" "$T/wanted"
run "$WICK" convert --socket "$T/s" --from 1970-01-02 -f folded
ok 'convert: from a time' cmp "$T/stdout" "$T/wanted"
run "$WICK" report --socket "$T/s" --top 1
is 'report: exit' "$status" 0
ok 'report: what is hot' grep -q luaV_execute "$T/stdout"
run "$WICK" diff --socket "$T/s" --from 1970-01-02 --against 1970-01-02 -f folded -o -
is 'diff: with itself' "$(awk '$(NF - 1) != $NF' "$T/stdout" | wc -l) $status" '0 0'
says 'nothing of that time' 'nothing is kept from 2001-01-01T00:00:00 to 2001-01-02T00:00:00' \
	report --socket "$T/s" --from 2001-01-01 --to 2001-01-02

hand_on "$T/short" 'asked(); print $s "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"'
says 'half an answer' "asking the server at '$T/short': its answer was cut short" report --socket "$T/short"
hand_on "$T/odd" 'asked(); print $s "220 smtp.example ESMTP\r\n"'
says 'something else listens' "asking the server at '$T/odd': what answers there does not speak HTTP" report --socket "$T/odd"
hand_on "$T/none" 'asked()'
says 'no answer' "asking the server at '$T/none': what answers there does not speak HTTP" report --socket "$T/none"
hand_on "$T/gone" 'close $s'
run "$WICK" report --socket "$T/gone"
is 'closed at once: exit' "$status" 1
hand_on "$T/error" 'asked(); print $s "HTTP/1.1 503 X\r\n\r\n{\"error\":\"not ready yet\"}"'
says 'an error' "asking the server at '$T/error': not ready yet (503)" report --socket "$T/error"
hand_on "$T/bad" 'asked(); print $s "HTTP/1.1 200 OK\r\n\r\nnot a profile"'
says 'not a profile' "asking the server at '$T/bad': what it answers is not a profile" report --socket "$T/bad"
hand_on "$T/range" 'my $line = asked(); print $s $line =~ m{series} ?
	"HTTP/1.0 200 OK\r\n\r\n{\"from_ms\":1772359200000,\"to_ms\":1772360400000,\"cells\":1,\"curves\":[]}" :
	"HTTP/1.0 404 No\r\n\r\n{\"error\":\"nothing is kept of that range\"}"'
says 'what there is instead' \
	'nothing is kept from 2001-01-01T00:00:00 to 2001-01-02T00:00:00: there is something from 2026-03-01T10:00:00 to 2026-03-01T10:20:00' \
	report --socket "$T/range" --from 2001-01-01 --to 2001-01-02
perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1)' -- "$T/left"
says 'a socket that was left behind' \
	"asking the server at '$T/left': Connection refused: is wick serve running? --data reads its folder without it" report --socket "$T/left"

chmod 755 "$T"
chmod 600 "$T/s"
if [ "$(id -u)" -eq 0 ]; then
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$WICK" report --socket "$T/s"
	is 'not for everybody' "$status $(cat "$T/stderr")" "1 wick: asking the server at '$T/s': Permission denied: it answers root alone: use sudo"
fi

# ---- A server with a store, by its own socket, and its folder beside it ----

"${WICK_TOOLS:-$tests_dir/../build/tests/tools}/feed" data="$T/store" socket="$T/own" ms=3600000 past=30 "$BUSY" >"$T/feed" 2>&1 &
children+=("$!")
ok 'a server with a store' wait_for 20 grep -q . "$T/feed"
run "$WICK" convert --socket "$T/own" -f folded -o "$T/asked.folded"
is 'by its socket: exit' "$status $(cat "$T/stderr")" '0 '
run "$WICK" convert --data "$T/store" -f folded -o "$T/read.folded"
is 'by its folder, while it runs: exit' "$status $(cat "$T/stderr")" '0 '
ok 'the same by both' cmp "$T/asked.folded" "$T/read.folded"
holds 'and not nothing' "$(awk '{ n += $NF } END { print n + 0 }' "$T/read.folded") > 1000"
run "$WICK" report --socket "$T/own" --from 2001-01-01 --to 2001-01-02
is 'what is not kept: exit' "$status" 1
ok 'what is not kept: what is' grep -qE '^wick: nothing is kept from 2001-01-01T00:00:00 to 2001-01-02T00:00:00: there is something from 20..-..-..T..:..:.. to 20..-..-..T..:..:..$' "$T/stderr"
run "$WICK" sql --data "$T/store" -f csv 'SELECT sum(samples) FROM samples'
is 'the same in SQL' "$(tail -1 "$T/stdout")" "$(awk '{ n += $NF } END { print n }' "$T/read.folded")"

finish
