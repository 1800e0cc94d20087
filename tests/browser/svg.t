#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Flame graphs in a real browser: what tests/browser/svg.js does to them in Chromium, without a display. Needs no root.
# The pictures it takes stay in build/browser, to look at.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

CHROMIUM=$(command -v chromium)
export CHROMIUM NODE_PATH=${WICK_BUILD:-$tests_dir/../build}/browser/node_modules
if [ -z "$CHROMIUM" ] || [ ! -d "$NODE_PATH/playwright-core" ]; then
	skip_all 'no Chromium, or nothing to drive it with: scripts/setup test installs both'
fi

cd "$T" || exit 1
# graph FILE OPTION... <FOLDED
graph() {
	local file=$1
	shift
	"$WICK" convert - -o "$file" "$@" || exit 1
}

graph graph.svg <"$tests_dir/golden/stacks.folded"
graph inverted.svg --inverted --subtitle 'root on top' <"$tests_dir/golden/stacks.folded"
graph fixed.svg --width 800 <"$tests_dir/golden/stacks.folded"
graph coloured.svg --bgcolors '#ffffff' <"$tests_dir/golden/stacks.folded"
graph shares.svg <<-'EOF'
	app;main;alpha;beta 60
	app;main;alpha;Alpha 10
	app;main;beta;alpha 20
	app;main;gamma 10
EOF
printf '%s\n' 'app;main;grew 10' 'app;main;shrank 50' 'app;main;same 40' >before.folded
printf '%s\n' 'app;main;grew 60' 'app;main;shrank 10' 'app;main;same 40' >after.folded
"$WICK" diff before.folded after.folded -o compared.svg || exit 1
perl -e 'print "app;", join(";", map { "level$_" } 1 .. 120), " 5\napp;side 5\n"' | graph tall.svg
{
	printf '%s\n' 'a;<script>window.hit = 1</script>;]]><script>window.hit = 1</script> 50' \
		'a;" onload="window.hit = 1" onmouseover="window.hit = 1;&lt;b&gt;&#60;script&#62; 30' \
		"a;' style='background:url(http://127.0.0.1:9/x)';<image href=\"http://127.0.0.1:9/y\"/> 20"
	printf 'a;\x1b[31mred;\x01\x02;\xff\xfe bad;\xe2\x80\xae rtl;\xef\xbf\xbf 40\n'
} | graph hostile.svg --title '<script>window.hit = 1</script>' --notes '--> ]]>' --nametype '"><script>window.hit = 1</script>'
printf '<!DOCTYPE html><title>still</title><img src="graph.svg" width="900"><img src="hostile.svg" width="300">' >still.html

node "$tests_dir/browser/svg.js" "$T" "${WICK_BUILD:-$tests_dir/../build}/browser"
exit
