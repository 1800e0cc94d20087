#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The manual pages against the program: options and examples are those of help, in both directions, every command has a
# page, pages are without errors, and their examples work as typed. Those that sample are run by tests/kernel/man.t, and
# servers by tests/kernel/serve.t. Needs no root.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

pages=$tests_dir/../docs/man

# help_options COMMAND: as tests/manpage prints those of a page
help_options() {
	"$WICK" help "$1" | sed -n '/^options:/,$s/^  *\(-[^ ].*\)/\1/p' | sed 's/   *.*//'
}

# examples: what is typed, from a help text
help_examples() {
	sed -n '/^examples:/,/^$/s/^  \(.*\)/\1/p' | sed 's/   *.*//'
}

commands=$("$WICK" --help | sed -n '/^usage/,/^examples/s/^  \([a-z]*\) .*/\1/p')
is 'every command has a page, and every page a command' "$(cd "$pages" && printf '%s ' wick-*.1)" \
	"$(for command in $commands; do echo "wick-$command.1"; done | sort | tr '\n' ' ')"
for command in $commands; do
	is "$command: options" "$("$tests_dir/manpage" options "$pages/wick-$command.1")" "$(help_options "$command")"
	is "$command: examples" "$("$tests_dir/manpage" examples "$pages/wick-$command.1")" \
		"$("$WICK" help "$command" | help_examples)"
	ok "wick(1) leads to $command" grep -qx "\.Xr wick-$command 1.*" "$pages/wick.1"
done
is 'wick: examples' "$("$tests_dir/manpage" examples "$pages/wick.1")" "$("$WICK" --help | help_examples)"

for page in "$pages"/*.1; do
	is "$(basename "$page"): no errors" "$(groff -mandoc -ww -z -Tutf8 "$page" 2>&1)" ''
	is "$(basename "$page"): every page it leads to is there" "$(sed -n 's/^\.Xr \([^ ]*\) \([0-9]\).*/\1.\2/p' "$page" |
		while read -r name; do [ -e "$pages/$name" ] || echo "$name"; done)" ''
done

# ---- Examples that do not sample ----
mkdir "$T/bin" "$T/here"
ln -s "$(readlink -f "$WICK")" "$T/bin/wick"
cd "$T/here" || exit 1
printf '%s\n' 'cat;main;read;vfs_read_[k] 5' 'cat;main;malloc 3' 'swapper/0;idle_[k] 2' >x.folded
run "$WICK" convert x.folded -o cpu.wick
ok 'a store to ask' "${WICK_TOOLS:-$tests_dir/../build/tests/tools}/mkstore" kept -3h 60 180 x.folded
is 'a profile to work on' "$status $(cat "$T/stderr")" '0 '
ran=0
while IFS= read -r example; do
	# Where the server of this machine keeps things is not for tests to touch.
	case $example in
	*' --from '* | *'wick sql '*) example="$example --data kept" ;;
	esac
	run env PATH="$T/bin:$PATH" bash -c "$example"
	is "$example: exit" "$status" 0 || diag "$(head -3 "$T/stderr")"
	is "$example: no complaint" "$(cat "$T/stderr")" ''
	ran=$((ran + 1))
done < <(for page in "$pages"/*.1; do "$tests_dir/manpage" examples "$page"; done | grep -vE 'wick (record|profile) |wick serve')
ok 'there were some' test "$ran" -ge 8

finish
