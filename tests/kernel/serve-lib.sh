# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What tests of a running `wick serve` share: starting it, asking it, and looking into its store.

# shellcheck source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

export DATA=$T/data SOCKET=$T/wick.sock server='' url=''

# serve ARGUMENT...: until it is ready; its pid in $server, where it listens in $url, its words in $T/server.err
serve() {
	: >"$T/server.err"
	"$WICK" serve --listen 127.0.0.1:0 --data "$DATA" --socket "$SOCKET" --window 1 "$@" 2>"$T/server.err" &
	server=$!
	children+=("$server")
	if ! wait_for 30 listens || ! wait_for 30 is_ready; then
		diag "wick serve did not start: $(cat "$T/server.err")"
		exit 1
	fi
}

listens() {
	url=$(sed -n 's,^wick: listening on \(https*://127.0.0.1:[0-9]*\)/.*,\1,p' "$T/server.err")
	[ -n "$url" ]
}

is_ready() {
	[ "$(curl -sS -m 5 -o "$T/ready" -w '%{http_code}' "$url/readyz")" = 200 ]
}

said() {
	grep -q -- "$1" "$T/server.err"
}

# http_of PID: the process beside it that listens
http_of() {
	local pid list=()
	read -ra list 2>/dev/null <"/proc/$1/task/$1/children"
	for pid in "${list[@]}"; do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = wick-http ] && echo "$pid"
	done
}

# code CURL-ARGUMENT...: the status, its answer in $T/body
code() {
	curl -sS -m 30 -o "$T/body" -w '%{http_code}' "$@" 2>"$T/curl.err"
}

# rows QUERY: of the store
rows() {
	"$WICK" sql --data "$DATA" -f csv "$1" | sed '1d; s/,/|/g'
}

# windows_there COUNT: are so many sealed?
windows_there() {
	[ "$(rows "SELECT count(*) FROM windows WHERE level = 'window'")" -ge "$1" ]
}

# sealed_more COUNT: so many more than there were
sealed_more() {
	local have
	have=$(rows "SELECT coalesce(max(last_sequence), 0) FROM windows")
	wait_for 40 windows_up_to $((have + $1))
}

windows_up_to() {
	[ "$(rows "SELECT coalesce(max(last_sequence), 0) FROM windows")" -ge "$1" ]
}

# metric NAME: its value, or the sum of its series
metric() {
	curl -sS -m 10 "$url/metrics" | awk -v name="$1" '{ key = $1; sub(/[{].*/, "", key) } key == name { sum += $NF } END { print sum + 0 }'
}

# kill_rounds TIMES: kill -9 at a moment of chance, under load; the store opens, nothing sealed is other than it was, and at
# most one whole window is missing
kill_rounds() {
	local i bad_open=0 changed=0 missing=0 outlived=0 http began now last
	for ((i = 0; i < $1; i++)); do
		serve -F 199 --window 2
		began=$(date +%s%3N)
		read -rt "$((RANDOM % 4)).$((RANDOM % 10))" <> <(:)
		http=$(http_of "$server")
		disown "$server" # it is no news that it was killed
		kill -KILL "$server"
		now=$(date +%s%3N)
		wait_for 5 gone "$server" && wait_for 5 gone "$http" || outlived=$((outlived + 1))
		[ "$(sqlite3 -readonly "$DATA/wick.db" 'PRAGMA integrity_check')" = ok ] || bad_open=$((bad_open + 1))
		rows "SELECT sequence, start, end, samples FROM windows WHERE level = 'window' ORDER BY sequence" >"$T/now.rows"
		if [ -s "$T/before.rows" ] && ! head -n "$(wc -l <"$T/before.rows")" "$T/now.rows" | cmp -s - "$T/before.rows"; then
			changed=$((changed + 1))
		fi
		cp "$T/now.rows" "$T/before.rows"
		last=$(rows "SELECT cast(coalesce(max(end), 0) * 1000 AS INTEGER) FROM windows")
		# whole windows between the last that is there, or the beginning, and the end
		perl -e 'my ($last, $began, $now) = @ARGV;
			exit !(int($now / 2000) - int(($last > $began ? $last : $began) / 2000 + 0.5) <= 1)' "$last" "$began" "$now" ||
			missing=$((missing + 1))
	done
	is "$1 kills: the store opens each time" "$bad_open" 0
	is "$1 kills: what was sealed is as it was" "$changed" 0
	is "$1 kills: at most one window is missing" "$missing" 0
	is "$1 kills: who listens does not outlive who samples" "$outlived" 0
	is "$1 kills: no window is there twice" "$(rows "SELECT count(*) - count(DISTINCT sequence) FROM windows WHERE level = 'window'")" 0
	holds "$1 kills: some were sealed between" "$(wc -l <"$T/now.rows") >= $1 / 5"
}
