# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the tests in a browser share, beside tests/lib.sh: a browser and what drives it, or a word that there is none;
# files to open. The pictures that they take stay in build/browser, to look at.

# shellcheck source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

CHROMIUM=$(command -v chromium)
browser_dir=${WICK_BUILD:-$tests_dir/../build}/browser
export CHROMIUM WICK NODE_PATH=$browser_dir/node_modules
if [ -z "$CHROMIUM" ] || [ ! -d "$NODE_PATH/playwright-core" ]; then
	skip_all 'no Chromium, or nothing to drive it with: scripts/setup test installs both'
fi
cd "$T" || exit 1

# made FILE OPTION... <FOLDED
made() {
	local file=$1
	shift
	"$WICK" convert - -o "$file" "$@" || exit 1
}

# drive SCRIPT: the script of this folder has the last word
drive() {
	node "$tests_dir/browser/$1" "$T" "$browser_dir"
	exit
}
