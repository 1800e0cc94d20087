#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The page and the report of one file, by thirteen filters: tests/browser/page-totals.js reads in Chromium, in every view,
# what wick report prints. Needs no root.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

cp "$tests_dir/golden/busy.wick" . || exit 1
"$WICK" convert busy.wick -o busy.html || exit 1

# wanted OPTION...: every function, with nothing cut
wanted() {
	"$WICK" report --width 400 --top 1000 --percent-limit 100 "$@" busy.wick
}
# Chips of the page, and what asks wick report for the same
n=0
while read -r line; do
	n=$((n + 1))
	eval "wanted ${line#*@}" >"report-$n.txt" || exit 1
	printf '%s\n' "${line%@*}" >>chips
done <<'EOF'
 @ 
process:redis-server @ --process '^redis-server$'
process:900 @ --process 900
process:/^(node|agent)$/ @ --process '^(node|agent)$'
fn:lua @ --focus lua
fn:/^luaH_/ @ --focus '^luaH_'
ignore:/alloc/ @ --ignore alloc
hide:/^luaV/ @ --hide '^luaV'
fn:[kernel] @ --focus '\[kernel\]'
process:cc1plus fn:/analyze|template/ @ --process '^cc1plus$' --focus 'analyze|template'
fn:main ignore:lua hide:/^ae/ @ --focus main --ignore lua --hide '^ae'
hide:main @ --hide '^main$'
focus:luaV_execute @ --focus '^luaV_execute$'
EOF

drive page-totals.js
