#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# wick record -- COMMAND: from its first instruction, with its descendants, and its status at the end.

# shellcheck source=lib.sh
. /tests/lib.sh

begin shares -n other
record -- shares -n command -s 2
check "profiles a command" succeeded
check "none but the command" only '^(command|shares|wick);'
check "the command itself" some '^command;'
check "the sums hold" exact
record -- shares -f -n parent -s 2
check "its children too" some '^parent;'
check "children: the sums hold" exact
record -- storm 3 2
check "a storm of forks" only '^(storm|wick);'
check "a storm of forks: the sums hold" exact
end

record -- sh -c 'exit 7'
check "ends with the command's status" [ "$status" -eq 7 ]
record -- true
check "ends well when the command does" [ "$status" -eq 0 ]
# shellcheck disable=SC2016 # the inner shell's pid
record -- sh -c 'kill -9 $$'
check "says by which signal the command died" [ "$status" -eq 137 ]
