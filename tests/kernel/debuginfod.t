#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Debug files from a server: asked for only with --debuginfod, believed only by build id, and whatever the server does
# (is down, slow, sends without end, sends something else) the recording is there, with the names that there are.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

cd "$T" || exit 1
hz=499
unset DEBUGINFOD_URLS DEBUGINFOD_MAXTIME DEBUGINFOD_MAXSIZE DEBUGINFOD_TIMEOUT DEBUGINFOD_CACHE_PATH

# build NAME: a program without symbols, and its debug file
build() {
	cat >"$1.c" <<-END
		#include <unistd.h>
		static volatile unsigned long sink;
		static inline __attribute__((always_inline)) void $1_inlined(void) { for (int i = 0; i < 20000; i++) sink += i; }
		__attribute__((noinline)) static void $1_inner(void) { $1_inlined(); sink++; }
		int main(void) { alarm(120); for (;;) { $1_inner(); sink++; } }
	END
	gcc -O1 -g -Wl,--build-id=sha1 -o "$1" "$1.c"
	objcopy --only-keep-debug "$1" "$1.debug"
	strip "$1"
}

build_id() {
	readelf -n "$1" | awk '/Build ID/ { print $3 }'
}

# A server that says its port in the file `port` and what it was asked in `asked`. The file `mode` says how it answers.
cat >server <<'END'
use IO::Socket::INET;
$SIG{PIPE} = "IGNORE";
$SIG{CHLD} = "IGNORE";
my $server = IO::Socket::INET->new(Listen => 64, LocalAddr => "127.0.0.1", ReuseAddr => 1) or die;
open my $port, ">", "port.new" or die; print $port $server->sockport; close $port; rename "port.new", "port";
sub slurp { open my $in, "<:raw", $_[0] or return undef; local $/; <$in> }
while (my $client = $server->accept) {
	next if fork;
	my $line = <$client> // exit;
	while (($_ = <$client> // "") =~ /\S/) { }
	open my $asked, ">>", "asked"; print $asked $line; close $asked;
	my ($id) = $line =~ m{^GET /buildid/([0-9a-f]+)/debuginfo };
	my $mode = slurp("mode");
	sleep 60 if $mode eq "hangs";
	if ($mode eq "endless") {
		print $client "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
		1 while print $client "x" x 65536;
	} elsif ($mode eq "drips") {
		print $client "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
		$client->flush;
		1 while print($client "x") && $client->flush && select(undef, undef, undef, 0.1) >= 0;
	}
	my $body = slurp($mode eq "wrong" ? "other.debug" : $mode eq "garbage" ? "server" : "serve/" . ($id // "none"));
	if (defined $body) {
		$body = substr($body, 0, length($body) / 2) if $mode eq "cut";
		print $client "HTTP/1.1 200 OK\r\nContent-Length: ", length $body, "\r\nConnection: close\r\n\r\n", $body;
	} else {
		print $client "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
	}
	exit;
}
END

build program
build other
id=$(build_id program)
mkdir serve
cp program.debug "serve/$id"
echo -n good >mode
start server.out perl server
wait_for 10 test -s port
url=http://127.0.0.1:$(cat port)
start /dev/null ./program
program=$started

# top OPTION...: recorded so; the frames of most samples, those of the kernel left out
top() {
	: >asked
	run "$WICK" record -F "$hz" -p "$program" -o x.folded --stats x.json "$@" 1
	is "${*:-without}: exit" "$status" 0 || diag "$(cat stderr)"
	hottest=$(sed -E 's/;[^;]*_\[k\]//g' x.folded | awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n }
		END { for (line in sum) if (sum[line] > most) { most = sum[line]; best = line } print best }')
}

left_behind() {
	find /tmp /var/tmp "${TMPDIR:-/tmp}" -maxdepth 1 -name 'wick-debuginfod.*' -newer server
}

nameless=';program@0x[0-9a-f]+;program@0x[0-9a-f]+$'
export DEBUGINFOD_URLS=$url
top
ok 'not asked for: no names' grep -qE "$nameless" <<<"$hottest"
is 'not asked for: no server was asked' "$(cat asked)" ''

top --debuginfod
ok 'names' grep -qE ';main;program_inner$' <<<"$hottest" || diag "$hottest"
ok 'it was asked by build id' grep -qF "GET /buildid/$id/debuginfo " asked
is 'nothing failed' "$(jq '[.. | .debuginfod_failed? // empty] | add' x.json)" 0
is 'nothing is left behind' "$(left_behind)" ''
top --debuginfod --inline --lines
ok 'inlined functions and lines' grep -qE ';main program\.c:5;program_inner program\.c:4;program_inlined program\.c:3_\[i\]$' <<<"$hottest" ||
	diag "$hottest"
run "$WICK" profile -F "$hz" -p "$program" --debuginfod 1
is 'profile: exit' "$status" 0
ok 'profile: names' grep -qE '^    program_inner\+0x[0-9a-f]+ \[program\]$' stdout

# ---- servers that do not do what they should ----
rm "serve/$id"
top --debuginfod
ok 'nobody knows it: no names' grep -qE "$nameless" <<<"$hottest"
ok 'nobody knows it: it was asked' grep -qF "$id" asked
cp program.debug "serve/$id"
export DEBUGINFOD_MAXTIME=2 DEBUGINFOD_TIMEOUT=2 DEBUGINFOD_MAXSIZE=2000000
for mode in wrong garbage cut hangs endless drips; do
	echo -n "$mode" >mode
	top --debuginfod
	ok "$mode: no names" grep -qE "$nameless" <<<"$hottest" || diag "$hottest"
	ok "$mode: it was asked" grep -qF "$id" asked
	is "$mode: nothing is left behind" "$(left_behind)" ''
done
DEBUGINFOD_URLS=http://127.0.0.1:1 top --debuginfod
ok 'a server that is not there: no names' grep -qE "$nameless" <<<"$hottest"
holds 'a server that is not there: said' "$(jq '[.. | .debuginfod_failed? // empty] | add' x.json) > 0"

# ---- words ----
DEBUGINFOD_URLS='' run "$WICK" record --debuginfod -p "$program" 1
is 'no server is named: exit' "$status" 2
is 'no server is named: one line' "$(grep -c '' stderr)" 1
ok 'no server is named: said' grep -q 'DEBUGINFOD_URLS names no server' stderr

# ---- the process that asks: another user, without rights, and it does not outlive wick ----
echo -n hangs >mode
start wick.out env DEBUGINFOD_MAXTIME=60 DEBUGINFOD_TIMEOUT=60 "$WICK" record -F "$hz" -p "$program" -o x.folded --debuginfod 1
wick=$started
fetcher() {
	pgrep -P "$wick" -x wick-fetch
}
wait_for 20 fetcher
fetch=$(fetcher)
: >asked
wait_for 20 grep -q . asked
is 'the process that asks: a user of its own' "$(awk '/^Uid/ { print $2 }' "/proc/$fetch/status")" "$((0xf0000000 | fetch))"
is 'the process that asks: no capabilities' "$(awk '/^Cap(Prm|Eff|Bnd)/ { print $2 }' "/proc/$fetch/status" | sort -u)" 0000000000000000
kill -KILL "$wick"
ok 'the process that asks ends with wick' wait_for 20 gone "$fetch"
nothing_left() {
	[ -z "$(left_behind)" ]
}
ok 'and leaves nothing behind' wait_for 20 nothing_left

finish
