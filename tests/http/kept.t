#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A store that grows while it is asked, and the live stream: what was sealed and what was not are one answer, nothing is
# there twice, watchers have the same as who asks, and a socket of this machine gives all of it. Seconds are made up by
# tests/tools/feed from a saved profile: each of them has the same counts.

# shellcheck source=tests/http/lib.sh
. "$(dirname "$0")/lib.sh"

FEED=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/feed

# feed NAME=VALUE...: until it listens; sets server, port and url
feed() {
	: >"$T/port"
	"$FEED" "$@" "$BUSY" >"$T/port" 2>"$T/server.err" &
	server=$!
	children+=("$server")
	if ! wait_for 20 grep -q . "$T/port"; then
		diag "the server did not start: $(cat "$T/server.err")"
		exit 1
	fi
	port=$(cat "$T/port")
	url=http://127.0.0.1:$port
}

# ---- History: 30 windows of 10 seconds, all in the past ----

feed data="$T/store" socket="$T/s.sock" ms=3600000 past=30
answers "the store's profile" 200 "$url/api/profile?format=folded"
total=$(folded_sum "$T/body")
holds "has samples" "$total > 0 && $total % 300 == 0"
each=$((total / 300))
end=$(($(curl -sS "$url/api/series?cells=1" | jq .from_ms) + 300000))
is "one second of it" "$(curl -sS "$url/api/profile?format=folded&from=$((end - 7000))&to=$((end - 6000))" | awk '{ n += $NF } END { print n }')" "$each"
is "a range over several windows" \
	"$(curl -sS "$url/api/profile?format=folded&from=$((end - 95000))&to=$((end - 12000))" | awk '{ n += $NF } END { print n }')" "$((83 * each))"
answers "/api/series" 200 "$url/api/series?from=$((end - 300000))&to=$end&cells=30"
is "adds up" "$(jq '[.curves[].total] | add' "$T/body")" "$total"
is "evenly" "$(jq '[.curves[].values] | transpose | map(add) | unique | length' "$T/body")" 1
is "the busiest first" "$(jq -r '.curves[0].name' "$T/body")" redis-server
answers "by a label" 200 "$url/api/series?by=container&cells=2"
is "has its values" "$(jq '[.curves[].name] | index("shop-frontend") != null' "$T/body")" true
answers "the curve of a function" 200 "$url/api/series?fn=aeMain&cells=10&from=$((end - 300000))&to=$end"
is "is that function's" "$(jq -r '.curves | length, .[0].name' "$T/body" | tr '\n' ' ')" '1 aeMain '
is "and counts it" "$(jq '.curves[0].total' "$T/body")" \
	"$(curl -sS -G -d filter=focus:^aeMain$ -d format=folded "$url/api/profile" | awk '{ n += $NF } END { print n }')"
answers "the curve of a process" 200 "$url/api/series?filter=process:^redis&cells=1"
is "is that process's" "$(jq -r '[.curves[].name] | join(" ")' "$T/body")" redis-server
answers "the curve of a pid" 200 "$url/api/series?filter=process:812&cells=1"
refuses "a pattern that is none" 400 "$url/api/series?filter=focus:("

# What a filter leaves is the same of a profile, of curves, and of heat maps.
for filter in process=redis-server -process=redis-server process=812 'process:^(redis|post)' thread:. container=shop-frontend -container:shop \
	'container=[no container]' 'unit:service$' 'label.container:^shop' 'label.pod=[no pod]' kind=kernel '-kind:^(kernel|native)$' module:libc -module:libc \
	'module=[kernel]' focus=aeMain -focus:ae ignore:libc 'focus:(?i)AEMAIN' 'hide:.' hide=aeMain; do
	sum=$(curl -sS -G --data-urlencode "filter=$filter" -d format=folded "$url/api/profile?to=$end" | awk '{ n += $NF } END { print n + 0 }')
	# one that leaves nothing would be true of anything; hide:. leaves what has no stack
	case $filter in
	hide=* | thread:. | *\[no\ pod\]*) holds "$filter leaves all" "$sum == $total" ;;
	*) holds "$filter leaves a part" "$sum > 0 && $sum < $total" ;;
	esac
	is "$filter: curves" "$(curl -sS -G --data-urlencode "filter=$filter" "$url/api/series?to=$end&cells=7" | jq '[.curves[].total] | add // 0')" "$sum"
	is "$filter: a heat map" "$(curl -sS -G --data-urlencode "filter=$filter" "$url/api/heat?to=$end" | jq '.counts | add')" "$sum"
done
both=(-G --data-urlencode filter=focus=aeMain --data-urlencode filter=kind=kernel --data-urlencode filter=process=redis-server)
sum=$(curl -sS "${both[@]}" -d format=folded "$url/api/profile?to=$end" | awk '{ n += $NF } END { print n }')
holds "three filters narrow" "$sum > 0 && $sum < $(curl -sS -G -d filter=focus=aeMain -d format=folded "$url/api/profile?to=$end" | awk '{ n += $NF } END { print n }')"
is "curves too" "$(curl -sS "${both[@]}" "$url/api/series?to=$end&cells=3" | jq '[.curves[].total] | add')" "$sum"
is "and with fn" "$(curl -sS "${both[@]}" "$url/api/series?to=$end&cells=3&fn=aeMain" | jq -c '[.curves[].name, .curves[].total]')" "[\"aeMain\",$sum]"
answers "/api/heat" 200 "$url/api/heat?from=$((end - 20000))&to=$end"
is "has all samples of its range" "$(jq '.counts | add' "$T/body")" "$((20 * each))"
is "where they were, from 200 ms to 400 ms" "$(jq -c '.rows as $rows | [.counts | to_entries[] | select(.value > 0) | .key % $rows] | unique | [min, max <= 19]' "$T/body")" '[10,true]'
answers "of a function" 200 "$url/api/heat?from=$((end - 20000))&to=$end&fn=aeMain"
holds "is part of it" "$(jq '.counts | add' "$T/body") > 0 && $(jq '.counts | add' "$T/body") < $((20 * each))"
answers "of a process" 200 "$url/api/heat?from=$((end - 20000))&to=$end&filter=process:redis"
redis=$(jq '.counts | add' "$T/body")
is "as many as it has" "$redis" "$(curl -sS -G -d filter=process:redis -d format=folded -d from=$((end - 20000)) -d to=$end "$url/api/profile" | awk '{ n += $NF } END { print n }')"
answers "parts of seconds" 200 "$url/api/processes?from=$((end - 20000))&to=$end"
answers "/api/gaps" 200 "$url/api/gaps"
is "none" "$(cat "$T/body")" '[]'
answers "/api/diff" 200 "$url/api/diff?from=$((end - 20000))&to=$end&against=$((end - 60000))&format=folded"
refuses "before everything" 404 "$url/api/profile?from=2001-01-01&to=2001-01-02"
answers "/readyz" 200 "$url/readyz"
answers "/metrics" 200 "$url/metrics"
ok "has what whoever samples says" grep -qx 'wick_made_up 1' "$T/body"

# ---- The socket of this machine ----

is "the socket is its owner's" "$(stat -c %a "$T/s.sock")" 600
is "the same answers there" "$(curl -sS --unix-socket "$T/s.sock" "http://localhost/api/profile?format=folded&to=$end" | md5sum)" \
	"$(curl -sS "$url/api/profile?format=folded&to=$end" | md5sum)"
refuses "a wrong Host there too" 403 --unix-socket "$T/s.sock" -H 'Host: evil.example' http://localhost/api/processes
run "$FEED" data="$T/other" socket="$T/s.sock" "$BUSY"
is "a second server does not take the socket" "$status" 1
ok "and says so" grep -q 'another wick serve' "$T/stderr"
kill -TERM "$server"
ok "it ends" wait_for 10 gone "$server"
ok "and takes the socket away" test ! -e "$T/s.sock"

# ---- Now: a second every 50 ms, sealed five at a time ----

feed data="$T/live" ms=50 window=5 socket="$T/s.sock"
curl -sSN "$url/api/events" 2>/dev/null | "$tests_dir/livefold" 25 >"$T/first.folded" 2>"$T/first.err" &
first=$!
children+=("$first")
# what is sealed while one asks is neither missing nor there twice: any number of whole seconds
for _ in {1..40}; do
	sum=$(curl -sS "$url/api/profile?format=folded&to=$(($(date +%s) + 86400))000" | awk '{ n += $NF } END { print n + 0 }')
	[ $((sum % each)) = 0 ] || echo "$sum"
done >"$T/odd"
is "forty profiles while windows are sealed: whole seconds each" "$(cat "$T/odd")" ''
wait "$first"
is "a watcher has numbers for everything" "$(sed 's/ late.*//' "$T/first.err")" "eras 1 seconds $(sed -n 's/.*seconds \([0-9]*\).*/\1/p' "$T/first.err")"
holds "and whole seconds" "$(folded_sum "$T/first.folded") == $each * $(sed -n 's/.*seconds \([0-9]*\).*/\1/p' "$T/first.err")"
curl -sSN "$url/api/events" 2>/dev/null | "$tests_dir/livefold" 3 >"$T/second.folded" 2>"$T/second.err"
holds "one that comes later has what was before" "$(sed -n 's/.*seconds \([0-9]*\).*/\1/p' "$T/second.err") > 25"
is "the same stacks" "$(sed 's/ [0-9]*$//' "$T/second.folded" | sort -u | md5sum)" "$(curl -sS "$url/api/profile?format=folded&to=$(($(date +%s) + 86400))000" | sed 's/ [0-9]*$//' | sort -u | md5sum)"
start "$T/waited" curl -sS -o "$T/next.pb.gz" -w '%{http_code}' "$url/debug/pprof/profile?seconds=1"
wait "$started"
is "the next second is waited for" "$(cat "$T/waited")" 200
# Twelve hundred seconds: single ones become tens, and those that are too old go.
old() {
	[ "$(curl -sSN -m 2 "$url/api/events" 2>/dev/null | grep -m1 '^data: ' | sed 's/^data: //' | jq '.seconds | length')" -gt 100 ]
}
ok "there is a longer past" wait_for 60 old
curl -sSN "$url/api/events" 2>/dev/null | "$tests_dir/livefold" 1 >"$T/past.folded" 2>"$T/past.err"
holds "of whole seconds still" "$(folded_sum "$T/past.folded") % $each == 0"
stop "$server"

# ---- Before the first window: what there is begins with the first second, not in 1970 ----

began=$(($(date +%s) * 1000))
feed data="$T/young" ms=50 window=100000
heard() {
	[ "$(curl -sSN -m 2 "$url/api/events" 2>/dev/null | grep -m1 '^data: ' | sed 's/^data: //' | jq '.seconds | length')" -ge "$1" ]
}
ok "seconds that are not sealed" wait_for 20 heard 5
to=$((began + 3600000))
answers "curves of them" 200 "$url/api/series?to=$to&cells=5000"
holds "begin with the first" "$(jq .from_ms "$T/body") >= $began && $(jq .from_ms "$T/body") <= $(date +%s%3N)"
holds "and have all" "$(jq '[.curves[].total] | add' "$T/body") >= 5 * $each && $(jq '[.curves[].total] | add' "$T/body") % $each == 0"
answers "a heat map of them" 200 "$url/api/heat?to=$(($(date +%s) * 1000 + 20000))"
holds "begins there too" "$(jq .from_ms "$T/body") >= $began && $(jq '.counts | add' "$T/body") > 0"
for filter in process=redis-server -container:shop focus=aeMain kind=kernel; do
	range="to=$((began + 4000))"
	is "$filter: of seconds that are not sealed" "$(curl -sS -G --data-urlencode "filter=$filter" "$url/api/series?$range&cells=4" | jq '[.curves[].total] | add')" \
		"$(curl -sS -G --data-urlencode "filter=$filter" -d format=folded "$url/api/profile?$range" | awk '{ n += $NF } END { print n }')"
done
stop "$server"

# ---- Eras: a dictionary that may hold little ----

feed data="$T/eras" ms=50 window=5 era=3000
curl -sSN "$url/api/events" 2>/dev/null | "$tests_dir/livefold" 20 >"$T/eras.folded" 2>"$T/eras.err"
holds "a new era begins, and is told" "$(sed 's/eras \([0-9]*\).*/\1/' "$T/eras.err") > 1"
holds "with whole seconds" "$(folded_sum "$T/eras.folded") % $each == 0 && $(folded_sum "$T/eras.folded") > 0"
stop "$server"
finish
