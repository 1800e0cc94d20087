#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
#
# wick.service as it was installed, under a systemd that started it at boot: that it comes up, answers, sees everything,
# has the rights it should have and no others, ends well, and comes back by itself.

# shellcheck source=../guest/lib.sh
. /tests/lib.sh

exec >/dev/ttyS1 2>/dev/console
stty -F /dev/ttyS1 -opost 2>/dev/null
export PATH=/usr/local/bin:/bin

cgroup=/sys/fs/cgroup/system.slice/wick.service
url=http://127.0.0.1:7777
# CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYSLOG, CAP_PERFMON, CAP_BPF, CAP_CHECKPOINT_RESTORE
sampling=000001c400080004
admin=0000000000200000
none=0000000000000000

# until_it SECONDS COMMAND...: tries again until it succeeds, or fails when the time is over.
until_it() {
	deadline=$(($(cut -d . -f 1 /proc/uptime) + $1))
	shift
	until "$@"; do
		[ "$(cut -d . -f 1 /proc/uptime)" -lt "$deadline" ] || return 1
		usleep 200000
	done
}

show() {
	systemctl show -P "$1" wick
}

# is NAME VALUE: a property of the service.
is() {
	echo "$1=$(show "$1")"
	[ "$(show "$1")" = "$2" ]
}

active() {
	systemctl is-active -q wick
}

# process NAME: one of the service's processes.
process() {
	# shellcheck disable=SC2046 # a list
	grep -lx "$1" $(sed 's,.*,/proc/&/comm,' "$cgroup/cgroup.procs") 2>/dev/null | cut -d / -f 3
}

# has PROCESS FIELD VALUE: a line of its status.
has() {
	grep -E "^(Name|Cap|Uid|NoNewPrivs|Seccomp)" "/proc/$(process "$1")/status"
	[ "$(awk -v field="$2:" '$1 == field { print $2 }' "/proc/$(process "$1")/status")" = "$3" ]
}

# rights PROCESS CAPABILITIES: these and no more, with no way to more.
rights() {
	has "$1" CapEff "$2" && has "$1" CapPrm "$2" && has "$1" NoNewPrivs 1 && has "$1" Seccomp 2 &&
		! has "$1" Uid 0
}

# urgent PROCESS NICE
urgent() {
	cat "/proc/$(process "$1")/stat"
	[ "$(sed 's/.*) //' "/proc/$(process "$1")/stat" | cut -d ' ' -f 17)" -eq "$2" ]
}

answers() {
	[ "$(timeout 10 wget -q -O - "$url$1")" = "$2" ]
}

# reports PATTERN [ARGUMENT...]: what the running service says, asked over its socket.
reports() {
	pattern=$1
	shift
	wick report --from -1m "$@" >/tmp/report && grep -E "$pattern" /tmp/report
}

ask() {
	wick sql -f csv "$1" | tail -n 1
}

windows() {
	ask "SELECT count(*) FROM windows WHERE level = 'window'"
}

# more_windows THAN
more_windows() {
	[ "$(windows)" -gt "$1" ]
}

mode() {
	stat -L -c '%a %u' "$2"
	[ "$(stat -L -c %a "$2")" = "$1" ]
}

# inside COMMAND...: with the service's eyes.
inside() {
	nsenter -t "$(show MainPID)" -m -- "$@"
}

restarted() {
	active && [ "$(show MainPID)" != "$1" ] && is NRestarts "$2" && answers /readyz '{"status":"ready"}'
}

echo wick-vm-begin
check "systemd is the first process" grep -qx systemd /proc/1/comm
check "the service is active" until_it 120 active
check "since it said so" [ "$(show Type) $(show StatusText)" = 'notify Sampling' ]
check "no start failed" is NRestarts 0

# ---- It answers ----

check "/healthz" answers /healthz '{"status":"ok"}'
check "/readyz" until_it 30 answers /readyz '{"status":"ready"}'
jit=$(systemctl show -P MainPID jit)
check "over the socket: programs whose files only their owner may read, by function" until_it 60 reports '% +hot70 '
check "code of a program that has a map in /tmp" until_it 60 reports '% +made_here '
check "code of the kernel" until_it 60 reports '\[kernel\]'
check "units" until_it 60 reports 'load\.service' --by unit

# ---- Where it writes ----

check "the folder is private" mode 700 /var/lib/wick
check "so is that of the socket" mode 700 /run/wick
check "and the database" mode 600 /var/lib/wick/wick.db
check "the folder is the user's that it runs as" [ "$(stat -L -c %u /var/lib/wick)" = "$(stat -c %u "/proc/$(show MainPID)")" ]
check "it sees the folder" inside /bin/busybox test -e /var/lib/wick/wick.db
for place in /etc /usr /var/lib /sys/fs/cgroup /home; do
	check "it cannot write to $place" no inside /bin/busybox touch "$place/x"
done
check "the map is there" [ -e "/tmp/perf-$jit.map" ]
check "it has a /tmp of its own" no inside /bin/busybox test -e "/tmp/perf-$jit.map"

# ---- What it may do ----

check "what samples has the capabilities of that, and no others" rights wick $sampling
check "nor do its children get others" has wick CapAmb $sampling
check "what listens has none" rights wick-http $none
check "what reads files has none" rights wick-worker $none
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ]; then
	check "what opens events has the one that the kernel asks for" rights wick-opener $admin
else
	check "nothing is there to open events" [ -z "$(process wick-opener)" ]
fi
check "what samples is urgent" urgent wick -20
check "what listens is not" urgent wick-http 0
check "nor is what reads files" urgent wick-worker 0
check "memory is limited" [ "$(cat $cgroup/memory.max)" = 536870912 ]
check "tasks are limited" [ "$(cat $cgroup/pids.max)" = 64 ]
check "systemd's own opinion of it" systemd-analyze security --no-pager --threshold=30 wick

# ---- What listens may die ----

main=$(show MainPID)
kill -KILL "$(process wick-http)"
check "what listens is started again" until_it 60 answers /readyz '{"status":"ready"}'
check "without another start of the service" is MainPID "$main"
check "with no rights either" rights wick-http $none

# ---- The watchdog ----

watchdog=$(($(systemctl show -P WatchdogUSec wick | sed 's/1min/60/; s/s$//')))
check "there is a watchdog" [ "$watchdog" -gt 0 ]
since=$(($(show ActiveEnterTimestampMonotonic) / 1000000))
outlived() {
	[ "$(cut -d . -f 1 /proc/uptime)" -gt $((since + watchdog + watchdog / 4)) ]
}
check "time passes" until_it $((2 * watchdog)) outlived
check "it outlives the watchdog" active
check "by telling it" [ $(($(show WatchdogTimestampMonotonic) / 1000000)) -gt $((since + watchdog / 4)) ]
check "as the same process" is MainPID "$main"

# ---- It ends, and begins again ----

check "windows are kept" until_it 60 more_windows 2
# It waits for the disk for less than a second. Where an emulator takes longer, that says nothing: then once more.
for take in 1 2 3; do
	began=$(date +%s)
	check "stop" systemctl stop wick
	echo "# take $take: stopped within $(($(date +%s) - began)) s"
	is Result success >/dev/null && break
	echo "# take $take: $(journalctl -u wick -o cat | grep '^wick: ' | tail -n 1)"
	[ $take -eq 3 ] || systemctl start wick
	[ $take -eq 3 ] || until_it 30 answers /readyz '{"status":"ready"}'
done
check "it ended by itself" [ "$(show Result) $(show ExecMainStatus)" = 'success 0' ]
check "and said so" grep -q 'wick: ended$' <<-END
	$(journalctl -u wick -o cat)
END
check "nothing of it is left" [ ! -e $cgroup ]
check "nor its socket" [ ! -e /run/wick ]
check "the last window is there, up to the stop" [ "$(ask "SELECT CAST(max(end) AS INTEGER) FROM windows WHERE level = 'window'")" -ge "$began" ]
kept=$(windows)
check "start" systemctl start wick
check "it is ready again" until_it 30 answers /readyz '{"status":"ready"}'
check "it goes on with what there was" until_it 60 more_windows "$kept"
main=$(show MainPID)
check "restart" systemctl restart wick
check "it is another one" restarted "$main" 0

# ---- Options in a drop-in ----

ip address add 192.0.2.1/32 dev lo
mkdir -p /etc/systemd/system/wick.service.d
cat >/etc/systemd/system/wick.service.d/listen.conf <<-END
	[Service]
	ExecStart=
	ExecStart=/usr/local/bin/wick serve --window 2 --insecure --listen 0.0.0.0:7777
END
systemctl daemon-reload
check "with other options" systemctl restart wick
check "it answers" until_it 30 answers /healthz '{"status":"ok"}'
url=http://192.0.2.1:7777
check "but not beyond this machine" no timeout 5 wget -q -O - $url/healthz
echo 'IPAddressAllow=any' >>/etc/systemd/system/wick.service.d/listen.conf
systemctl daemon-reload
systemctl restart wick
check "unless that is allowed" until_it 30 answers /healthz '{"status":"ok"}'
url=http://127.0.0.1:7777

# ---- It comes back ----

main=$(show MainPID)
kill -KILL "$main"
check "a service that was killed comes back" until_it 60 restarted "$main" 1
main=$(show MainPID)
kill -STOP "$main"
check "one that hangs too" until_it $((3 * watchdog)) restarted "$main" 2
check "because of the watchdog" grep -q 'Watchdog timeout' <<-END
	$(journalctl -u wick -o cat)
END
kept=$(windows)
check "it goes on" until_it 60 more_windows "$kept"
check "systemd takes every line of the unit" no grep -E 'wick.service:[0-9]+:|nknown|gnoring' <<-END
	$(journalctl -b -o cat _PID=1)
END
echo wick-vm-end
poweroff -f
