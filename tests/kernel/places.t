#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# wick starts and works in unfriendly places: in pid and mount namespaces of its own, without tracefs, debugfs,
# /proc/modules, CAP_SYS_RESOURCE, locked memory or a writable /tmp, with only the capabilities it needs, and beside
# another wick.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

hz=999
start /dev/null "$PROGS/shares" -n places
load=$started

# works NAME [WRAPPER...]: wick, started by the wrapper, sees the load as it is. Where that hardly gets a CPU, for longer
works() {
	local name=$1 seconds before
	shift
	for seconds in 1 5 20; do
		rm -f "$T/x.folded" "$T/x.json"
		before=$(ticks "$load")
		run "$@" "$WICK" record -F "$hz" -p "$load" -o "$T/x.folded" --stats "$T/x.json" "$seconds"
		burned "$load" "$((before + 40))" && break
	done
	is "$name: exit" "$status" 0 || diag "$(head -3 "$T/stderr")"
	shares_hold "$name" "$T/x.folded" places "$PROGS/shares"
}

# In a mount namespace of its own, after a command there.
without() {
	local command=$1
	shift
	unshare -m bash -c "mount --make-rprivate /; $command"' && exec "$@"' - "$@"
}

works 'no wrapper'
works 'another mount namespace' without true
works 'no tracefs, no debugfs' without '
	for at in $(awk "\$3 ~ /^(tracefs|debugfs)\$/ { print \$2 }" /proc/mounts | sort -r); do umount -l "$at" || exit 9; done
	! grep -qE " (tracefs|debugfs) " /proc/mounts'
if [ -e /proc/modules ]; then
	works 'an empty /proc/modules' without 'mount --bind /dev/null /proc/modules'
fi # else there is none here anyway
works 'no CAP_SYS_RESOURCE' setpriv --bounding-set -sys_resource --inh-caps -sys_resource
works 'little locked memory' bash -c 'ulimit -l 64 && exec "$@"' -
works 'little locked memory and no CAP_SYS_RESOURCE' setpriv --bounding-set -sys_resource --inh-caps -sys_resource \
	bash -c 'ulimit -l 64 && exec "$@"' -
works 'few open files' bash -c 'ulimit -n 256 && exec "$@"' -
works 'an environment with nothing in it' env -i
works 'no /dev but null' without 'mount -t tmpfs none /dev && mknod /dev/null c 1 3'

# /tmp cannot be written; the output is elsewhere. The scratch folder may be in /tmp: a file system of its own goes there.
mkdir "$T/out"
run unshare -m bash -c '
	mount --make-rprivate / && mount -t tmpfs none "$1/out" && mount --rbind /tmp /tmp && mount -o remount,bind,ro /tmp &&
	! touch /tmp/wick-cannot 2>/dev/null || exit 9
	"$2" record -F 999 -p "$3" -o "$1/out/x.folded" 3 && cat "$1/out/x.folded"' - "$T" "$WICK" "$load"
is '/tmp is read-only: exit' "$status" 0
cp "$T/stdout" "$T/x.folded"
shares_hold '/tmp is read-only' "$T/x.folded" places "$PROGS/shares"

# ---- In a pid namespace of its own: pids are those of that namespace ----
run unshare -pf --mount-proc bash -c '
	"$3/shares" -n inside & inside=$!
	echo "pid $inside"
	"$2" record -F 999 -p "$inside" -o "$1/x.folded" --stats "$1/x.json" 3
	status=$?
	kill -KILL "$inside"
	exit $status' - "$T" "$WICK" "$PROGS"
is 'pid namespace: exit' "$status" 0 || diag "$(cat "$T/stderr")"
inside=$(sed -n 's/^pid //p' "$T/stdout")
shares_hold 'pid namespace' "$T/x.folded" inside "$PROGS/shares"
is 'pid namespace: nobody else' "$(comms "$T/x.folded")" inside
is 'pid namespace: the pid is the one of the namespace' "$(stat_of "$T/x.json" '.processes[0].pid')" "$inside"
run unshare -pf --mount-proc bash -c '
	"$3/shares" -n inside & inside=$!
	"$2" record -F 999 -o "$1/x.folded" --stats "$1/x.json" 1
	status=$?
	kill -KILL "$inside"
	exit $status' - "$T" "$WICK" "$PROGS"
is 'pid namespace, the whole machine: exit' "$status" 0
holds 'pid namespace, the whole machine: those outside are in the profile' "$(folded_sum "$T/x.folded" places) > 0"
is 'pid namespace, the whole machine: with pid 0, because they have none here' \
	"$(stat_of "$T/x.json" '[.processes[] | select(.comm == "places") | .pid] | unique | join(" ")')" 0
run unshare -pf --mount-proc bash -c '
	"$2" record -p '"$load"' -o "$1/y.folded" 1; exit $?' - "$T" "$WICK"
is 'pid namespace: a pid of the outside does not exist' "$status" 1

# The other way round: a process in a namespace, seen from outside by its pid here.
start "$T/ns" unshare -pf --kill-child "$PROGS/shares" -n deep-inside
wait_for 10 pgrep -x deep-inside
deep=$(pgrep -x deep-inside)
namespace=$started
ok 'a process of a child namespace: runs' record_until "$deep" 40 -F "$hz" -p "$deep"
shares_hold 'a process of a child namespace' "$T/x.folded" deep-inside "$PROGS/shares"
stop "$namespace"
if pgrep -x deep-inside >/dev/null; then kill -KILL "$(pgrep -x deep-inside)"; fi

# ---- Only the capabilities that are needed ----
cp "$WICK" "$T/wick"
chmod 755 "$T" "$T/wick"
mkdir "$T/theirs"
chown 65534 "$T/theirs"
caps=+bpf,+perfmon,+sys_ptrace,+dac_read_search,+syslog,+checkpoint_restore
run setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "-all,$caps" --ambient-caps "-all,$caps" --bounding-set "-all,$caps" \
	"$T/wick" record -F "$hz" -p "$load" -o "$T/theirs/x.folded" 1
is 'not root, with six capabilities: exit' "$status" 0 || diag "$(cat "$T/stderr")"
ok 'not root, with six capabilities: a profile' test -s "$T/theirs/x.folded" &&
	shares_hold 'not root, with six capabilities' "$T/theirs/x.folded" places "$PROGS/shares"

# ---- Two at once ----
start "$T/first" "$WICK" record -F "$hz" -p "$load" -o "$T/first.folded" --stats "$T/first.json" 2
first=$started
ok 'two at once: the second runs' record -F "$hz" -p "$load" 2
wait "$first"
is 'two at once: the first runs' "$?" 0
shares_hold 'two at once, the first' "$T/first.folded" places "$PROGS/shares"
shares_hold 'two at once, the second' "$T/x.folded" places "$PROGS/shares"
sums_hold 'two at once, the first' "$T/first.json" "$T/first.folded"
sums_hold 'two at once, the second' "$T/x.json" "$T/x.folded"

# ---- A clock that jumps ----
# The machine's own stays as it is: wick alone sees another one.
faketime=$(find /usr/lib -name libfaketime.so.1 | head -n 1)
uptime() {
	cut -d' ' -f1 /proc/uptime
}
echo +0 >"$T/offset"
before=$(uptime)
export FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_NO_CACHE=1 FAKETIME_TIMESTAMP_FILE=$T/offset
LD_PRELOAD=$faketime record_start -F "$hz" -p "$load" 2
unset FAKETIME_DONT_FAKE_MONOTONIC FAKETIME_NO_CACHE FAKETIME_TIMESTAMP_FILE
wick=$started
ok 'the clock jumps: wick has another one' grep -q libfaketime "/proc/$wick/maps"
echo +3600 >"$T/offset"
wait_for 20 gone "$wick"
after=$(uptime)
wait "$wick"
is 'the clock jumps: exit' "$?" 0
holds 'the clock jumps: the time that went by is the true one' "$(stat_of "$T/x.json" .duration_s) > 1.99 &&
	$(stat_of "$T/x.json" .duration_s) < $after - $before + 0.02"
shares_hold 'the clock jumps' "$T/x.folded" places "$PROGS/shares"
sums_hold 'the clock jumps' "$T/x.json" "$T/x.folded"

finish
