#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What somebody who means no good can send: each gets its status, nothing is written, and the next one is served.

# shellcheck source=tests/http/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir "$T/cwd" && cd "$T/cwd" || exit 1
serve request_ms=3000 idle_ms=6000 origin=https://www.speedscope.app host=wick.example "$BUSY"

# ---- Names of this server ----

for host in 127.0.0.1 localhost:1 '[::1]:9999' wick.example wick.example:80; do
	answers "Host $host" 200 -H "Host: $host" "$url/api/processes"
done
for host in evil.example "evil.example:$port" localhost.evil.example 127.0.0.1.evil.example 10.0.0.1 'localhost:x'; do
	refuses "Host '$host'" 403 -H "Host: $host" "$url/api/processes"
done
is "no Host" "$(speak 20 'print $s "GET /healthz HTTP/1.0\r\n\r\n"; print status($s)')" 400
refuses "a wrong Host learns nothing of paths" 403 -H 'Host: evil.example' "$url/nothing"

# ---- Pages from elsewhere ----

for origin in http://evil.example null "https://127.0.0.1:$port" http://127.0.0.1:1; do
	refuses "Origin '$origin'" 403 -H "Origin: $origin" "$url/api/processes"
	is "Origin '$origin': may not read" "$(header Access-Control-Allow-Origin)" ''
done
refuses "an empty Origin" 403 -H 'Origin;' "$url/api/processes"
answers "our own page" 200 -H "Origin: $url" "$url/api/processes"
is "our own page needs no permission" "$(header Access-Control-Allow-Origin)" ''
answers "a page that was named" 200 -H 'Origin: https://www.speedscope.app' "$url/api/profile?format=speedscope"
is "a page that was named may read" "$(header Access-Control-Allow-Origin)" https://www.speedscope.app
answers "it may ask whether it may" 204 -X OPTIONS -H 'Origin: https://www.speedscope.app' \
	-H 'Access-Control-Request-Method: GET' "$url/api/profile"
refuses "others may not" 403 -X OPTIONS -H 'Origin: https://evil.example' -H 'Access-Control-Request-Method: GET' "$url/api/profile"
refuses "a picture in somebody's page" 403 -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: no-cors' "$url/api/profile"

# ---- Paths ----

for path in /../../../../etc/passwd /..%2f..%2fetc/passwd /%2e%2e/%2e%2e/etc/passwd //etc/passwd /page.css/../../etc/passwd \
	/./healthz /healthz/ /HEALTHZ /healthz%00 '/healthz;x' '/%' '/\..\..\etc\passwd'; do
	refuses "path $path" 404 --path-as-is "$url$path"
done
is "a whole address as a path" "$(speak 20 'print $s "GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"; print status($s)')" 404

# ---- Methods ----

for method in DELETE PUT PATCH TRACE OPTIONS get NOSUCHMETHOD; do
	refuses "method $method" 405 -X "$method" "$url/api/processes"
	is "method $method: what there is" "$(header Allow)" 'GET, HEAD'
done
refuses "a form where there is none" 405 -d token=x "$url/api/processes"
is "HEAD has no body" "$(curl -sS -m 20 -I -o /dev/null -w '%{http_code} %{size_download}' "$url/api/processes")" '200 0'

# ---- Parameters ----

for query in from=x from=25:00 'from=-5m&to=-15m' 'from=2026-02-30' 'to=99999999999999999999' 'from=' 'from' 'nosuch=1' \
	'format=nosuch' 'format=../../etc/passwd' 'format=%' 'format=%2' 'format=%zz' 'format=%00' 'format=a%0d%0ab' \
	'filter=x' 'filter=focus:(' 'filter=focus:a%7B1,9%7D' 'filter=focus:' 'from=1&from=2'; do
	refuses "?$query" 400 "$url/api/profile?$query"
done
for query in seconds=0 seconds=-1 seconds=1e9 seconds=301 from=-5m; do
	refuses "pprof ?$query" 400 "$url/debug/pprof/profile?$query"
done
refuses "more parameters than may be" 400 "$url/api/profile?$(printf '&%.0s' {1..50})"
refuses "a long query" 400 "$url/api/profile?$(head -c 5000 /dev/zero | tr '\0' a)"
still_serving parameters

# ---- Sizes: what does not fit is answered by the library, which knows no JSON ----

is "a huge header" "$(speak 20 'print $s "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ", "a" x 200000, "\r\n\r\n"; print status($s)')" 431
is "a huge path" "$(speak 20 'print $s "GET /", "a" x 200000, " HTTP/1.1\r\nHost: localhost\r\n\r\n"; print status($s)')" 414
is "many headers" "$(speak 20 'print $s "GET /healthz HTTP/1.1\r\nHost: localhost\r\n", "X: y\r\n" x 50000, "\r\n"; print status($s)')" 431
refuses "a body where there is none" 413 -X GET -d x=1 "$url/api/processes"
is "a body without end" "$(speak 20 'print $s "POST /login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
	for (1 .. 500) { print $s "400\r\n", "a" x 1024, "\r\n" or last } print status($s) =~ /^(413|closed)$/ ? "refused" : "taken"')" refused
is "a length that is none" "$(speak 20 'print $s "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"; print status($s)')" 400
still_serving sizes

# ---- Bytes that are no request ----

speak 120 'srand 1; for (1 .. 50) { my $s = dial(); print $s map { chr rand 256 } 1 .. rand 2000; shutdown $s, 1; 1 while <$s> }' >"$T/out"
is "noise" "$(cat "$T/out")" ''
is "a TLS greeting" "$(speak 20 'print $s "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "a" x 500, "\r\n\r\n"; print status($s) =~ /^(400|closed)$/ ? "refused" : "taken"')" refused
still_serving noise

# Query strings at random, one connection after the other; none may be the server's fault.
is "query strings at random" "$(speak 120 '
	srand 2;
	my @words = (qw{from to filter format seconds = & % %00 %2 - 15m focus: ( [ * \\ 9 : T Z + folded svg now}, map { chr } 33 .. 126);
	my @paths = qw(/api/profile /api/diff /api/processes /debug/pprof/profile /);
	for (1 .. 400) {
		my $query = join "", map { $words[rand @words] } 1 .. rand 12;
		$query =~ s/[ #]//g;
		my $s = dial();
		print $s "GET $paths[rand @paths]?$query HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
		my $status = status($s);
		1 while <$s>;
		print "$query: $status\n" unless $status =~ /^(200|400|404)$/;
	}')" ''
still_serving "query strings"

# ended NAME: the server has kept quiet, and ends in order
ended() {
	is "$1: nothing was written" "$(find "$T/cwd" -mindepth 1)" ''
	is "$1: nothing was said" "$(cat "$T/server.err")" ''
	kill -TERM "$server"
	ok "$1: it ends when told to" wait_for 20 gone "$server"
	wait "$server"
	is "$1: and ends well" "$?" 0
}
ended "fast clients"

# ---- Slow clients: a byte now and then, for as long as they are let: by a server that has less patience than others need ----

serve request_ms=2000 idle_ms=3000 "$BUSY"
drip='
	my ($head) = @_;
	print $s $head;
	while (1) {
		my $rin = "";
		vec($rin, fileno($s), 1) = 1;
		if (select($rin, undef, undef, 0.1)) { last unless sysread($s, my $got, 4096) }
		syswrite($s, "a") or last;
	}
	print "ended";'
is "a header, byte by byte" "$(speak 30 "@_ = (qq(GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ));$drip")" ended
is "a body, byte by byte" "$(speak 30 "@_ = (qq(POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n));$drip")" ended
is "nothing at all" "$(speak 30 'print defined(scalar <$s>) ? "?" : "ended"')" ended
is "nothing more" "$(speak 30 'print $s "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"; print status($s), " "; 1 while <$s>; print "ended"')" '200 ended'
still_serving "slow clients"
code "$url/metrics" >"$T/code"
holds "they are counted" "$(sed -n 's/^wick_http_timeouts_total //p' "$T/body") >= 3"
ended "slow clients"
finish
