#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The page in a real browser: what tests/browser/page.js does to it in Chromium, without a display.
# Needs no root.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

cp "$tests_dir/golden/busy.wick" . || exit 1
"$WICK" convert busy.wick -o busy.html || exit 1
printf '%s\n' 'app;main;grew 100' 'app;main;shrank 500' 'app;main;same 400' 'app;main;rare 2' >before.folded
printf '%s\n' 'app;main;grew 600' 'app;main;shrank 100' 'app;main;same 400' 'app;main;rare 3' >after.folded
"$WICK" diff before.folded after.folded -o compared.html || exit 1
"$WICK" convert busy.wick -o busy.pb.gz && "$WICK" diff --type cpu busy.pb.gz busy.pb.gz -o times.html || exit 1
made empty.html <<<'sh;main 0'
made one.html <<<'sh;main 1'
printf '%s\n' 'a;x 30' 'a;y 26' 'a;z 10' 'b;w 33' 'c;w 0' 'c;v 1' | made elsewhere.html
made sources.html <<'END'
{"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [
	{"name": "main", "file": "src/app.c", "line": 12}, {"name": "work", "file": "src/work.c", "line": 40}]},
"profiles": [{"type": "sampled", "name": "p", "unit": "none", "startValue": 0, "endValue": 5, "samples": [[0, 1]], "weights": [5]}]}
END
perl -e 'print "app;", join(";", map { "level$_" } 1 .. 1024), " 5\napp;side 5\n"' | made deep.html
perl -e 'print "app;", "x" x 100_000, ";", "y" x 100_000, " 3\n"' | made long.html
{
	printf '%s\n' 'a;<script>window.hit = 1</script>;</script><script>window.hit = 1</script> 50' \
		'a;<img src=x onerror="window.hit=1">;" onload="window.hit = 1;&lt;b&gt;&#60;script&#62; 30' \
		"a;' style='background:url(http://127.0.0.1:9/x)';<image href=\"http://127.0.0.1:9/y\"/>;\${window.hit = 1} 20" \
		'<b onclick=window.hit=1>;javascript:window.hit=1;__proto__;constructor;toString 10'
	printf 'a;\x1b[31mred;\x01\x02;\xff\xfe bad;\xe2\x80\xae rtl;\xef\xbf\xbf 40\n'
} | made hostile.html
perl -e 'srand 1; for my $i (0 .. 999_999) { print join(";", "p" . $i % 7, map { "f" . int(rand(20 * $_)) } 1 .. 6), ";u$i 1\n" }' >million.folded
"$WICK" convert million.folded -o million.html || exit 1
perl -0pe 's{(id="data">.{400}).{40}}{$1 . "A" x 40}es' busy.html >damaged.html
perl -0pe 's{(id="data">.{400})[^<]*}{$1}s' busy.html >cut.html
perl -0pe 's{(id="data">).{4}}{$1!!!!}s' busy.html >nonsense.html

drive page.js
