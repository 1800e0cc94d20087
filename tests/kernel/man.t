#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The examples of the manual pages that sample work as typed, but for their times, which are made short, PID, which is
# a process of this test, and HOST, which is this machine. One that has no end is interrupted.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

pages=$tests_dir/../docs/man

start /dev/null "$PROGS/shares" -n subject
load=$started
mkdir "$T/bin" "$T/here"
ln -s "$(readlink -f "$WICK")" "$T/bin/wick"
cat >"$T/bin/ssh" <<'SSH'
#!/bin/sh
shift
exec "$@"
SSH
chmod +x "$T/bin/ssh"
cd "$T/here" || exit 1
printf 'all:\n\t@:\n' >Makefile

ran=0
while IFS= read -r example; do
	typed=$(sed -E "s/ [1-9][0-9]*( >.*)?\$/ 1\\1/; s/\\bPID\\b/$load/" <<<"$example")
	# shellcheck disable=SC2001
	typed=$(sed 's/\bwick /timeout --foreground --preserve-status -s INT 8 wick /' <<<"$typed")
	rm -f -- *.wick *.folded *.svg *.html
	run env PATH="$T/bin:$PATH" bash -c "$typed"
	is "$example: exit" "$status" 0 || diag "$(head -3 "$T/stderr")"
	is "$example: no complaint" "$(grep -vE '^wick: (note: about [0-9]+ of [0-9]+ ticks were missed|warning: )' "$T/stderr")" ''
	file=$(grep -oE '[a-z]+\.(wick|folded|svg|html)' <<<"$example")
	[ -z "$file" ] || ok "$example: $file is there" test -s "$file"
	[ -n "$file" ] || ok "$example: something is printed" test -s "$T/stdout"
	ran=$((ran + 1))
done < <(for page in "$pages"/*.1; do "$tests_dir/manpage" examples "$page"; done | grep -E 'wick (record|profile) ' | sort -u)
ok 'there were some' test "$ran" -ge 8

finish
