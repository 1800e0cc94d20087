#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The page of a server in a real browser: what tests/browser/serve.js does to it in Chromium, without a display. The
# machine that is served is tests/tools/rhythm's, whose work is known to the millisecond. Needs no root.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

export TOOLS=${WICK_TOOLS:-$tests_dir/../build/tests/tools}
export SAVED_FROM=1700000000
cp "$tests_dir/golden/busy.wick" . || exit 1
# Two files of one machine, with a minute between them
"$TOOLS/rhythm" file=saved.wick past=60 from=$SAVED_FROM || exit 1
"$TOOLS/rhythm" file=later.wick past=60 from=$((SAVED_FROM + 120)) || exit 1

drive serve.js
