#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that spends 70, 20 and 10 percent of its time in three functions, each reached by a path of its own, is
# seen so through every filter, and nobody else is in the profile.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

hz=1499
enough=75 # hundredths of a second of CPU time

# only NAME COMM...: no other names in the profile than these
only() {
	local name=$1
	shift
	is "$name: nobody else" "$(comms "$T/x.folded" | tr '\n' ' ')" "$(printf '%s\n' "$@" | sort | tr '\n' ' ')"
}

# Another load of the same kind that no filter below asks for, so that there is somebody to leave out.
start /dev/null "$PROGS/shares-pad" -n bystander
bystander=$started

start /dev/null "$PROGS/shares" -n by-pid-fifteen-
ok '-p: runs' record_until "$started" "$enough" -F "$hz" -p "$started"
shares_hold '-p' "$T/x.folded" by-pid-fifteen- "$PROGS/shares"
only '-p' by-pid-fifteen-
sums_hold '-p' "$T/x.json" "$T/x.folded"
holds '-p: the bystander was left out by the filter' "$(stat_of "$T/x.json" .left_out.filter) > 0"
is '-p: the process is listed with its program' \
	"$(stat_of "$T/x.json" ".processes[] | select(.pid == $started) | .comm + \" \" + .exe")" \
	"by-pid-fifteen- $(readlink -f "$PROGS/shares")"

ok '-p with two pids: runs' record_until "$started,$bystander" "$enough" -F "$hz" -p "$started,$bystander"
shares_hold '-p with two pids' "$T/x.folded" by-pid-fifteen- "$PROGS/shares"
shares_hold '-p with two pids, the second' "$T/x.folded" bystander "$PROGS/shares-pad"
only '-p with two pids' by-pid-fifteen- bystander

ok '-n: runs' record_until "$started" "$enough" -F "$hz" -n by-pid-fifteen-
shares_hold '-n' "$T/x.folded" by-pid-fifteen- "$PROGS/shares"
only '-n' by-pid-fifteen-
ok '-n, more than the kernel keeps of a name: runs' record -F "$hz" -n by-pid-fifteen-and-more 0.5
only '-n, more than the kernel keeps of a name' by-pid-fifteen-
stop "$started"

start /dev/null "$PROGS/shares" -j 2
threads=$started
# tid_of PID NAME
tid_of() {
	grep -lx "$2" "/proc/$1/task/"*/comm | cut -d/ -f5 | grep .
}
wait_for 10 tid_of "$threads" shares-t1
tid=$(tid_of "$threads" shares-t1)
ok '-t: runs' record_until "$threads" $((2 * enough)) -F "$hz" -t "$tid"
shares_hold '-t' "$T/x.folded" shares-t1 "$PROGS/shares"
only '-t' shares-t1
ok '-p with threads: runs' record_until "$threads" $((2 * enough)) -F "$hz" -p "$threads"
shares_hold '-p with threads, the first' "$T/x.folded" shares-t0 "$PROGS/shares"
shares_hold '-p with threads, the second' "$T/x.folded" shares-t1 "$PROGS/shares"
only '-p with threads' shares-t0 shares-t1
stop "$threads"

cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ -n "$cgroups" ]; then
	group=$cgroups/wick-test-$$
	at_end "rmdir '$group/below' '$group'"
	at_end "while read -r pid; do kill -KILL \$pid; done <'$group/below/cgroup.procs'; wait"
	mkdir -p "$group/below"
	start /dev/null bash -c 'echo $$ >"$1/below/cgroup.procs" && exec "$2" -n in-group' - "$group" "$PROGS/shares"
	wait_for 10 grep -q in-group "/proc/$started/comm"
	ok '--cgroup, one above it: runs' record_until "$started" "$enough" -F "$hz" --cgroup "$group"
	shares_hold '--cgroup' "$T/x.folded" in-group "$PROGS/shares"
	only '--cgroup' in-group
	# A group of that name's beginning is another group.
	mkdir "$group/bel"
	at_end "rmdir '$group/bel'"
	ok '--cgroup, an empty one beside it: runs' record -F "$hz" --cgroup "$group/bel" 0.5
	is '--cgroup, an empty one beside it: nothing' "$(stat_of "$T/x.json" .samples.taken)" 0
	stop "$started"
else
	skip '--cgroup' 'no v2 hierarchy is mounted'
fi
stop "$bystander"

start /dev/null taskset -c 0 "$PROGS/shares" -n on-cpu0
first=$started
start /dev/null taskset -c 1 "$PROGS/shares-pad" -n on-cpu1
ok '-C: runs' record_until "$started" "$enough" -F "$hz" -C 1
shares_hold '-C' "$T/x.folded" on-cpu1 "$PROGS/shares-pad"
is '-C: nothing of the other CPU' "$(folded_sum "$T/x.folded" on-cpu0)" 0
holds '-C: one CPU was expected to tick' \
	"abs($(stat_of "$T/x.json" .expected) - $hz * $(stat_of "$T/x.json" .duration_s)) < 0.1 * $hz"
stop "$first" "$started"

start /dev/null "$PROGS/shares" -f
parent=$started
# ended_children PID TICKS: has what they did, those that have ended, come to so much?
ended_children() {
	[ "$(awk '{ print $16 + $17 }' "/proc/$1/stat")" -ge "$2" ]
}
record_start -F "$hz" -p "$parent" --children
wait_for 120 ended_children "$parent" "$(($(awk '{ print $16 + $17 }' "/proc/$parent/stat") + 100))"
end "$started"
is '--children: runs' "$status" 0
started=$parent
shares_hold '--children' "$T/x.folded" shares "$PROGS/shares"
only '--children' shares
holds '--children: several of them' "$(stat_of "$T/x.json" '[.processes[] | select(.comm == "shares")] | length') >= 4"
ok 'the parent alone: runs' record -F "$hz" -p "$started" 0.5
holds 'the parent alone: hardly a sample, its children do the work' "$(stat_of "$T/x.json" .samples.taken) < 0.1 * $hz"
stop "$started"

before=$(stolen)
run "$WICK" record -F "$hz" -o "$T/x.folded" --stats "$T/x.json" -- "$PROGS/shares" -s 1 -x 7
after=$(stolen)
is '-- COMMAND: its exit status' "$status" 7
shares_hold '-- COMMAND' "$T/x.folded" shares "$PROGS/shares"
cpu=$(sed -n 's/^cpu //p' "$T/stdout")
holds '-- COMMAND: its output is its own' "${cpu:-0} >= 1"
as_many '-- COMMAND: all of its time was seen' "$(folded_sum "$T/x.folded" shares)" "$hz" "${cpu:-0}" \
	"$(sed -n 's/^seconds //p' "$T/stdout")" "($after - $before)" 0.05
run "$WICK" record -F "$hz" -o "$T/x.folded" --stats "$T/x.json" -- "$PROGS/shares" -s 1 -f
is '-- COMMAND with children: exit status' "$status" 0
shares_hold '-- COMMAND with children' "$T/x.folded" shares "$PROGS/shares"
run "$WICK" record -o "$T/x.folded" -- sh -c 'kill -TERM $$'
is '-- COMMAND that dies by a signal: as a shell says it' "$status" 143
run "$WICK" record -o "$T/x.folded" -- "$T/no-such-command"
is '-- COMMAND that is not there' "$status" 1
ok '-- COMMAND that is not there: says so' grep -qE '^wick: .*no-such-command' "$T/stderr"

finish
