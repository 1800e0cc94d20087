#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The page of a running `wick serve`, in a real browser, while programs run whose time is known: what
# tests/browser/serve-real.js does to it in Chromium.

# shellcheck source=../browser/lib.sh
. "$(dirname "$0")/../browser/lib.sh"

cp "$PROGS/tempo" "$T/<b onclick=hit>" || exit 1
"$PROGS/tempo" switch 300 &
children+=($!)
"$PROGS/tempo" beat 300 &
children+=($!)
# shellcheck disable=SC2288 # that is its name
"$T/<b onclick=hit>" spin 300 &
children+=($!)
"$WICK" serve -F 99 --listen 127.0.0.1:0 --data "$T/data" --socket "$T/wick.sock" --window 1 2>"$T/server.err" &
children+=($!)

listens() {
	URL=$(sed -n 's,^wick: listening on \(http://127.0.0.1:[0-9]*\)/.*,\1,p' "$T/server.err")
	[ -n "$URL" ]
}
if ! wait_for 60 listens; then
	diag "wick serve did not start: $(cat "$T/server.err")"
	exit 1
fi
export URL
node "$tests_dir/browser/serve-real.js" "$T" "$browser_dir"
exit
