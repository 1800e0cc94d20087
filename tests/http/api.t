#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every path as docs/api.md has it: what it answers, to whom, and with which rights the server does so.

# shellcheck source=tests/http/lib.sh
. "$(dirname "$0")/lib.sh"

TOKEN=correct-horse-battery-staple

# ---- Saved profiles ----

serve "$BUSY"

for set in Eff Prm Inh Bnd Amb; do
	is "no capabilities: $set" "$(sed -n "s/^Cap$set:\t//p" "/proc/$server/status")" 0000000000000000
done
is "and none to be had" "$(sed -n 's/^NoNewPrivs:\t//p' "/proc/$server/status")" 1
is "it listens on loopback alone" \
	"$(awk -v port="$(printf '%04X' "$port")" '$4 == "0A" && $2 ~ ":" port "$" { print substr($2, 1, 8) }' /proc/net/tcp)" 0100007F

for format in folded report pprof svg speedscope perf firefox wick html; do
	"$WICK" convert "$BUSY" -o "$T/wanted" -f "$format" || diag "wick convert -f $format"
	answers "/api/profile?format=$format" 200 "$url/api/profile?format=$format"
	ok "the same as wick convert -f $format" cmp "$T/body" "$T/wanted"
	ok "$format is to be saved" grep -q '^Content-Disposition: attachment' "$T/head"
done
answers "a filter" 200 -G -d filter=process:redis -d format=folded "$url/api/profile"
is "has what passes" "$(comms "$T/body")" redis-server
answers "/api/processes" 200 "$url/api/processes"
is "the busiest first" "$(jq -r '.processes[0] | "\(.name) \(.samples)"' "$T/body")" 'redis-server 852'
is "all samples" "$(jq '[.processes[].samples] | add' "$T/body")" "$(curl -sS "$url/api/profile?format=folded" | awk '{ n += $NF } END { print n }')"
answers "go tool pprof's path" 200 "$url/debug/pprof/profile?seconds=1"
ok "is a profile" "$WICK" report "$T/body" -o "$T/x.txt"
answers "/api/diff with itself" 200 "$url/api/diff?from=1&to=now&against=2&format=folded"
refuses "/api/diff of one range" 400 "$url/api/diff?from=-5m"
refuses "what is not kept" 404 "$url/api/profile?from=2001-01-01&to=2001-01-02"
refuses "no curves without times" 404 "$url/api/series"
refuses "no heat map either" 404 "$url/api/heat"
refuses "no events of what is saved" 404 "$url/api/events"
answers /healthz 200 "$url/healthz"
answers /readyz 200 "$url/readyz"
answers /metrics 200 "$url/metrics"
ok "metrics are well-formed" perl -ne '
	$type{$1} = 1, next if /^# TYPE (wick_\w+) (counter|gauge)$/;
	next if /^# HELP wick_\w+ \S/;
	/^(wick_\w+)(\{\w+="(?:[^"\\\n]|\\.)*"\})? -?[\d.e+-]+$/ && $type{$1} && !$seen{$1 . ($2 // "")}++ or die "line $.: $_"' "$T/body"
ok "losses are among them" grep -q '^wick_samples_lost_total{reason="ring"}' "$T/body"

answers "the page" 200 "$url/"
for header in Content-Security-Policy X-Content-Type-Options X-Frame-Options Referrer-Policy Cache-Control \
	Cross-Origin-Resource-Policy; do
	ok "has $header" grep -qi "^$header: " "$T/head"
done
is "no script but files of the server's" "$(header Content-Security-Policy | tr ';' '\n' | sed -n 's/^ *script-src //p')" "'self'"
is "no inline script in it" "$(grep -c '<script type="module">' "$T/body")" 0
is "no inline style in it" "$(grep -c '<style' "$T/body")" 0
for asset in page.css page.js; do
	ok "it names /$asset" grep -q "\"/$asset\"" "$T/body"
	is "/$asset is there" "$(curl -sS -o /dev/null -w '%{http_code}' "$url/$asset")" 200
done
is "one connection for many requests" "$(curl -sS -o /dev/null -o /dev/null -o /dev/null -w '%{num_connects}' "$url/healthz" "$url/nothing" "$url/healthz")" 100
stop "$server"

# ---- A live source ----

serve live=20 "$BUSY"
answers "the next second of profile is waited for" 404 "$url/debug/pprof/profile?seconds=1"
start "$T/waiting" curl -sS "$url/debug/pprof/profile?seconds=300"
answers "others are served meanwhile" 200 "$url/healthz"
stop "$started"
curl -sSN -m 20 "$url/api/events" 2>/dev/null | head -n 11 >"$T/events"
is "events begin with everything" "$(sed -n '2,3p' "$T/events" | tr '\n' ' ')" 'event: all data: {"hello":true} '
is "and go on with changes" "$(sed -n '6p;10p' "$T/events" | tr '\n' ' ')" 'event: add event: add '
ok "in order" perl -ne 'if (/^id: (\d+)/) { $1 == $last + 1 or die if $last; $last = $1 }' "$T/events"
start "$T/waiting" curl -sS "$url/debug/pprof/profile?seconds=300"
start "$T/listening" curl -sSN "$url/api/events"
ok "somebody listens" wait_for 20 grep -q '^event: add' "$T/listening"
kill -TERM "$server"
ok "it ends while some wait" wait_for 20 gone "$server"
wait "$server"
is "and ends well" "$?" 0
wait "$started"
is "who listens is told the end" "$?" 0

# ---- A token ----

echo "$TOKEN" >"$T/token" && chmod 600 "$T/token"
serve token="$T/token" "$BUSY"
for path in / /metrics /api/processes /api/profile /api/events /debug/pprof/profile /nothing; do
	refuses "$path without a token" 401 "$url$path"
done
refuses "a wrong token" 401 -H "Authorization: Bearer ${TOKEN}x" "$url/api/processes"
refuses "a token in the address" 401 "$url/api/processes?token=$TOKEN"
answers "the token" 200 -H "Authorization: Bearer $TOKEN" "$url/api/processes"
answers "health needs none" 200 "$url/healthz"
answers "a browser is led to the form" 303 -H 'Accept: text/html' "$url/"
is "by its address" "$(header Location)" /login
answers "the form" 200 "$url/login"
answers "the form with a wrong token" 403 -d token=nonsense -c "$T/jar" "$url/login"
is "sets no cookie" "$(header Set-Cookie)" ''
answers "the form, sent by somebody else's page" 403 -H 'Origin: http://evil.example' -d "token=$TOKEN" "$url/login"
answers "the form with the token" 303 -H "Origin: $url" -d "token=$TOKEN" -c "$T/jar" "$url/login"
ok "sets a cookie that scripts cannot read" grep -q 'HttpOnly; SameSite=Strict' <<<"$(header Set-Cookie)"
ok "that is not the token" eval "! grep -q '$TOKEN' '$T/jar'"
answers "the cookie" 200 -b "$T/jar" "$url/api/processes"
refuses "another cookie" 401 -b "wick_session=$(printf '0%.0s' {1..64})" "$url/api/processes"
stop "$server"

# ---- TLS ----

openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
	-keyout "$T/key.pem" -out "$T/cert.pem" 2>"$T/openssl.err"
serve listen=0.0.0.0:0 token="$T/token" cert="$T/cert.pem" key="$T/key.pem" "$BUSY"
url=https://localhost:$port
answers "TLS, everywhere, with a token" 200 --cacert "$T/cert.pem" -H "Authorization: Bearer $TOKEN" "$url/api/processes"
refuses "TLS without the token" 401 --cacert "$T/cert.pem" "$url/api/processes"
answers "a cookie over TLS" 303 --cacert "$T/cert.pem" -d "token=$TOKEN" "$url/login"
ok "stays there" grep -q '; Secure' <<<"$(header Set-Cookie)"
is "no plain HTTP on that port" "$(speak 20 'print $s "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"; my $line = <$s> // ""; print $line =~ /^HTTP.* 200/ ? "taken" : "refused"')" refused
stop "$server"

# ---- What it does not start with ----

# starts_not NAME WORDS ARGUMENT...
starts_not() {
	local name=$1 words=$2
	shift 2
	run "$HTTPSERVE" "$@" "$BUSY"
	is "$name: refused" "$status" 1
	is "$name: in one line" "$(wc -l <"$T/stderr")" 1
	ok "$name: that says what to do" grep -qF -- "$words" "$T/stderr"
}
starts_not "everywhere" --token-file listen=0.0.0.0:0
starts_not "everywhere in IPv6" --token-file 'listen=[::]:0'
starts_not "everywhere with a token alone" --tls-cert listen=0.0.0.0:0 token="$T/token"
starts_not "everywhere with TLS alone" --token-file listen=0.0.0.0:0 cert="$T/cert.pem" key="$T/key.pem"
starts_not "a name" 'write ADDRESS:PORT' listen=example.org:80
starts_not "half of TLS" 'go together' cert="$T/cert.pem"
starts_not "a key that does not fit" 'do not work together' cert="$T/key.pem" key="$T/key.pem"
starts_not "no key" 'No such file' cert="$T/cert.pem" key="$T/nothing"
chmod 644 "$T/token"
starts_not "a token that all can read" 'chmod 600' token="$T/token"
serve listen=0.0.0.0:0 insecure= "$BUSY"
answers "spelled out it is" 200 "$url/healthz"
stop "$server"
finish
