#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tab in bash: the script that wick prints is sourced and asked as bash would ask it. Needs no root.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

run "$WICK" completion bash
is 'completion bash: exit' "$status" 0
is 'completion bash: nothing on standard error' "$(cat "$T/stderr")" ''
ok 'completion bash: good shell' shellcheck --shell=bash "$T/stdout"
# shellcheck source=/dev/null
. "$T/stdout"
is 'the function is tied to wick' "$(complete -p wick)" 'complete -F _wick wick'

# completes NAME WANTED WORD...: the last word is the one the cursor is at
completes() {
	local name=$1 wanted=$2
	shift 2
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_wick
	is "$name" "${COMPREPLY[*]}" "$wanted"
}

# has NAME WANTED WORD...: it is one of them
has() {
	local name=$1 wanted=$2 one
	shift 2
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_wick
	for one in "${COMPREPLY[@]}"; do
		if [ "$one" = "$wanted" ]; then
			pass "$name"
			return
		fi
	done
	flunk "$name"
	diag "'$wanted' is not in: ${COMPREPLY[*]}"
}

mkdir "$T/files" "$T/files/sub dir"
: >"$T/files/a b.wick"
cd "$T/files" || exit 1

completes 'a command' record wick rec
has 'every command: profile' profile wick ''
has 'every command: convert' convert wick ''
has 'every command: help' help wick ''
completes '--version' --version wick --v
completes 'what to help with' profile wick help pro
completes 'which shell' bash wick completion ''
completes 'no such command' '' wick nope ''
completes 'a long option' --frequency wick record --fr
completes 'three of them' '--self --stats --subtitle' wick record --s
has 'a letter' -F wick record -
has 'profile has its own' --user-stacks-only wick profile --
completes 'what is not shown in help is not offered' '' wick record --no-
completes 'a word for a value' folded wick record -f fo
completes 'a word for a value behind =' folded wick record --format = fo
completes 'all words for a value behind =' 'cpu-clock cycles' wick record --event =
completes 'a number cannot be guessed' '' wick record -F ''
completes 'seconds cannot be guessed' '' wick record ''
has 'a pid' "$$" wick record -p "$$"
has 'a pid behind a comma' "1,$$" wick record -p "1,$$"
completes 'a CPU' 0 wick record -C 0
completes 'a file, with a blank' 'a b.wick' wick convert a
completes 'files for merge' 'a b.wick' wick merge a
completes 'files for diff' 'a b.wick' wick diff 'a b.wick' a
completes 'a file for an option' 'a b.wick' wick record -o a
completes 'a folder, and no file' 'sub dir' wick record --cgroup ''
completes 'behind -- it is for others' '' wick record -- --fr

# Options and values are those of help, for every command.
commands=$("$WICK" --help | sed -n '/^usage/,/^examples/s/^  \([a-z]*\) .*/\1/p')
is 'the commands' "${commands//$'\n'/ }" 'record profile report convert merge diff serve sql'
for command in $commands; do
	COMP_WORDS=(wick "$command" -)
	COMP_CWORD=2
	COMPREPLY=()
	_wick
	is "$command: the options of its help" "$(printf '%s\n' "${COMPREPLY[@]}" | sort)" \
		"$("$WICK" help "$command" | sed -n '/^options:/,$s/^  \(  *\|\)\(-.*\)/\2/p' |
			sed -E 's/^((-[A-Za-z])(, )?)?(--[a-z-]+)?.*/\2\n\4/' | sed '/^$/d' | sort)"
done

run "$WICK" completion zsh
is 'another shell: exit' "$status" 2
ok 'another shell: one line' grep -qx 'wick: completion: of which shell?: there is wick completion bash' "$T/stderr"
run "$WICK" completion
is 'no shell: exit' "$status" 2

finish
