#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
#
# What the guest tests share. A check is one line of TAP; what explains a failure goes before it as comments.
# record leaves in /tmp: status, err, stats (flat: "samples.lost.ring 0"), folded.

# check WHAT COMMAND...: ok if the command succeeds.
check() {
	check=$1
	shift
	if "$@" >/tmp/check.out 2>&1; then
		echo "ok - $check"
	else
		echo "# failed: $*" | cut -c 1-300
		head -n 30 /tmp/check.out | cut -c 1-300 | sed 's/^/# /'
		echo "not ok - $check"
	fi
}

no() {
	! "$@"
}

# record ARGUMENT...: wick record with folded stacks and statistics; $wick may say how to run it. What was begun runs
# meanwhile and rests again after, so that the checks have the slow CPUs to themselves.
record() {
	rm -f /tmp/stats.json /tmp/stats /tmp/folded /tmp/out.folded
	# shellcheck disable=SC2086 # a list
	[ -z "${all:-}" ] || kill -CONT $all
	# shellcheck disable=SC2086 # a command and its options
	${wick:-wick} record --stats /tmp/stats.json -o /tmp/out.folded "$@" >/tmp/out 2>/tmp/err
	status=$?
	# shellcheck disable=SC2086 # a list
	[ -z "${all:-}" ] || kill -STOP $all
	echo "[$(cut -d ' ' -f 1 /proc/uptime)] wick record $* => $status" >/dev/console
	cat /tmp/err >/dev/console
	# The list of processes is the last member and may be long: awk takes its time, so it stays out.
	[ ! -s /tmp/stats.json ] || sed 's/,"processes":.*/}/' /tmp/stats.json | awk -f /tests/json.awk >/tmp/stats
	touch /tmp/stats /tmp/out.folded
	cp /tmp/out.folded /tmp/folded
}

# succeeded: the last record did, and the statistics are there.
succeeded() {
	cat /tmp/err
	[ "$status" -eq 0 ] && [ -s /tmp/stats ]
}

# stat_of KEY: one number of the last record.
stat_of() {
	awk -v key="$1" '$1 == key { print $2; found = 1 } END { exit !found }' /tmp/stats
}

# at_least LEAST KEY
at_least() {
	cat /tmp/stats
	value=$(stat_of "$2")
	[ "${value:-0}" -ge "$1" ]
}

# names PROGRAM [MODULE]: frames of MODULE (PROGRAM, unless given) in /tmp/folded get the names of PROGRAM's functions.
names() {
	awk -v module="${2:-$1}" -f /tests/names.awk "/symbols/$1" /tmp/folded >/tmp/named && mv /tmp/named /tmp/folded
}

# samples PATTERN: how many samples of the last record are in lines that match. A line ends in a blank and its count.
samples() {
	grep -E "$1" /tmp/folded | awk '{ sum += $NF } END { printf "%d\n", sum }'
}

# some PATTERN, none PATTERN, only PATTERN: of the samples that there are, some match, none does, all do.
some() {
	head -n 10 /tmp/folded
	[ "$(samples "$1")" -gt 0 ]
}

none() {
	grep -E "$1" /tmp/folded | head -n 10
	[ "$(samples .)" -gt 0 ] && [ "$(samples "$1")" -eq 0 ]
}

only() {
	grep -vE "$1" /tmp/folded | head -n 10
	[ "$(samples "$1")" -gt 0 ] && [ "$(samples "$1")" -eq "$(samples .)" ]
}

# share PERCENT PATTERN OF: samples of PATTERN among those of OF, within five standard deviations.
share() {
	a=$(samples "$2")
	b=$(samples "$3")
	echo "$a of $b"
	awk -v p="$1" -v a="$a" -v b="$b" 'BEGIN {
		p /= 100
		d = a - p * b
		exit !(b >= 50 && d * d <= 25 * b * p * (1 - p))
	}'
}

# mostly PATTERN OF: nearly all samples of OF are of PATTERN too. A few meet a function before its frame is made.
mostly() {
	echo "$(samples "$1") of $(samples "$2")"
	[ "$(samples "$2")" -ge 50 ] && [ $((100 * $(samples "$1"))) -ge $((98 * $(samples "$2"))) ]
}

# exact: the sums of the last record hold to the sample, and the stacks written are those counted.
exact() {
	awk -v written="$(samples .)" '
	{ value[$1] = $2 }
	/^left_out\./ { left_out += $2 }
	/^samples\.lost\./ { lost += $2 }
	/^stacks\.incomplete\./ { incomplete += $2 }
	/^(fired|expected|missed|left_out|samples|stacks)/ { print }
	END {
		print "written", written
		exit !(value["fired"] > 0 &&
			value["fired"] == value["samples.taken"] + left_out &&
			value["samples.taken"] == value["samples.counted"] + lost &&
			value["stacks.user"] == value["stacks.complete"] + incomplete &&
			value["samples.counted"] == written)
	}' /tmp/stats
}

# pids: the processes of the last record, in order.
pids() {
	sed 's/.*"processes"://' /tmp/stats.json | grep -o '"pid":[0-9]*' | cut -d : -f 2 | sort -n |
		tr '\n' ' ' | sed 's/ $//'
}

# begin COMMAND...: in the background, its pid in $begun, to be ended by end.
begin() {
	"$@" >/dev/null 2>&1 &
	begun=$!
	all="${all:-} $begun"
}

end() {
	# shellcheck disable=SC2086 # a list
	kill -KILL $all 2>/dev/null
	# shellcheck disable=SC2086
	wait $all 2>/dev/null
	all=
}
