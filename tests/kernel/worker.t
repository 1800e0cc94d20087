#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The process that reads the files of targets is killed a hundred times while wick records: no sample is lost or counted
# twice, at most the files under way are without names, nothing is left behind.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

listframes=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/listframes
cd "$T" || exit 1
kills=100

# worker_of PID: its worker, if there is one that lives
worker_of() {
	local pid list=()
	read -ra list 2>/dev/null <"/proc/$1/task/$1/children"
	for pid in "${list[@]}"; do
		if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = wick-worker ] && grep -q '^State:[[:space:]]*[RSD]' "/proc/$pid/status"; then
			echo "$pid"
			return 0
		fi
	done
	return 1
}

# another_worker PID OLD: one that is not the old one
another_worker() {
	local now
	now=$(worker_of "$1") && [ "$now" != "$2" ]
}

descriptors() {
	local list=("/proc/$1/fd/"*)
	echo "${#list[@]}"
}

zombies() {
	local pid list=()
	read -ra list <"/proc/$1/task/$1/children"
	for pid in "${list[@]}"; do
		grep -lE '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null
	done | wc -l
}

# kill_often PID TIMES: each time the next one; how often it was in $killed
kill_often() {
	local worker=0 next
	killed=0
	while [ "$killed" -lt "$2" ]; do
		wait_for 10 another_worker "$1" "$worker" || return 1
		next=$(worker_of "$1") || continue
		worker=$next
		kill -KILL "$worker" 2>/dev/null && killed=$((killed + 1))
	done
	wait_for 10 another_worker "$1" "$worker"
}

# ---- a steady load: everything was read before the first kill, and the last one comes before the names ----
start /dev/null "$PROGS/shares" -n steady
load=$started
record_start -F 499 -p "$load"
wick=$started
wait_for 20 worker_of "$wick"
wait_for 20 burned "$load" 100
before=$(descriptors "$wick")
processes=$(wc -w <"/proc/$wick/task/$wick/children")
ok 'steady: killed a hundred times' kill_often "$wick" "$kills"
is 'steady: as often as was meant' "$killed" "$kills"
# What is open or not waited for only at this moment goes by itself
as_before() {
	[ "$(descriptors "$wick")" -le "$before" ] && [ "$(zombies "$wick")" = 0 ] && [ "$(wc -w <"/proc/$wick/task/$wick/children")" = "$processes" ]
}
ok 'steady: no more descriptors than before, no zombie, one worker, as many processes' wait_for 20 as_before ||
	diag "$(descriptors "$wick") descriptors, $before before, $(zombies "$wick") zombies, $(wc -w <"/proc/$wick/task/$wick/children") children"
end "$wick"
is 'steady: exit' "$status" 0
is 'steady: the deaths are told' "$(stat_of x.json .notes.worker_deaths)" "$kills"
sums_hold 'steady' x.json x.folded
shares_hold 'steady' x.folded steady "$PROGS/shares"
holds 'steady: everything has its name' "$(grep -c '^steady;.*shares+0x' x.folded) == 0 && $(grep -c ';hot70' x.folded) > 0"
stop "$load"

# ---- new files all the time: some are under way when the worker dies ----
cat >many <<'END'
#!/bin/bash
# Copies of one program, each a file of its own, until killed.
for ((i = 0; ; i++)); do
	cp "$1/exec-alpha" "copy-$i" && "./copy-$i" 1 10 "$1/exec-beta"
	rm "copy-$i"
done
END
chmod +x many
start /dev/null ./many "$PROGS"
many=$started
start "$T/wick.out" "$WICK" record -F 999 -o x.wick -o x.folded --stats x.json
wick=$started
wait_for 20 sampling "$wick"
wait_for 20 worker_of "$wick"
ok 'many files: killed a hundred times' kill_often "$wick" "$kills"
kill -INT "$wick"
while kill -0 "$wick" 2>/dev/null && [ "$killed" -lt $((kills + 20)) ]; do # while it names as well
	worker=$(worker_of "$wick") && kill -KILL "$worker" 2>/dev/null && killed=$((killed + 1))
	wait_for 1 another_worker "$wick" "${worker:-0}" 2>/dev/null || break
done
wait_for 60 gone "$wick"
wait "$wick"
is 'many files: exit' "$?" 0
stop "$many"
deaths=$(stat_of x.json .notes.worker_deaths)
holds 'many files: the deaths are told' "$deaths >= $kills && $deaths <= $killed"
sums_hold 'many files' x.json x.folded
"$listframes" x.wick >frames
unnamed=$(awk -F'\t' '$1 == "user" && $5 == "worker_died" { print $2 }' frames | sort -u | wc -l)
holds 'many files: at most one file a death has no names' "$unnamed <= $deaths"
holds 'many files: there were others, and they have theirs' \
	"$(awk -F'\t' '$1 == "user" && $5 == "-" && $4 != "-" { print $2 }' frames | sort -u | wc -l) > 10"
is 'many files: a file without a reason has names' "$(awk -F'\t' '$1 == "user" && $5 == "-" && $2 ~ /copy-|exec-/ {
	named[$2] += $4 != "-" } END { for (file in named) if (!named[file]) print file }' frames | head -3)" ''
diag "$deaths deaths, $unnamed files without names of $(awk -F'\t' '$1 == "user" { print $2 }' frames | sort -u | wc -l)"

finish
