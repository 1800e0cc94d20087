#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `wick serve` on this machine: what it answers is what ran; it survives what happens to it (kill -9, a full disk, a
# clock that is set, a crowd), and says so; it ends in order; a service manager is told.

# shellcheck source=tests/kernel/serve-lib.sh
. "$(dirname "$0")/serve-lib.sh"

start /dev/null "$PROGS/shares" -n served
load=$started

# ---- What it answers ----

serve -F 199 --allow-users prometheus
http=$(http_of "$server")
begun=$(date +%s%3N)
for set in Eff Prm Inh Bnd Amb; do
	is "who listens has no capabilities: $set" "$(sed -n "s/^Cap$set:\t//p" "/proc/$http/status")" 0000000000000000
done
inode=$(awk -v port="$(printf '%04X' "${url##*:}")" '$4 == "0A" && $2 == "0100007F:" port { print $10 }' /proc/net/tcp)
ok "it listens on loopback" test -n "$inode"
listening() {
	find "/proc/$1/fd" -lname "socket:\[$inode\]" 2>/dev/null | grep -q .
}
ok "by the process without rights" listening "$http"
ok "who samples does not listen" eval "! listening $server"
is "who listens has nothing of the kernel's" "$(find "/proc/$http/fd" \( -lname '*bpf*' -o -lname '*perf_event*' \) -print 2>/dev/null | wc -l)" 0
is "the folder is private" "$(stat -c %a "$DATA")" 700
is "the socket is its owner's" "$(stat -c %a "$SOCKET")" 600

watch() {
	curl -sSN -m 30 "$url/api/events" 2>/dev/null | "$tests_dir/livefold" "$1" >"$T/live.folded" 2>"$T/live.err"
}
ok "watching" watch 4
ok "the load is seen live, by its path" grep -q '^served;.*;run;a;b;hot70 ' "$T/live.folded"
diag "live: $(cat "$T/live.err")"
ok "windows are sealed" wait_for 20 windows_there 4
enough() {
	[ "$(curl -sS "$url/api/profile?format=folded&from=$begun" | grep '^served;' | awk '{ n += $NF } END { print n }')" -ge 600 ]
}
ok "there are samples" wait_for 30 enough
curl -sS "$url/api/profile?format=folded&from=$begun" >"$T/x.folded"
shares_hold "/api/profile" "$T/x.folded" served "$PROGS/shares"
range="format=folded&from=$begun&to=$((begun + 3000))"
curl -sS "$url/api/profile?$range" >"$T/net.folded"
curl -sS --unix-socket "$SOCKET" "http://localhost/api/profile?$range" >"$T/local.folded"
holds "the same by the socket of this machine" "$(folded_sum "$T/local.folded") == $(folded_sum "$T/net.folded") && $(folded_sum "$T/net.folded") > 0"
pprof=$(timeout 600 go tool -n pprof) # Go builds it when it is first asked for
is "go tool pprof reads the next seconds" "$(PPROF_TMPDIR=$T timeout 60 "$pprof" -top "$url/debug/pprof/profile?seconds=2" 2>"$T/pprof.err" | grep -c 'hot70')" 1 ||
	diag "$(tail -3 "$T/pprof.err")"

# by COMMAND...: the status of the profile, asked for by that command's user
by() {
	"$@" curl -sS -m 30 -w '\n%{http_code}' "$url/api/profile?format=folded" >"$T/answer"
	tail -n 1 "$T/answer"
}
other=(setpriv --reuid=65533 --regid=65533 --clear-groups --)
is "another user gets nothing" "$(by "${other[@]}")" 403
is "but words" "$(head -n 1 "$T/answer" | jq -r '.error | test("--allow-users")')" true
is "a user who was named does" "$(by setpriv --reuid=prometheus --regid=prometheus --clear-groups --)" 200

# every path of docs/api.md, as it is there
documented=0
while read -r path; do
	case $path in
	/api/events | /login) continue ;;
	/api/diff) query="?from=$((begun + 1000))&to=$((begun + 2000))&against=$begun" ;;
	/debug/*) query='?seconds=1' ;;
	*) query='' ;;
	esac
	is "$path$query" "$(code "$url$path$query")" 200 || diag "$(cat "$T/body")"
	documented=$((documented + 1))
done < <(sed -n 's/^| \(`\/[^|]*\) |.*/\1/p' "$tests_dir/../docs/api.md" | grep -o '`[^`]*`' | tr -d '`')
holds "there were some" "$documented >= 13"

# ---- Prometheus ----

is "promtool has nothing to say" "$(curl -sS "$url/metrics" | promtool check metrics 2>&1)" ''
holds "CPU time of the load is among them" "$(curl -sS "$url/metrics" | sed -n 's/^wick_cpu_seconds_total{process="served"} //p') > 0"
is "nothing is lost" "$(metric wick_samples_lost_total)" 0
cat >"$T/prometheus.yml" <<END
global: {scrape_interval: 1s}
scrape_configs: [{job_name: wick, static_configs: [{targets: ["${url#http://}"]}]}]
END
prometheus_port=$((20000 + RANDOM % 10000))
chmod 711 "$T" && chmod 644 "$T/prometheus.yml" && mkdir "$T/tsdb" && chown prometheus "$T/tsdb"
start "$T/prometheus.out" setpriv --reuid=prometheus --regid=prometheus --clear-groups -- prometheus --config.file="$T/prometheus.yml" --storage.tsdb.path="$T/tsdb" --web.listen-address="127.0.0.1:$prometheus_port"
prometheus=$started
scraped() {
	[ "$(curl -sS -m 5 -G -d 'query=wick_windows_stored_total' "http://127.0.0.1:$prometheus_port/api/v1/query" | jq -r '.data.result[0].value[1] // 0')" -gt 0 ]
}
ok "a real one scrapes it" wait_for 30 scraped || diag "$(tail -3 "$T/prometheus.out")"
is "and finds it up" "$(curl -sS -G -d 'query=up' "http://127.0.0.1:$prometheus_port/api/v1/query" | jq -r '.data.result[0].value[1]')" 1
stop "$prometheus"

# ---- Others who come ----

# starts_not NAME WORDS STATUS ARGUMENT...
starts_not() {
	local name=$1 words=$2 wanted=$3
	shift 3
	run "$WICK" serve "$@"
	is "$name: refused" "$status" "$wanted"
	is "$name: in one line" "$(wc -l <"$T/stderr")" 1
	ok "$name: that says what to do" grep -qF -- "$words" "$T/stderr" || diag "$(cat "$T/stderr")"
}
starts_not "the same folder" 'another process writes to it' 1 --listen 127.0.0.1:0 --data "$DATA" --socket "$T/other.sock"
starts_not "the same socket" 'another wick serve' 1 --listen 127.0.0.1:0 --data "$T/other" --socket "$SOCKET"
starts_not "the same port" 'Address already in use' 1 --listen "${url#http://}" --data "$T/other" --socket "$T/other.sock"
mkdir -m 755 "$T/open"
starts_not "a folder that others may enter" 'chmod 700' 1 --listen 127.0.0.1:0 --data "$T/open" --socket "$T/other.sock"
starts_not "everywhere" --token-file 2 --listen 0.0.0.0:7777
starts_not "a time that is none" '12h' 2 --keep forever
starts_not "files without --replay" '--replay' 2 x.wick
ok "the first one goes on" is_ready

# ---- A crowd: 50 that watch, 1,000 that do nothing ----

ulimit -n "$(ulimit -Hn)"
export T
perl -MIO::Socket::INET -e '
	$| = 1;
	$SIG{ALRM} = sub { exit 1 };
	alarm 60;
	sub dial { IO::Socket::INET->new(PeerAddr => $ARGV[0]) or die "connect: $!" }
	my @idle = map { dial() } 1 .. 1000;
	my @watchers = map { my $s = dial(); print $s "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"; $s } 1 .. 50;
	my %got;
	while (grep { ($got{$_} // 0) < 3 } @watchers) {
		my $rin = "";
		vec($rin, fileno($_), 1) = 1 for @watchers;
		select($rin, undef, undef, 10) or last;
		for my $s (grep { vec($rin, fileno($_), 1) } @watchers) {
			sysread($s, my $bytes, 1 << 20) or die "dropped";
			$got{$s} += () = $bytes =~ /^event: second/mg;
		}
	}
	print scalar(@idle), " ", scalar(grep { $got{$_} >= 3 } @watchers), "\n";
	select(undef, undef, undef, 0.05) until -e "$ENV{T}/go";' "${url#http://}" >"$T/crowd" &
children+=("$!")
ok "all of them have what they came for" wait_for 50 grep -q . "$T/crowd"
is "1,000 idle, 50 that heard" "$(cat "$T/crowd")" '1000 50'
is "the page still answers" "$(code "$url/")" 200
sealed_more 1
is "and nothing is lost" "$(metric wick_samples_lost_total)" 0
is "nor dropped" "$(metric wick_seconds_dropped_total)" 0
: >"$T/go"

# ---- Who listens hangs, and dies ----

kill -STOP "$http"
ok "one that hangs does not hold up sampling" sealed_more 3
kill -CONT "$http"
kill -KILL "$http"
ok "it is started again" wait_for 20 said 'listens again' && wait_for 20 is_ready
ok "and said why" said 'ended by signal 9'
is "the next one does not answer others either" "$(by "${other[@]}")" 403
sealed_more 2
is "sampling went on without a gap" "$(rows "SELECT count(*) FROM (SELECT start, lag(end) OVER (ORDER BY sequence) AS before FROM windows WHERE level = 'window') WHERE start > before + 0.1")" 0

# ---- The end ----

rows "SELECT sequence, samples FROM windows WHERE level = 'window' ORDER BY sequence" >"$T/was"
before=$(date +%s%3N)
end "$server" TERM
is "SIGTERM: exit" "$status" 0
diag "it ended within $(($(date +%s%3N) - before)) ms"
is "SIGTERM: the last words" "$(tail -n 1 "$T/server.err")" 'wick: ended'
holds "SIGTERM: what was not sealed is" "$(rows 'SELECT max(last_sequence) FROM windows') > $(tail -n 1 "$T/was" | cut -d'|' -f1)"
ok "SIGTERM: up to the end" perl -e 'exit !($ARGV[0] * 1000 >= $ARGV[1] - 500)' "$(rows 'SELECT max(end) FROM windows')" "$before"
ok "the socket is gone" test ! -e "$SOCKET"
last=$(rows 'SELECT max(last_sequence) FROM windows')
serve -F 199
sealed_more 1
is "the next one goes on where it ended" "$(rows "SELECT min(sequence) FROM windows WHERE level = 'window' AND sequence > $last")" "$((last + 1))"
is "what was there is as it was" "$(rows "SELECT sequence, samples FROM windows WHERE level = 'window' ORDER BY sequence" | head -n "$(wc -l <"$T/was")" | md5sum)" "$(md5sum <"$T/was")"
end "$server" TERM

# ---- A crash ----

kill_rounds "${KILLS:-10}"

# ---- A full disk ----

DATA=$T/small
mkdir -m 700 "$DATA" && mount -t tmpfs -o size=2M,mode=700 none "$DATA" && at_end "umount -l '$DATA'"
serve -F 199
sealed_more 2
dd if=/dev/zero of="$DATA/filler" bs=4k 2>/dev/null
ok "a full disk is said" wait_for 20 said 'cannot be kept'
is "once" "$(grep -c 'cannot be kept' "$T/server.err")" 1
noted() {
	curl -sS "$url/readyz" | jq -e '.note | test("disk full")' >/dev/null
}
ok "/readyz says so and is ready" wait_for 10 noted
ok "the live page goes on" watch 2
rm "$DATA/filler"
ok "it writes again by itself" wait_for 20 said 'kept again'
is "the gap is recorded" "$(curl -sS "$url/api/gaps" | jq -r '.[0].why, (.[0].windows > 0)' | tr '\n' ' ')" 'disk full true '
ok "/readyz has nothing more to say" wait_for 10 eval "! noted"
end "$server" TERM
is "full disk: exit" "$status" 0
umount -l "$DATA"

# ---- A clock that is set ----

DATA=$T/clock
faketime=$(find /usr/lib -name libfaketime.so.1 | head -n 1)
echo +0 >"$T/offset"
export FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_NO_CACHE=1 FAKETIME_TIMESTAMP_FILE=$T/offset
LD_PRELOAD=$faketime serve -F 199
sealed_more 2
for offset in -3600 +7200; do
	echo "$offset" >"$T/offset"
	sealed_more 3
done
end "$server" TERM
unset FAKETIME_DONT_FAKE_MONOTONIC FAKETIME_NO_CACHE FAKETIME_TIMESTAMP_FILE
is "clock: exit" "$status" 0
is "clock: no window is lost, none is there twice" \
	"$(rows "SELECT count(*) = max(sequence) - min(sequence) + 1, count(*) = count(DISTINCT sequence) FROM windows WHERE level = 'window'")" '1|1'
is "clock: they follow each other" "$(rows "SELECT count(*) FROM (SELECT start - lag(end) OVER (ORDER BY sequence) AS gap FROM windows WHERE level = 'window') WHERE min(abs(gap), abs(gap + 3600), abs(gap - 10800)) > 0.5")" 0
holds "clock: both are seen" "$(rows "SELECT max(abs(start - before)) FROM (SELECT start, lag(start) OVER (ORDER BY sequence) AS before FROM windows WHERE level = 'window')") > 3000"

# ---- A service manager ----

DATA=$T/data
# manager SOCKET: prints what it is told
cat >"$T/manager" <<'END'
use Socket;
my $name = $ARGV[0];
$name =~ s/^@/\0/;
socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die $!;
bind($s, pack_sockaddr_un($name)) or die $!;
$| = 1;
print "here\n";
print "$_\n" while defined recv($s, $_, 4096, 0);
END
for name in "$T/notify" "@wick-test-$$"; do
	start "$T/told" perl "$T/manager" "$name"
	manager=$started
	wait_for 10 grep -q here "$T/told"
	NOTIFY_SOCKET=$name WATCHDOG_USEC=2000000 serve -F 49
	ok "${name:0:1}: READY" wait_for 10 grep -qx 'READY=1' "$T/told"
	ok "${name:0:1}: WATCHDOG" wait_for 10 grep -qx 'WATCHDOG=1' "$T/told"
	end "$server" TERM
	ok "${name:0:1}: STOPPING" wait_for 10 grep -qx 'STOPPING=1' "$T/told"
	stop "$manager"
done

# ---- As the service does: another user, with the capabilities of sampling alone ----

unit=$tests_dir/../packaging/wick.service.in
capabilities=$(sed -n 's/^AmbientCapabilities=//p' "$unit" | tr ' ' '\n' | sed 's/^CAP_/+/' | tr 'A-Z\n' 'a-z,' | sed 's/,$//')
sed "s,@PREFIX@/bin/wick,$(readlink -f "$WICK")," "$unit" >"$T/wick.service"
is "the unit is well-formed" "$(systemd-analyze verify --man=no "$T/wick.service" 2>&1)" ''
# systemd gives it a link to the folder
mkdir -m 700 "$T/service" "$T/service/private" && ln -s private "$T/service/data" && chown -R 65534 "$T/service"
cp "$WICK" "$T/wick"
DATA=$T/service/data SOCKET=$T/service/sock
: >"$T/server.err"
setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --inh-caps="-all,$capabilities" \
	--ambient-caps="-all,$capabilities" --bounding-set="-all,$capabilities" \
	"$T/wick" serve --listen 127.0.0.1:0 --data "$DATA" --socket "$SOCKET" --window 1 2>"$T/server.err" &
server=$!
children+=("$server")
ok "as the service runs it: it is ready" wait_for 20 eval 'listens && is_ready'
ok "it seals" wait_for 20 windows_there 2
curl -sS "$url/api/profile?format=folded" >"$T/x.folded"
ok "the load has its names" grep -q '^served;.*hot70' "$T/x.folded"
is "as the service runs it: another user gets nothing" "$(by "${other[@]}")" 403
end "$server" TERM
is "as the service runs it: exit" "$status" 0

# ---- Saved profiles, by anybody ----

: >"$T/server.err"
setpriv --reuid=65534 --regid=65534 --clear-groups "$T/wick" serve --listen 127.0.0.1:0 --replay "$tests_dir/golden/busy.wick" 2>"$T/server.err" &
server=$!
children+=("$server")
replays() {
	url=http://127.0.0.1:$(sed -n 's/.*(port \([0-9]*\))$/\1/p' "$T/server.err") && is_ready
}
ok "--replay without rights" wait_for 20 replays
is "shows the profile" "$(curl -sS "$url/api/processes" | jq -r '.processes[0].name')" redis-server
end "$server" INT
is "--replay: exit" "$status" 0

# ---- Who listens dies in the middle of a window: the one after it is told what is not written yet ----

SOCKET=$T/sock DATA=$T/middle serve -F 199 --window 60
seen() {
	[ "$(code "$url/api/profile?format=folded")" = 200 ] && [ "$(grep '^served;' "$T/body" | awk '{ n += $NF } END { print n + 0 }')" -ge "$1" ]
}
ok "some seconds of a window" wait_for 30 seen 400
moment=$(curl -sSN -m 3 "$url/api/events" 2>"$T/curl.err" | grep -m1 '^data: ' | sed 's/^data: //' | jq '.seconds[-1].at_ms')
range="format=folded&to=$moment"
curl -sS "$url/api/profile?$range" >"$T/first.folded"
kill -KILL "$(http_of "$server")"
ok "it is started again in the middle" wait_for 20 said 'listens again' && wait_for 20 is_ready
curl -sS "$url/api/profile?$range" >"$T/again.folded"
holds "there were samples" "$(folded_sum "$T/first.folded") > 0"
is "it has the same" "$(LC_ALL=C sort "$T/again.folded")" "$(LC_ALL=C sort "$T/first.folded")"
end "$server" TERM

# ---- A store that was there before: it is known from the first moment on ----

SOCKET=$T/sock DATA=$T/middle serve -F 199 --window 60
curl -sSN -m 3 "$url/api/events" 2>"$T/curl.err" | grep -m1 '^data: ' | sed 's/^data: //' >"$T/all.json"
holds "when what is kept begins" "$(jq .first_ms "$T/all.json") <= $moment && $(jq .first_ms "$T/all.json") > $((moment - 600000))"
holds "how much it is" "$(jq .health.store_bytes "$T/all.json") > 0"
end "$server" TERM

# ---- The examples of the manual page, as typed: on a machine of their own ----

mkdir "$T/bin" "$T/here"
ln -sf "$(readlink -f "$WICK")" "$T/bin/wick"
cd "$T/here" || exit 1
cp "$tests_dir/golden/busy.wick" cpu.wick
printf 'cat;main;read 5\n' >x.folded
echo correct-horse-battery-staple >TOKEN && chmod 600 TOKEN
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout KEY -out CERT 2>"$T/openssl.err"
answering() {
	[ "$(nsenter -t "$server" -n curl -sS -k -m 5 -o "$T/ready" -w '%{http_code}' "$1://127.0.0.1:7777/readyz")" = 200 ]
}
while IFS= read -r example; do
	: >"$T/server.err"
	PATH=$T/bin:$PATH unshare -mn bash -c "ip link set lo up && mount -t tmpfs none /var/lib && mount -t tmpfs none /run && exec $example" 2>"$T/server.err" &
	server=$!
	children+=("$server")
	scheme=http
	case $example in *tls*) scheme=https ;; esac
	ok "$example" wait_for 30 answering "$scheme" || diag "$(cat "$T/server.err")"
	end "$server" TERM
	is "$example: exit" "$status" 0
done < <("$tests_dir/manpage" examples "$tests_dir/../docs/man/wick-serve.1")

stop "$load"
finish
