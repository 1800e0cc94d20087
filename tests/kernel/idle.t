#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is not work is left out and counted as such: idle time, unless -I; wick's own work, unless --self. What is work
# stays, though nobody seems to do it: softirqs on an idle CPU, kernel threads.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

# What the machine itself says about its idle time, in hundredths. One CPU: idle ones that were hot-plugged may not tick.
idle_ticks() {
	awk '/^cpu0 / { print $5 + $6, $2 + $3 + $4 + $5 + $6 + $7 + $8 }' /proc/stat
}

# Has the CPU nothing to do for a part of the time? On a machine with other work, that may come.
idles() {
	local before after
	before=$(idle_ticks)
	read -rt 0.5 <> <(:)
	after=$(idle_ticks)
	[ "$((${after% *} - ${before% *}))" -ge 15 ]
}

# On a machine that is never idle, other work is kept off that CPU for as long as the test lasts: by a partition of the
# cgroup tree, or in the older hierarchy by moving what is in its root. Needs another CPU for all of it.
group=
make_idle() {
	local all=/sys/fs/cgroup old=/sys/fs/cgroup/cpuset rest task _
	idles || wait_for 30 idles && return
	rest=$(sed 's/^0-1$/1/; s/^0-/1-/; s/^0,//' /sys/devices/system/cpu/online)
	if [ "$rest" = 0 ] || [ -n "$group" ]; then
		return
	elif grep -qw cpuset "$all/cgroup.controllers" 2>/dev/null; then
		group=$all/wick-idle.$$
		at_end "echo member >$group/cpuset.cpus.partition; rmdir $group"
		echo +cpuset >"$all/cgroup.subtree_control"
		mkdir "$group" && echo 0 >"$group/cpuset.cpus" && echo root >"$group/cpuset.cpus.partition"
	elif [ -e "$old/tasks" ]; then
		group=$old/wick-rest.$$
		at_end "for _ in 1 2 3; do while read -r t; do echo \$t >$old/tasks; done <$group/tasks; done; rmdir $group"
		mkdir "$group" && echo "$rest" >"$group/cpuset.cpus" && cat "$old/cpuset.mems" >"$group/cpuset.mems"
		for _ in 1 2 3; do # what is started meanwhile is met the next time
			while read -r task; do echo "$task" >"$group/tasks"; done 2>/dev/null <"$old/tasks"
		done
	fi
	wait_for 30 idles
}

make_idle
before=$(idle_ticks)
ok 'idle: runs' record -F 499 -C 0 2
after=$(idle_ticks)
sums_hold 'idle' "$T/x.json" "$T/x.folded"
is 'idle: the idle task is not in the profile' "$(grep -cE '^swapper.*;(default_idle|pv_native_safe_halt|cpu_startup_entry|do_idle)_\[k\] [0-9]+$' <(symbolize -k <"$T/x.folded"))" 0
idle=$(stat_of "$T/x.json" .left_out.idle)
holds 'idle: as much was left out as the machine was idle' "
	my (\$a, \$b) = ([qw($before)], [qw($after)]);
	abs($idle / $(stat_of "$T/x.json" .fired) - (\$b->[0] - \$a->[0]) / (\$b->[1] - \$a->[1])) < 0.15"

make_idle
ok '-I: runs' record -F 499 -C 0 -I 2
sums_hold '-I' "$T/x.json" "$T/x.folded"
is '-I: nothing left out as idle' "$(stat_of "$T/x.json" .left_out.idle)" 0
holds '-I: the idle task is in the profile' "$(awk '/^swapper/ { n += $NF } END { print n + 0 }' "$T/x.folded") > 0"
holds '-I: all ticks become samples, but for our own' \
	"$(stat_of "$T/x.json" .samples.taken) == $(stat_of "$T/x.json" .fired) - $(stat_of "$T/x.json" .left_out.self)"

# ---- wick's own work: a drain every millisecond is plenty of it ----
# Under a name of its own: another wick is not itself.
cp "$WICK" "$T/wick-self"
WICK=$T/wick-self
start /dev/null "$PROGS/storm" 8 2
load=$started
ok 'self: runs' record -F 1999 --drain-ms 1 2
is 'self: not in the profile' "$(folded_sum "$T/x.folded" wick-self)" 0
holds 'self: left out, and counted' "$(stat_of "$T/x.json" .left_out.self) > 0"
ok '--self: runs' record -F 1999 --drain-ms 1 --self 2
sums_hold '--self' "$T/x.json" "$T/x.folded"
is '--self: nothing left out' "$(stat_of "$T/x.json" .left_out.self)" 0
holds '--self: in the profile' "$(folded_sum "$T/x.folded" wick-self) > 0"
stop "$load"

# ---- softirq work on an idle CPU: packets steered to it, that nobody reads ----
steer=/sys/class/net/lo/queues/rx-0/rps_cpus
if [ -w "$steer" ] && [ "$(getconf _NPROCESSORS_ONLN)" -ge 2 ]; then
	at_end "echo $(cat "$steer") >$steer"
	ip link set lo up 2>/dev/null || ifconfig lo up 2>/dev/null
	echo 1 >"$steer"
	start /dev/null "$PROGS/udpflood" 1
	make_idle
	for _ in 1 2 3 4 5 6; do # until that CPU has no other work
		ok 'softirq: runs' record -F 1499 -C 0 1
		symbolize -k <"$T/x.folded" >"$T/named"
		softirq=$(awk '/^swapper.*(net_rx_action|process_backlog|__napi_poll)/ { n += $NF } END { print n + 0 }' "$T/named")
		[ "$softirq" -gt 20 ] && break
	done
	stop "$started"
	holds 'softirq: work done while idle is in the profile' "$softirq > 20"
	sums_hold 'softirq' "$T/x.json" "$T/x.folded"
else
	skip 'softirq' 'packets cannot be steered here'
fi

# ---- kernel threads are samples like any other ----
start /dev/null bash -c 'while :; do dd if=/dev/zero of="$1/f" bs=1M count=64 conv=fsync; done' - "$T"
ok 'kernel threads: runs' record -F 1999 2
stop "$started"
ok 'kernel threads: in the profile, with kernel frames only' \
	grep -qE '^(kworker|ksoftirqd|rcu_|kswapd|jbd2|migration)[^;]*;[^;]*_\[k\]' "$T/x.folded"

finish
