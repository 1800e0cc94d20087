#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `wick serve` for longer: killed a hundred times at moments of chance, and ten minutes (SOAK seconds) with processes that
# come and go, after which its processes take no more memory than in the second minute.

# shellcheck source=tests/kernel/serve-lib.sh
. "$(dirname "$0")/serve-lib.sh"

soak=${SOAK:-600}
# It ends by itself after some minutes, as all test programs do
start /dev/null bash -c 'while :; do "$0" -n served; done' "$PROGS/shares"
kill_rounds "${KILLS:-100}"

# Resident memory of all its processes, in KiB
resident() {
	metric wick_process_resident_bytes
}

# in_time SECONDS: have so many passed since the beginning?
in_time() {
	[ "$(($(date +%s) - began))" -ge "$1" ]
}

DATA=$T/soak
start /dev/null bash -c 'while :; do for i in 1 2 3 4; do (exec -a "job-$RANDOM" awk "BEGIN { for (i = 0; i < 300000; i++) n += i }") & done; wait; done'
serve -F 49
began=$(date +%s)
wait_for $((soak / 5 + 60)) in_time $((soak / 5))
early=$(resident)
wait_for $((soak + 60)) in_time "$soak"
late=$(resident)
diag "resident after a fifth of the time $((${early%.*} / 1048576)) MiB, at the end $((${late%.*} / 1048576)) MiB; CPU $(metric wick_process_cpu_seconds_total) s of $soak s"
holds "memory stays as it is" "$late < 1.25 * $early"
holds "within 96 MiB" "$late < 96 * 1048576"
is "nothing is lost" "$(metric wick_samples_lost_total)" 0
end "$server" TERM
is "exit" "$status" 0
finish
