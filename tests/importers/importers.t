#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What wick writes for other tools, read by those tools: speedscope itself in Chromium without a display, the Firefox
# Profiler by its command line. `make check-importers` fetches them. Needs no root.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

modules=$(cd "${WICK_BUILD:-$tests_dir/../build}" && pwd)/importers/node_modules
scope=$modules/speedscope/dist/release/index.html
cli=$modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js
if [ ! -e "$scope" ] || [ ! -e "$cli" ] || ! command -v chromium >/dev/null || ! command -v node >/dev/null; then
	skip_all 'no importers, or nothing to run them with: scripts/setup test and make check-importers have them'
fi
export HOME=$T PROFILER_CLI_SESSION_DIR=$T/sessions PROFILER_CLI_NO_SYMBOLICATE=1

cd "$T" || exit 1
run "$WICK" convert "$tests_dir/golden/busy.wick" -o busy.json -o busy.perf -o busy.pb.gz -o busy.fx.json -o busy.folded
is "convert" "$status $(cat "$T/stderr")" "0 "

# leaves: of folded stacks, "samples comm name" for each function that is the leaf of some
leaves() {
	sed 's/ \([0-9]*\)$/;\1/' "$1" | awk -F';' 'NF > 2 { name = $(NF - 1); sub(/_\[[kji]\]$/, "", name)
		sum[$1 " " name] += $NF } END { for (i in sum) print sum[i], i }' | sort
}

# ---- The Firefox Profiler: self samples of every function in every thread ----

firefox() {
	timeout 60 node "$cli" "$@" 2>>"$T/firefox.log"
}
at_end 'firefox stop --all'
run node "$cli" load busy.fx.json
# It gives up waiting for its own server sooner than a busy machine lets that start.
ok "firefox: loaded" wait_for 60 firefox thread list --json
is "firefox: threads" "$(firefox thread list --json | jq -r '.threads[] | "\(.name) \(.pid) \(.tid)"' | sort)" \
	"$(sed -n 's/^\([^ #]*\) \([0-9]*\)\/\([0-9]*\) .*/\1 \2 \3/p' busy.perf | sort -u)"
while read -r handle comm; do
	firefox thread functions --thread "$handle" --include-idle --limit 0 --json |
		jq -r --arg comm "$comm" '.functions[] | select(.selfSamples > 0) | "\(.selfSamples) \($comm) \(.name)"'
done < <(firefox thread list --json | jq -r '.threads[] | "\(.threadHandle) \(.name)"') |
	awk '{ n = $1; sub(/^[^ ]* /, ""); sum[$0] += n } END { for (i in sum) print sum[i], i }' | sort >firefox.got
leaves busy.folded >wanted
is "firefox: functions and their samples" "$(diff wanted firefox.got)" ""

run "$WICK" convert --type alloc_objects "$tests_dir/golden/heap.pb.gz" -o objects.fx.json -o objects.folded
firefox stop --all
run node "$cli" load objects.fx.json
ok "firefox: another type of values" wait_for 60 firefox thread list --json
firefox thread functions --include-idle --limit 0 --json |
	jq -r '.functions[] | select(.selfSamples > 0) | "\(.selfSamples) \(.name)"' | sort >firefox.got
sed 's/ \([0-9]*\)$/;\1/' objects.folded | awk -F';' '{ sum[$(NF - 1)] += $NF } END { for (i in sum) print sum[i], i }' |
	sort >wanted
is "firefox: its values" "$(diff wanted firefox.got)" ""

# ---- speedscope: its table of functions ----

# table FILE: "self name" for each row that it shows
table() {
	printf 'speedscope.loadFileFromBase64("%s", "%s")' "$1" "$(base64 -w0 "$1")" >load.js
	timeout 120 chromium --headless --no-sandbox --disable-gpu --use-angle=swiftshader --enable-unsafe-swiftshader \
		--user-data-dir="$T/chromium" --virtual-time-budget=20000 --dump-dom \
		"file://$scope#view=sandwich&localProfilePath=$T/load.js" 2>"$T/chromium.log" >"$1.html"
	sed 's/<tr/\n<tr/g' "$1.html" | grep '^<tr' | sed 's/<[^>]*>/ /g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g; s/  */ /g; s/^ //; s/ $//'
}

table busy.json >rows
is "speedscope: its head" "$(head -n 1 rows)" "Total Self Symbol Name"
# The rows that fit, hottest first; names in it are those of folded stacks
sed 's/ \([0-9]*\)$/;\1/' busy.folded | awk -F';' 'NF > 2 { sum[$(NF - 1)] += $NF } END { for (i in sum) print sum[i], i }' |
	sort -k1,1nr | awk '$1 > 40' | sort >wanted
sed -n 's/^[0-9]* ([^)]*) \([0-9]*\) ([^)]*) \(.*\)/\1 \2/p' rows | awk '$1 > 40' | sort >got
is "speedscope: functions and their samples" "$(diff wanted got)" ""
ok "speedscope: there were some" test "$(wc -l <got)" -gt 10
ok "speedscope: losses are in the title" grep -q '<title>shop1: 1,580 samples, lost: ring 3, .* - speedscope</title>' busy.json.html

# Four types of values are four profiles, each in its unit; it opens with the first.
run "$WICK" convert "$tests_dir/golden/heap.pb.gz" -o heap.json
is "convert several types" "$status" 0
table heap.json >rows
is "speedscope: several types" "$(sed -n 's/ ⤴.*//; /^[1-4] /p' rows)" "1 inuse_space: 44,688 bytes 43.64 KB
2 alloc_objects: 55 count 55
3 alloc_space: 132,616 bytes 129.51 KB
4 inuse_objects: 27 count 27"
ok "speedscope: opens with the first" grep -q '(1/4)' heap.json.html

table busy.perf >rows
is "speedscope reads .perf: a profile for each thread" "$(sed -n 's/^[0-9]* \(.*\) pid: \([0-9]*\) tid: \([0-9]*\) .*/\1 \2 \3/p' rows | sort)" \
	"$(sed -n 's/^\([^ #]*\) \([0-9]*\)\/\([0-9]*\) .*/\1 \2 \3/p' busy.perf | sort -u)"

table busy.pb.gz >rows
# It leaves inlined functions out: they count as the one that they were inlined into.
is "speedscope reads .pb.gz: the hottest" "$(sed -n 2p rows)" "5.86s (37%) 4.00s (25%) luaV_execute"

finish
