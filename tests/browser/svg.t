#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Flame graphs in a real browser: what tests/browser/svg.js does to them in Chromium, without a display. Needs no root.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

made graph.svg <"$tests_dir/golden/stacks.folded"
made inverted.svg --inverted --subtitle 'root on top' <"$tests_dir/golden/stacks.folded"
made fixed.svg --width 800 <"$tests_dir/golden/stacks.folded"
made coloured.svg --bgcolors '#ffffff' <"$tests_dir/golden/stacks.folded"
made shares.svg <<-'EOF'
	app;main;alpha;beta 60
	app;main;alpha;Alpha 10
	app;main;beta;alpha 20
	app;main;gamma 10
EOF
printf '%s\n' 'app;main;grew 10' 'app;main;shrank 50' 'app;main;same 40' >before.folded
printf '%s\n' 'app;main;grew 60' 'app;main;shrank 10' 'app;main;same 40' >after.folded
"$WICK" diff before.folded after.folded -o compared.svg || exit 1
perl -e 'print "app;", join(";", map { "level$_" } 1 .. 120), " 5\napp;side 5\n"' | made tall.svg
{
	printf '%s\n' 'a;<script>window.hit = 1</script>;]]><script>window.hit = 1</script> 50' \
		'a;" onload="window.hit = 1" onmouseover="window.hit = 1;&lt;b&gt;&#60;script&#62; 30' \
		"a;' style='background:url(http://127.0.0.1:9/x)';<image href=\"http://127.0.0.1:9/y\"/> 20"
	printf 'a;\x1b[31mred;\x01\x02;\xff\xfe bad;\xe2\x80\xae rtl;\xef\xbf\xbf 40\n'
} | made hostile.svg --title '<script>window.hit = 1</script>' --notes '--> ]]>' --nametype '"><script>window.hit = 1</script>'
printf '<!DOCTYPE html><title>still</title><img src="graph.svg" width="900"><img src="hostile.svg" width="300">' >still.html

drive svg.js
