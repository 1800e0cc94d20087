#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Many at once: a thousand idle connections and fifty that listen to events leave room for the next; one that listens but
# does not read is dropped, and nobody waits for it; more connections than may be make room by themselves.

# shellcheck source=tests/http/lib.sh
. "$(dirname "$0")/lib.sh"

ulimit -n "$(ulimit -Hn)"

metric() {
	code "$url/metrics" >"$T/code"
	sed -n "s/^$1 //p" "$T/body"
}

# ---- A thousand, and fifty ----

serve live=20 request_ms=100000 "$BUSY"
export T
speak 120 '
	my @idle = map { dial() } 1 .. 1000;
	my @listeners = map { my $s = dial(); print $s "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"; $s } 1 .. 50;
	my %got;
	while (grep { ($got{$_} // "") !~ /event: all.*(event: add.*){3}/s } @listeners) {
		my $rin = "";
		vec($rin, fileno($_), 1) = 1 for @listeners;
		select($rin, undef, undef, 10) or last;
		for my $s (grep { vec($rin, fileno($_), 1) } @listeners) { sysread($s, $got{$s}, 65536, length($got{$s} // "")) or last }
	}
	print scalar(@idle), " idle, ", scalar(grep { $got{$_} =~ /event: all.*(event: add.*){3}/s } @listeners), " heard\n";
	select(undef, undef, undef, 0.05) until -e "$ENV{T}/go";' >"$T/crowd" &
crowd=$!
children+=("$crowd")
ok "all have come" wait_for 100 grep -q heard "$T/crowd"
is "and all that listen hear" "$(cat "$T/crowd")" '1000 idle, 50 heard'
still_serving "a thousand"
holds "they are all there" "$(metric wick_http_connections) >= 1050"
is "none of those that listen was dropped" "$(metric wick_http_listeners_dropped_total)" 0
answers "a profile" 200 "$url/api/profile?format=html"
: >"$T/go"
ok "they go" wait_for 20 gone "$crowd"
idle_now() {
	[ "$(metric wick_http_listeners)" = 0 ]
}
ok "it is noticed that they went" wait_for 40 idle_now
stop "$server"

# ---- One that does not read ----

serve live=5 bytes=200000 "$BUSY"
is "who does not read is dropped" "$(speak 60 '
	print $s "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
	my ($deadline, $dropped) = (time + 50, 0);
	while (!$dropped && time < $deadline) {
		my $m = dial();
		print $m "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
		my $text = join "", <$m>;
		$dropped = $1 if $text =~ /^wick_http_listeners_dropped_total (\d+)/m;
	}
	print $dropped;')" 1
nobody_listens() {
	[ "$(metric wick_http_listeners)" = 0 ]
}
ok "and gone" wait_for 30 nobody_listens
is "who reads is not" "$(curl -sSN -m 20 "$url/api/events" 2>/dev/null | grep -c -m 50 '^event: add')" 50
stop "$server"

# ---- More than may be ----

serve connections=100 live=20 listeners=2 "$BUSY"
is "the next one is let in, whoever idles" "$(speak 60 '
	my @idle = map { dial() } 1 .. 400;
	my $next = dial();
	print $next "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
	print status($next);')" 200
holds "somebody made room" "$(metric wick_http_crowded_out_total) > 0"
is "as many may listen as may" "$(speak 60 '
	my @listeners = map { my $s = dial(); print $s "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"; $s } 1 .. 3;
	print join " ", sort map { status($_) } @listeners;')" '200 200 503'
still_serving "crowds"
stop "$server"
finish
