#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `wick serve` for longer: killed a hundred times at moments of chance, and ten minutes (SOAK seconds) as it runs by
# itself, with processes that come and go, after which its processes take no more memory than in the second minute, and
# have used half a percent of one CPU at most.

# shellcheck source=tests/kernel/serve-lib.sh
. "$(dirname "$0")/serve-lib.sh"

soak=${SOAK:-600}

# start_group COMMAND...: in a group of its own, which ends with the test as a whole
start_group() {
	start /dev/null setsid "$@"
	at_end "kill -KILL -- -$started"
}

# It ends by itself after some minutes, as all test programs do
start_group bash -c 'while :; do "$0" -n served; done' "$PROGS/shares"
kill_rounds "${KILLS:-100}"

# Resident memory of all its processes, in bytes
resident() {
	metric wick_process_resident_bytes
}

# Their CPU time, in seconds
used() {
	metric wick_process_cpu_seconds_total
}

# in_time SECONDS: have so many passed since the beginning?
in_time() {
	[ "$(($(date +%s) - began))" -ge "$1" ]
}

DATA=$T/soak
start_group bash -c 'while :; do for i in 1 2 3 4; do (exec -a "job-$RANDOM" awk "BEGIN { for (i = 0; i < 300000; i++) n += i }") & done; wait; done'
serve -F 49 --window 10
began=$(date +%s)
wait_for $((soak / 5 + 60)) in_time $((soak / 5))
early=$(resident)
early_used=$(used)
wait_for $((soak + 60)) in_time "$soak"
late=$(resident)
late_used=$(used)
diag "resident after a fifth of the time $((${early%.*} / 1048576)) MiB, at the end $((${late%.*} / 1048576)) MiB"
diag "CPU in the first fifth $early_used s, at the end $late_used s of $soak s"
holds "memory stays as it is" "$late < 1.25 * $early"
holds "within 96 MiB" "$late < 96 * 1048576"
holds "half a percent of one CPU" "$late_used - $early_used < 0.005 * $soak * 4 / 5"
is "nothing is lost" "$(metric wick_samples_lost_total)" 0
end "$server" TERM
is "exit" "$status" 0
finish
