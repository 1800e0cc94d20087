#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One recording in all formats at once: each holds the same samples, those that show time have the real one, and
# `go tool pprof` makes nothing else of it.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

now_us() {
	perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'printf "%d", 1e6 * clock_gettime(CLOCK_MONOTONIC)'
}

start /dev/null "$PROGS/shares" -n every-format
wait_for 10 burned "$started" 5
before=$(now_us)
run "$WICK" record -F 499 -p "$started" --inline --lines -o "$T/x.folded" -o "$T/x.pb.gz" -o "$T/x.json" -o "$T/x.perf" \
	-o "$T/x.fx.json" -o "$T/x.wick" --stats "$T/x.json.stats" 1
after=$(now_us)
is "six outputs at once" "$status" 0 || diag "$(cat "$T/stderr")"
holds "there are samples" "$(folded_sum "$T/x.folded") > 20"

for format in pprof:pb.gz speedscope:json perf:perf firefox:fx.json; do
	run perl "$tests_dir/unfold" "${format%:*}" "$T/x.${format#*:}"
	is "${format%:*}: valid" "$status $(cat "$T/stderr")" "0 "
	is "${format%:*}: the same samples" "$(diff "$T/x.folded" "$T/stdout" | head -n 4)" ""
	run "$WICK" convert "$T/x.wick" -o "$T/again.${format#*:}"
	ok "${format%:*}: the same bytes from the .wick file" cmp "$T/x.${format#*:}" "$T/again.${format#*:}"
done

# ---- When and where ----

sed -n 's/^every-format \([0-9]*\/[0-9]*\) \(\[[0-9]*\]\) \([0-9]*\)\.\([0-9]*\): 1 cpu-clock:$/\1 \2 \3\4/p' "$T/x.perf" >"$T/times"
is "perf: every sample has its thread, CPU and time" "$(wc -l <"$T/times")" "$(folded_sum "$T/x.folded")"
is "perf: the thread" "$(cut -d' ' -f1 "$T/times" | sort -u)" "$started/$started"
holds "perf: while it was recorded" "$before <= $(head -n 1 "$T/times" | cut -d' ' -f3) && $(tail -n 1 "$T/times" | cut -d' ' -f3) <= $after"
holds "perf: not all at once" "$(cut -d' ' -f3 "$T/times" | sort -u | wc -l) > 20"

# ---- Lines, and the program first ----

if command -v go >/dev/null; then
	export HOME=$T PPROF_TMPDIR=$T GOTOOLCHAIN=local GO111MODULE=off GOFLAGS='' GOPROXY=off GOCACHE=${WICK_BUILD:-$T}/gocache
	pprof=$(timeout 600 go tool -n pprof)
	run "$pprof" -top -lines "$T/x.pb.gz"
	is "pprof: no warning" "$status $(cat "$T/stderr")" "0 "
	ok "pprof: the program is what it is of" grep -qx 'File: shares' "$T/stdout"
	ok "pprof: its build id" grep -qx "Build ID: $(readelf -n "$PROGS/shares" | sed -n 's/.*Build ID: //p')" "$T/stdout"
	ok "pprof: lines" grep -qE ' hot70 shares\.c:[0-9]+' "$T/stdout"
else
	skip "pprof" "there is no Go"
fi

run bash -c '"$1" record -f pprof -o - -p "$2" 0.2 | gzip -t' - "$WICK" "$started"
is "to a pipe: whole" "$status" 0
script -qec "'$WICK' record -f pprof -o - -p $started 5" "$T/typescript" >/dev/null </dev/null
ok "not to a terminal" grep -q "^wick: format 'pprof': standard output is a terminal, and this is not text: " "$T/typescript"

finish
