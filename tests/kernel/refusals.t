#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What cannot be done is refused in one line, "wick: what failed: why: what to do", with exit 1 when the machine says no
# and 2 for bad usage, and leaves no file behind.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

out=$T/out
mkdir "$out"
cd "$out" || exit 1

# refuses NAME STATUS WORDS COMMAND...: WORDS is an extended regular expression
refuses() {
	local name=$1 wanted=$2 words=$3
	shift 3
	run "$@"
	is "$name: exit" "$status" "$wanted"
	is "$name: one line" "$(wc -l <"$T/stderr")" 1 || diag "$(head -5 "$T/stderr")"
	ok "$name: wick: what: why" grep -qE '^wick: [^:]+: .+' "$T/stderr" || diag "$(head -5 "$T/stderr")"
	ok "$name: to the point" grep -qiE -- "$words" "$T/stderr" || diag "$(head -5 "$T/stderr")"
	is "$name: nothing left behind" "$(ls -A "$out")" ''
	rm -rf "${out:?}"/*
}

record=("$WICK" record -o "$out/x.folded" --stats "$out/x.json")
top_rate=$(cat /proc/sys/kernel/perf_event_max_sample_rate)

# ---- Options ----
refuses 'frequency 0' 2 '-F' "${record[@]}" -F 0 1
refuses 'frequency negative' 2 '-5' "${record[@]}" -F -5 1
refuses 'frequency as text' 2 'fast' "${record[@]}" -F fast 1
refuses 'frequency with a tail' 2 '99x' "${record[@]}" -F 99x 1
refuses 'frequency above what the kernel allows' 2 "perf_event_max_sample_rate|$top_rate" "${record[@]}" -F "$((top_rate + 1))" 1
refuses 'frequency beyond all numbers' 2 '99999999999999999999' "${record[@]}" -F 99999999999999999999 1
refuses 'period 0' 2 'period' "${record[@]}" -c 0 1
refuses 'frequency and period' 2 '-c|--period' "${record[@]}" -F 99 -c 1000000 1
refuses 'user only and kernel only' 2 '-U|-K|user|kernel' "${record[@]}" -U -K 1
refuses 'seconds negative' 2 '-1' "${record[@]}" -1
refuses 'seconds as text' 2 'soon' "${record[@]}" soon
refuses 'seconds 0' 2 'second|duration|0' "${record[@]}" 0
refuses 'seconds not a number' 2 'nan' "${record[@]}" nan
refuses 'two times' 2 '2' "${record[@]}" 1 2
refuses 'unknown option' 2 'frobnicate' "${record[@]}" --frobnicate 1
refuses 'option without its value' 2 'F' "$WICK" record -F
refuses 'unknown event' 2 'teapots' "${record[@]}" -e teapots 1
refuses 'unknown suffix' 2 'x\.doc' "$WICK" record -o "$out/x.doc" 1
refuses 'no suffix' 2 'profile' "$WICK" record -o "$out/profile" 1
refuses 'unknown format' 2 'origami' "$WICK" record -f origami -o - 1
refuses 'room for no stacks' 2 'max-stacks' "${record[@]}" --max-stacks 0 1
refuses 'room for too many stacks' 2 'max-stacks' "${record[@]}" --max-stacks 99999999999 1
refuses 'a ring of nothing' 2 'ring-bytes' "${record[@]}" --ring-bytes 0 1
refuses 'a drain every 0 ms' 2 'drain' "${record[@]}" --drain-ms 0 1
refuses 'pid as text' 2 'init' "${record[@]}" -p init 1
refuses 'pid 0' 1 'pid|0' "${record[@]}" -p 0 1
refuses 'an empty pid in a list' 2 'pid|,' "${record[@]}" -p 1,,2 1
refuses 'CPU as text' 2 'one' "${record[@]}" -C one 1
refuses 'a range of CPUs backwards' 2 '1-0' "${record[@]}" -C 1-0 1
refuses 'children without a parent' 2 'children' "${record[@]}" --children 1
refuses 'a command that is empty' 2 'command' "${record[@]}" --
refuses 'unknown command' 2 'recrod' "$WICK" recrod

# ---- The machine says no ----
refuses 'CPU that does not exist' 1 '4095' "${record[@]}" -C 4095 1
refuses 'pid that does not exist' 1 '4194303' "${record[@]}" -p 4194303 1
refuses 'thread that does not exist' 1 '4194303' "${record[@]}" -t 4194303 1
refuses 'cgroup that does not exist' 1 'no-such-group' "${record[@]}" --cgroup /no-such-group 1
refuses 'a folder that is no cgroup' 1 'cgroup' "${record[@]}" --cgroup /etc 1
if [ ! -d /sys/bus/event_source/devices/cpu ] && [ ! -d /sys/bus/event_source/devices/cpu_core ]; then
	refuses 'cycles without a PMU' 1 '-e cycles' "${record[@]}" -e cycles 1
fi
refuses 'no folder for the output' 1 'no-such-folder' "$WICK" record -o "$out/no-such-folder/x.folded" 1
refuses 'no folder for the numbers' 1 'no-such-folder' "$WICK" record -o "$out/x.folded" --stats "$out/no-such-folder/x.json" 1
mkdir "$T/folder.folded"
refuses 'the output is a folder' 1 'folder\.folded' "$WICK" record -o "$T/folder.folded" 1
# Checked before sampling: a run of a minute is refused at once.
begin=${EPOCHREALTIME/./}
refuses 'no folder, long run' 1 'no-such-folder' "$WICK" record -o "$out/no-such-folder/x.folded" 50
holds 'no folder, long run: refused at once' "(${EPOCHREALTIME/./} - $begin) / 1e6 < 5"

run "$WICK" record -f folded -o /dev/full -F 999 -I 1
is 'full device: exit' "$status" 1
ok 'full device: says so' grep -qE '^wick: .*/dev/full.*[Nn]o space' "$T/stderr"
is 'full device: one line' "$(wc -l <"$T/stderr")" 1

mkdir "$T/tiny"
mount -t tmpfs -o size=4k none "$T/tiny" && at_end "umount '$T/tiny'"
dd if=/dev/zero of="$T/tiny/rest" bs=4k count=1 2>/dev/null
run "$WICK" record -o "$T/tiny/x.folded" -F 999 -I 1
is 'full disk: exit' "$status" 1
ok 'full disk: says so' grep -qE '^wick: .*[Nn]o space' "$T/stderr"
is 'full disk: one line' "$(wc -l <"$T/stderr")" 1
is 'full disk: nothing half-written' "$(ls -A "$T/tiny")" rest
rm "$T/tiny/rest"
echo before >"$T/tiny/x.folded"
mount -o remount,ro "$T/tiny"
run "$WICK" record -o "$T/tiny/x.folded" 1
is 'read-only file system: exit' "$status" 1
ok 'read-only file system: says so' grep -qiE '^wick: .*read-only' "$T/stderr"
is 'read-only file system: what was there is there' "$(cat "$T/tiny/x.folded")" before

# ---- No privilege ----
cp "$WICK" "$T/wick"
chmod 755 "$T" "$T/wick"
chmod 1777 "$out"
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --ambient-caps=-all --bounding-set=-all)
refuses 'nobody' 1 'cap_(bpf|perfmon)|sudo' "${nobody[@]}" "$T/wick" record -o "$out/x.folded" 1
ok 'nobody: which capability and the command that gives it' grep -qiE 'cap_bpf.*(setcap|sudo)|(setcap|sudo).*cap_bpf' "$T/stderr"
lacks() {
	local cap=$1
	shift
	setpriv --bounding-set "-$cap,-sys_admin" --inh-caps "-$cap,-sys_admin" "$@"
}
refuses 'no CAP_PERFMON' 1 'cap_perfmon' lacks perfmon "${record[@]}" 1
refuses 'no CAP_BPF' 1 'cap_bpf' lacks bpf "${record[@]}" 1

# ---- No BTF ----
no_btf() {
	unshare -m bash -c 'mount --make-rprivate / && mount -t tmpfs none /sys/kernel/btf && exec "$@"' - "$@"
}
refuses 'no BTF' 1 'BTF' no_btf "${record[@]}" 1

# ---- A target that ends in the middle: its samples are kept ----
start /dev/null "$PROGS/shares" -s 1 -n ends
ok 'target that ends: runs' record -F 999 -p "$started" 50
shares_hold 'target that ends' "$T/x.folded" ends "$PROGS/shares"
holds 'target that ends: it is over when the target is' "$(stat_of "$T/x.json" .duration_s) < 50"

finish
