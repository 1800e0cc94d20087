#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is not work is left out and counted as such: idle time, unless -I; wick's own work, unless --self. What is work
# stays, though nobody seems to do it: softirqs on an idle CPU, kernel threads.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

# idle_ticks CPU: what the machine itself says about its idle time, in hundredths
idle_ticks() {
	awk -v cpu="cpu$1" '$1 == cpu { print $5 + $6, $2 + $3 + $4 + $5 + $6 + $7 + $8 }' /proc/stat
}

# idles CPU: has it nothing to do for a part of the time? On a machine with other work, that may come.
idles() {
	local before after
	before=$(idle_ticks "$1")
	read -rt 0.5 <> <(:)
	after=$(idle_ticks "$1")
	[ "$((${after% *} - ${before% *}))" -ge 15 ]
}

# make_idle CPU: on a machine that is never idle, other work is kept off that CPU for as long as the test lasts: by a
# partition of the cgroup tree, or in the older hierarchy by moving what is in its root. Needs another CPU for all of it.
# What is to run on that CPU all the same has its place in $tasks.
group=
tasks=/dev/null
make_idle() {
	local all=/sys/fs/cgroup old=/sys/fs/cgroup/cpuset rest task _
	idles "$1" || wait_for 30 idles "$1" && return
	rest=$(perl -e 'print join ",", grep { $_ != $ARGV[0] } map { /(\d+)-(\d+)/ ? $1 .. $2 : $_ + 0 } split /,/, <STDIN>' \
		"$1" </sys/devices/system/cpu/online)
	if [ -z "$rest" ]; then
		return
	elif grep -qw cpuset "$all/cgroup.controllers" 2>/dev/null; then
		if [ -z "$group" ]; then
			group=$all/wick-idle.$$
			at_end "echo member >$group/cpuset.cpus.partition; rmdir $group"
			echo +cpuset >"$all/cgroup.subtree_control"
			mkdir "$group"
		fi
		tasks=$group/cgroup.procs
		echo "$1" >"$group/cpuset.cpus" && echo root >"$group/cpuset.cpus.partition"
	elif [ -e "$old/tasks" ]; then
		if [ -z "$group" ]; then
			group=$old/wick-rest.$$
			at_end "until rmdir $group || ((++tries > 20)); do while read -r t; do echo \$t >$old/tasks; done <$group/tasks; done"
			mkdir "$group" && cat "$old/cpuset.mems" >"$group/cpuset.mems"
		fi
		tasks=$old/tasks
		echo "$rest" >"$group/cpuset.cpus"
		for _ in 1 2 3; do # what is started meanwhile is met the next time
			while read -r task; do echo "$task" >"$group/tasks"; done 2>/dev/null <"$old/tasks"
		done
	fi
	wait_for 30 idles "$1"
}

# start_there COMMAND...: in the background, where it may go to the CPU that others are kept off
start_there() {
	start /dev/null bash -c 'echo $$ >"$1"; shift; exec "$@"' - "$tasks" "$@"
}

# CPU 0: others that were hot-plugged may not tick while they are idle.
# passed CPU TICKS: has it got so far?
passed() {
	local ticks
	ticks=$(idle_ticks "$1")
	[ "${ticks#* }" -ge "$2" ]
}

# The machine is asked while it is sampled: before and after that, wick itself works.
# A quarter of the time has work, so that not all of it is left out.
make_idle 0
start_there "$PROGS/periodic" 10 60 0
work=$started
record_start -F 499 -C 0
wick=$started
before=$(idle_ticks 0)
wait_for 20 passed 0 "$((${before#* } + 200))"
after=$(idle_ticks 0)
end "$wick"
is 'idle: runs' "$status" 0
stop "$work"
sums_hold 'idle' "$T/x.json" "$T/x.folded"
is 'idle: the idle task is not in the profile' "$(grep -cE '^swapper.*;(default_idle|pv_native_safe_halt|cpu_startup_entry|do_idle)_\[k\] [0-9]+$' <(symbolize -k <"$T/x.folded"))" 0
idle=$(stat_of "$T/x.json" .left_out.idle)
holds 'idle: as much was left out as the machine was idle' "
	my (\$a, \$b) = ([qw($before)], [qw($after)]);
	abs($idle / $(stat_of "$T/x.json" .fired) - (\$b->[0] - \$a->[0]) / (\$b->[1] - \$a->[1])) < 0.15"

make_idle 0
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
	make_idle 0
	for _ in {1..20}; do # until that CPU has no other work
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

# ---- An idle CPU misses nothing, be it that it does not tick. What happens to its work is another matter. ----
last=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)
missed() {
	stat_of "$T/x.json" .missed
}

make_idle "$last"
start_there "$PROGS/periodic" 3 60 "$last"
for _ in 1 2 3; do # others may disturb
	before=$(stolen)
	ok 'gaps that are idle time: runs' record -C "$last" 3
	after=$(stolen)
	diag "ticks: $(stat_of "$T/x.json" '"\(.fired) of \(.expected), \(.left_out.idle) idle, \(.missed) missed"')"
	[ "$(missed)" -le 8 ] && break
done
stop "$started"
# What was stolen did not tick
holds 'gaps that are idle time: nothing is missed' "$(missed) <= 0.03 * $(stat_of "$T/x.json" .expected) + 99 * ($after - $before)"

start_there nice -n -20 "$PROGS/blind" "$last" 200 200
ok 'gaps in work beside idle time: runs' record -F 499 -C "$last" 3
stop "$started"
diag "ticks: $(stat_of "$T/x.json" '"\(.fired) of \(.expected), \(.left_out.idle) idle, \(.missed) missed"')"
holds 'gaps in work beside idle time: missed' "$(missed) > 0.02 * $(stat_of "$T/x.json" .expected)"
holds 'gaps in work beside idle time: no more than came not' \
	"$(missed) + $(stat_of "$T/x.json" .fired) < 1.03 * $(stat_of "$T/x.json" .expected)"

finish
