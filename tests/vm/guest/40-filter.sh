#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# Each filter lets through what was asked for, all of it and nothing else.

# shellcheck source=lib.sh
. /tests/lib.sh

cgroup=/sys/fs/cgroup/wick-test
mkdir -p $cgroup/below

begin taskset 1 shares
first=$begun
begin taskset 2 shares -n second
second=$begun
begin taskset 2 shares -j 2 -n third
third=$begun
echo "$second" >$cgroup/below/cgroup.procs

# filtered WHAT PATTERN PIDS ARGUMENT...
filtered() {
	what=$1 pattern=$2 pids=$3
	shift 3
	record "$@" 2
	check "$what" succeeded
	check "$what: nothing else" only "$pattern"
	check "$what: the right processes" [ "$(pids)" = "$pids" ]
	check "$what: the others are left out" at_least 1 left_out.filter
	check "$what: the sums hold" exact
}

# thread PID: the first of its threads that is not the main one
thread() {
	for task in "/proc/$1/task"/*; do
		[ "${task##*/}" = "$1" ] || echo "${task##*/}"
	done | sort -n | head -n 1
}

filtered "-p" '^shares;' "$first" -p "$first"
filtered "-p of two" '^(shares|second);' "$first $second" -p "$first,$second"
filtered "-n" '^second;' "$second" -n second
filtered "-t" '^shares-t0;' "$third" -t "$(thread "$third")"
filtered "--cgroup, and what is below it" '^second;' "$second" --cgroup $cgroup
record -C 0 2
check "-C: one CPU" succeeded
check "-C: what runs there" some '^shares;'
check "-C: not what runs elsewhere" none '^(second|shares-t[01]);'
check "-C: the sums hold" exact
end

# A process id is the caller's, also where the caller has a name space of its own.
begin shares -n outside
# shellcheck disable=SC2016 # for the inner shell
unshare -p -f -m --mount-proc sh -c '
	. /tests/lib.sh
	begin shares
	record -p "$begun" 2
	check "a pid name space: -p" only "^shares;"
	check "a pid name space: the pid is the one seen there" [ "$(pids)" = "$begun" ]
	check "a pid name space: the sums hold" exact
	end
'
end
rmdir $cgroup/below $cgroup
