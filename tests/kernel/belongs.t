#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Where processes belong: the units and containers of a recording are those of the cgroups that its processes were in,
# whichever hierarchy tells, and whether or not they are still there.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$unified" ] || skip_all 'no cgroup v2 is mounted'
id=$(printf 'c0ffee%.0s' {1..10})0123
slice=$unified/wicktest.slice
at_end "rmdir $slice/*; rmdir $slice"
mkdir -p "$slice/web.service" "$slice/docker-$id.scope" "$slice/session-77.scope"

# load_in CGROUP NAME: a load under that name; its pid in $started
load_in() {
	start /dev/null bash -c 'echo $$ >"$1/cgroup.procs" && exec "$2" -n "$3"' - "$1" "$PROGS/shares" "$2"
	wait_for 10 grep -qx "$2" "/proc/$started/comm"
}

# places WHAT: the names in the table of shares, and how many processes are in each
places() {
	"$WICK" report --width 200 --by "$1" "$T/x.wick" | awk '/^$/ { part++ } part == 1 && $1 ~ /%$/ {
		sub(/\[no .*/, "none"); print $3, $2 ~ /^[0-9]/ ? 1 : $2 }' | sort | tr '\n' ' '
}

# units_of REGEX: the table of shares by unit of what runs in such functions: only the programs here have them, and they
# run them after they were put where they belong
units_of() {
	"$WICK" report --width 200 --by unit --focus "$1" "$T/x.wick" >"$T/by.txt"
	awk '/^$/ { part++ } part == 1 && $1 ~ /%$/ { print $3, $1 }' "$T/by.txt"
}

load_in "$slice/web.service" web
web=$started
load_in "$slice/docker-$id.scope" boxed
boxed=$started
load_in "$slice/session-77.scope" typed
typed=$started
load_in "$unified" loose
loose=$started
run "$WICK" record -F 499 -p "$web,$boxed,$typed,$loose" -o "$T/x.wick" 2
is 'runs' "$status" 0
is 'units, and what is in none: a container and a loose one' "$(places unit)" 'none ×2 session-77.scope 1 web.service 1 '
is 'containers, by the short form of their ids' "$(places container)" "${id:0:12} 1 none ×3 "
run "$WICK" report --by unit --focus hot70 --tree "$T/x.wick"
ok 'paths begin with it' grep -qE ' web\.service: .*main' "$T/stdout"
stop "$web" "$boxed" "$typed" "$loose"

# As an option of record
load_in "$slice/web.service" web
run "$WICK" record -F 499 -p "$started" --by unit 1
is 'record --by: exit' "$status" 0
ok 'record --by: the unit' grep -q ' web\.service' "$T/stdout"
stop "$started"

# ---- ended before anyone could ask it ----
run "$WICK" record -F 4999 -o "$T/x.wick" -- bash -c 'echo $$ >"$1/web.service/cgroup.procs" &&
	for i in {1..30}; do "$2/exec-alpha" 1 10 "$2/exec-beta"; done' - "$slice" "$PROGS"
is 'short-lived: runs' "$status" 0
is 'short-lived: all of it is in the unit' "$(units_of 'spin_(alpha|beta)')" 'web.service 100.0%' || diag "$(head -12 "$T/by.txt")"

# ---- the group itself is gone before anything is fetched from the kernel ----

run "$WICK" record -F 999 --drain-ms 600000 -o "$T/x.wick" -- bash -c 'for i in {1..20}; do
		mkdir "$1/brief.service" && bash -c "echo \$\$ >$1/brief.service/cgroup.procs && exec $2/exec-alpha 1 20"
		until rmdir "$1/brief.service" 2>/dev/null; do :; done
	done' - "$slice" "$PROGS"
is 'a group that is gone: runs' "$status" 0
is 'a group that is gone: all of it is in the unit' "$(units_of spin_alpha)" 'brief.service 100.0%' || diag "$(head -12 "$T/by.txt")"

mkdir "$slice/leaves.service"
load_in "$slice/leaves.service" leaves
leaves=$started
start "$T/wick.out" "$WICK" record -F 999 --unwind fp --drain-ms 600000 -p "$leaves" -o "$T/x.wick"
recording=$started
wait_for 20 sampling "$recording"
wait_for 20 burned "$leaves" "$(($(ticks "$leaves") + 10))"
stop "$leaves"
ok 'a group that was there before wick, and is gone: it is so' wait_for 10 rmdir "$slice/leaves.service"
wait_for 20 gone "$recording"
is 'a group that was there before wick, and is gone: its unit' "$(places unit)" 'leaves.service 1 '

# ---- only an older hierarchy tells, as with systemd beside controllers of version 1 ----
named=$(awk '$3 == "cgroup" && $4 ~ /name=systemd/ { print $2; exit }' /proc/mounts)
if [ -n "$named" ]; then
	at_end "rmdir $named/wicktest.slice/*; rmdir $named/wicktest.slice"
	mkdir -p "$named/wicktest.slice/old.service"
	load_in "$named/wicktest.slice/old.service" old
	run "$WICK" record -F 499 -p "$started" -o "$T/x.wick" 1
	is 'version 1: the unit' "$(places unit)" 'old.service 1 '
	stop "$started"
fi

finish
