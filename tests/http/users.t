#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whom a server on loopback answers: root, who started it, and those that were named. Others are told what to do, and get
# nothing, however they come; nor can they keep those out who may ask.

# shellcheck source=tests/http/lib.sh
. "$(dirname "$0")/lib.sh"

TOKEN=correct-horse-battery-staple
OTHER=65534 # also called nobody
THIRD=65533

chmod 711 "$T"

# Commands by another user, which only root can do
as_other=(setpriv --reuid="$OTHER" --regid="$OTHER" --clear-groups --)
as_third=(setpriv --reuid="$THIRD" --regid="$THIRD" --clear-groups --)

# wick_serve ARGUMENT...: `wick serve --replay`, by the command in $by; sets server, port and url
by=()
wick_serve() {
	: >"$T/server.err"
	"${by[@]}" "$WICK" serve --listen "${listen:-127.0.0.1:0}" "$@" --replay "$BUSY" 2>"$T/server.err" &
	server=$!
	children+=("$server")
	if ! wait_for 20 grep -q '(port [0-9]*)$' "$T/server.err"; then
		diag "wick serve did not start: $(cat "$T/server.err")"
		exit 1
	fi
	port=$(sed -n 's/.*(port \([0-9]*\))$/\1/p' "$T/server.err")
	url=http://${listen:-127.0.0.1:0}
	url=${url%:*}:$port
}

# status_of CURL-ARGUMENT...: by the command in $asking; its answer in $T/body
asking=()
status_of() {
	"${asking[@]}" curl -sS -g -m 30 -w '\n%{http_code}' "$@" >"$T/out" 2>"$T/curl.err"
	sed '$d' "$T/out" >"$T/body"
	tail -n 1 "$T/out"
}

gets() {
	local name=$1 wanted=$2
	shift 2
	is "$name" "$(status_of "$@")" "$wanted" || diag "$(head -c 300 "$T/body") $(cat "$T/curl.err")"
}

# told NAME WORDS CURL-ARGUMENT...: refused, in one sentence with these words
told() {
	local name=$1 words=$2
	shift 2
	gets "$name" 403 "$@"
	ok "$name: one sentence that says what to do" told_so "$words"
}

told_so() {
	is_sentence && jq -r .error "$T/body" | grep -qF -- "$1"
}

# ---- By who started it, whoever that is ----

for listen in 127.0.0.1:0 '[::1]:0' 127.9.9.9:0; do
	wick_serve
	gets "$listen: who started it" 200 "$url/api/processes"
	stop "$server"
done
listen=
run "$WICK" serve --allow-users "$(id -un),no-such-user" --replay "$BUSY"
is 'nobody by that name: exit' "$status" 2
ok 'nobody by that name: in words' grep -qF -- "--allow-users: there is no user 'no-such-user'" "$T/stderr"
run "$WICK" serve --allow-users 4294967295 --replay "$BUSY"
is 'a number that is nobody: exit' "$status" 2

# half NAME STATUS: says all at once, then waits for the answer
half='print $s "GET /api/processes HTTP/1.0\r\nHost: localhost\r\n\r\n"; shutdown $s, 1; print status($s)'
wick_serve
is 'half-closed at once: still who started it' "$(speak 20 "$half")" 200
stop "$server"
[ "$(id -u)" -eq 0 ] || finish

# ---- By root, asked by others ----

for listen in 127.0.0.1:0 '[::1]:0'; do
	asking=()
	wick_serve
	gets "$listen: root" 200 "$url/api/profile?format=folded"
	asking=("${as_other[@]}")
	for path in / /page.js /login /api/processes /api/profile /api/events /debug/pprof/profile /nothing; do
		told "$listen: another user, $path" --allow-users "$url$path"
		ok "$listen: another user, $path: a token is a way too" told_so --token-file
	done
	for path in /metrics /healthz /readyz; do
		told "$listen: another user, $path" --public-metrics "$url$path"
	done
	told "$listen: a token that nobody asked for" --allow-users -H "Authorization: Bearer $TOKEN" "$url/api/processes"
	stop "$server"
done
listen=
wick_serve
told 'over IPv6 to an address of IPv4' --allow-users --connect-to "::[::ffff:127.0.0.1]:$port" "$url/api/processes"
asking=()
gets 'so does root' 200 --connect-to "::[::ffff:127.0.0.1]:$port" "$url/api/processes"
gets 'bound to the device' 200 --interface lo "$url/api/processes"
asking=("${as_other[@]}" unshare -Ur)
if "${asking[@]}" true 2>"$T/unshare.err"; then
	told 'root of a user name space of their own' --allow-users "$url/api/processes"
else
	skip 'root of a user name space of their own' "$(cat "$T/unshare.err")"
fi
is 'half-closed at once: another user' "$("${as_other[@]}" bash -c "$(declare -f speak); port=$port speak 20 '$half'")" 403
stop "$server"

# ---- Others who may ----

for users in "$OTHER" nobody "root,$OTHER"; do
	wick_serve --allow-users "$users"
	asking=("${as_other[@]}")
	gets "--allow-users $users" 200 "$url/api/processes"
	asking=("${as_third[@]}")
	told "--allow-users $users: not others" --allow-users "$url/api/processes"
	asking=()
	gets "--allow-users $users: root" 200 "$url/api/processes"
	stop "$server"
done
wick_serve --allow-users "$OTHER" --allow-users "$THIRD"
asking=("${as_third[@]}")
gets 'named one after the other' 200 "$url/api/processes"
stop "$server"

by=("${as_other[@]}")
wick_serve
asking=("${as_other[@]}")
gets 'an ordinary user starts it, and asks' 200 "$url/api/processes"
asking=("${as_third[@]}")
told 'an ordinary user starts it, another asks' --allow-users "$url/api/processes"
asking=()
gets 'an ordinary user starts it, root asks' 200 "$url/api/processes"
stop "$server"

by=(env "SUDO_UID=$OTHER")
wick_serve
asking=("${as_other[@]}")
gets 'started by sudo' 200 "$url/api/processes"
asking=("${as_third[@]}")
told 'started by sudo, another asks' --allow-users "$url/api/processes"
stop "$server"
by=()

# ---- Paths for everybody ----

wick_serve --public-metrics
asking=("${as_other[@]}")
for path in /metrics /healthz /readyz; do
	gets "--public-metrics: $path" 200 "$url$path"
done
told '--public-metrics: nothing else' --allow-users "$url/api/processes"
gets '--public-metrics: a wrong Host' 403 -H 'Host: evil.example' "$url/metrics"
stop "$server"

# ---- A token: everybody is asked for it but those that were named ----

echo "$TOKEN" >"$T/token" && chmod 600 "$T/token"
wick_serve --token-file "$T/token" --allow-users "$OTHER"
asking=()
gets 'a token: root without it' 401 "$url/api/processes"
gets 'a token: root' 200 -H "Authorization: Bearer $TOKEN" "$url/api/processes"
asking=("${as_other[@]}")
gets 'a token: who was named needs none' 200 "$url/api/processes"
asking=("${as_third[@]}")
gets 'a token: another user without it' 401 "$url/api/processes"
gets 'a token: nor health' 401 "$url/healthz"
gets 'a token: another user' 200 -H "Authorization: Bearer $TOKEN" "$url/api/processes"
gets 'a token: the form' 200 "$url/login"
gets 'a token: a browser is led there' 303 -H 'Accept: text/html' "$url/"
stop "$server"

# ---- Who cannot be told ----

# In a user name space that lacks them, all users have the number of nobody.
by=(unshare -Ur)
wick_serve --allow-users "$OTHER"
asking=("${as_other[@]}")
told 'a user who has no number there' --token-file "$url/api/processes"
asking=()
gets 'root has one' 200 "$url/api/processes"
stop "$server"
by=()

# Two machines, one of which lets packets to its loopback in from outside, as a port that is forwarded does.
start "$T/here" unshare -n sleep 600
here=$started
start "$T/there" unshare -n sleep 600
there=$started
apart() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}
wait_for 10 apart "$here" && wait_for 10 apart "$there"
nsenter -t "$here" -n sh -ec "
	ip link set lo up
	ip link add near type veth peer name far netns $there
	ip address add 192.0.2.1/24 dev near
	ip link set near up
	echo 1 >/proc/sys/net/ipv4/conf/near/route_localnet"
nsenter -t "$there" -n sh -ec '
	ip address add 192.0.2.2/24 dev far
	ip link set far up
	echo 1 >/proc/sys/net/ipv4/conf/far/route_localnet
	ip route add 127.0.0.1 via 192.0.2.1'
by=(nsenter -t "$here" -n)
wick_serve
asking=(nsenter -t "$here" -n)
gets 'in its network name space' 200 "$url/api/processes"
asking=(nsenter -t "$there" -n)
told 'from another network name space, as root' --token-file "$url/api/processes"
told 'from another network name space: health' --public-metrics "$url/healthz"
stop "$server"
wick_serve --token-file "$T/token" --allow-users root
gets 'from another network name space: without the token' 401 "$url/api/processes"
gets 'from another network name space: with it' 200 -H "Authorization: Bearer $TOKEN" "$url/api/processes"
gets 'from another network name space: a wrong one' 401 -H "Authorization: Bearer ${TOKEN}x" "$url/api/processes"
asking=(nsenter -t "$here" -n)
gets 'while root, who was named, needs none' 200 "$url/api/processes"
stop "$server"
by=() asking=()

# ---- Who has gone when the connection is taken: the kernel shows what they leave as user 0 ----

# metric NAME
metric() {
	curl -sS -m 30 "$url/metrics" | sed -n "s/^$1 //p"
}

# all_refused NAME PERL: requests of somebody who is gone before they are looked at
all_refused() {
	local requests refused
	wick_serve
	requests=$(metric wick_http_requests_total) refused=$(metric wick_http_refused_total)
	kill -STOP "$server"
	"${as_other[@]}" perl -MIO::Socket::INET -MSocket -e '
		for (1 .. 20) {
			my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ARGV[0]") or die "connect: $!";
			syswrite($s, "GET /api/processes HTTP/1.1\r\nHost: localhost\r\n\r\n");
			eval $ARGV[1];
			die $@ if $@;
		}' "$port" "$2"
	ok "$1: nothing but what is left of them" wait_for 10 settled
	kill -CONT "$server"
	ok "$1: they are read" wait_for 20 read_since "$requests"
	is "$1: all of them are refused" "$(metric wick_http_refused_total)" "$((refused + 20))"
	stop "$server"
}

# Twenty that have closed, and know that the other end knows.
settled() {
	[ "$(awk -v port="$(printf ':%04X' "$port")" '$3 ~ port "$" && $4 == "05" && $10 == 0' /proc/net/tcp | wc -l)" -eq 20 ]
}

# read_since COUNT: twenty more, and our own
read_since() {
	[ "$(metric wick_http_requests_total)" -gt "$(($1 + 20))" ]
}
all_refused 'sent, and closed' 'close $s'
all_refused 'sent, and half-closed, and gone' 'shutdown $s, 1; close $s'

# ---- Others cannot keep those out who may ask ----

# crowd COUNT COMMAND...: by that command opens so many connections and holds them until the test is done with them
crowd() {
	local count=$1
	shift
	rm -f "$T/crowd"
	"$@" perl -MIO::Socket::INET -e '
		$| = 1;
		alarm 60;
		my @idle = map { IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ARGV[0]") } 1 .. $ARGV[1];
		print scalar(@idle), "\n";
		sleep 60;' "$port" "$count" >"$T/crowd" &
	children+=("$!")
	wait_for 50 grep -q . "$T/crowd"
}

serve connections=100 request_ms=60000 "$BUSY"
# One that root has had open for longer than anybody else, idle; used when the crowd is there.
export T
speak 100 '
	sub asks {
		print $s "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
		my ($status, $length) = (status($s), 0);
		while (defined(my $line = <$s>)) {
			last unless $line =~ /\S/;
			$length = $1 if $line =~ /^content-length: (\d+)/i;
		}
		read($s, my $body, $length);
		print "$status\n";
	}
	asks();
	select(undef, undef, undef, 0.02) until -e "$ENV{T}/go";
	asks();' >"$T/first" &
first=$!
children+=("$first")
ok 'root comes first' wait_for 20 grep -qx 200 "$T/first"
crowd 400 "${as_other[@]}"
few() {
	[ "$(metric wick_http_connections)" -le 40 ]
}
ok 'another user holds 32 connections of 400, no more' wait_for 20 few
crowd 400 "${as_third[@]}"
still_few() {
	[ "$(metric wick_http_connections)" -le 35 ]
}
ok 'all who may not ask hold a quarter, no more' wait_for 20 still_few
still_serving 'a crowd of others'
: >"$T/go"
ok 'who was there first' wait_for 20 gone "$first"
is 'was not crowded out' "$(tr '\n' ' ' <"$T/first")" '200 200 '
# One answer, and the connection ends: nothing is held by asking again.
is 'who is refused is let go' "$("${as_other[@]}" bash -c "$(declare -f speak)"'; port='"$port"' speak 20 "
	print \$s qq(GET / HTTP/1.1\r\nHost: localhost\r\n\r\n);
	print status(\$s), q( );
	1 while <\$s>;
	print q(ended);"')" '403 ended'
stop "$server"
finish
