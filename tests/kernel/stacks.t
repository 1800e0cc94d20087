#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of every kind: deep ones, whole and cut; 32-bit programs; code without a file; the vDSO; the kernel's part;
# names that try to break the lines; only the user's or only the kernel's part.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

hz=999

# sampled NAME PROGRAM [ARGUMENT...]: runs it, records it for a while; its pid in $started until the next
sampled() {
	local name=$1
	shift
	stop "$started"
	start "$T/program" "$@"
	wait_for 10 grep -q "^${1##*/}" "/proc/$started/comm"
	ok "$name: runs" record --raw -F "$hz" -p "$started" 0.5
}

# depths FUNCTION: how often it stands in a stack of bottom, over all samples, as "depth count"
depths() {
	symbolize "$PROGS/deep" <"$T/x.folded" | perl -ne '
		s/ (\d+)$// or next;
		my $n = $1;
		next unless /;bottom(;|$)/;
		my $depth = () = /;deep(?=;)/g;
		$count{$depth} += $n;
		END { print join(" ", sort { $a <=> $b } keys %count), "\n" }'
}

for depth in 1 60 500 1021; do
	sampled "$depth deep" "$PROGS/deep" "$depth"
	is "$depth deep: every frame, no more" "$(depths)" "$depth"
	is "$depth deep: whole, down to the root" \
		"$(symbolize "$PROGS/deep" <"$T/x.folded" | sed 's/\(;deep\)*;bottom.*//' | sort -u)" 'deep;_start;enter'
	is "$depth deep: the numbers say so" "$(stat_of "$T/x.json" '.stacks.user == .stacks.complete and .stacks.complete > 0')" true
	is "$depth deep: its depth is listed" "$(stat_of "$T/x.json" ".processes[] | select(.pid == $started) | .median_depth")" \
		"$((depth + 3))"
done

for depth in 1022 5000; do
	sampled "$depth deep" "$PROGS/deep" "$depth"
	is "$depth deep: cut, and says so" "$(cut -d';' -f1,2 "$T/x.folded" | sort -u)" 'deep;[incomplete: depth]'
	is "$depth deep: 1,024 frames from the leaf are there" "$(depths)" "$((depth < 1023 ? depth : 1023))"
	holds "$depth deep: counted under its reason" "$(stat_of "$T/x.json" .stacks.incomplete.depth) ==
		$(stat_of "$T/x.json" .stacks.user) && $(stat_of "$T/x.json" .stacks.user) > 0"
done

sampled '32-bit' "$PROGS/compat32"
if kill -0 "$started" 2>/dev/null; then
	is '32-bit: counted, with a reason' "$(cut -d';' -f1,2 "$T/x.folded" | sed 's/ [0-9]*$//' | sort -u)" 'compat32;[incomplete: compat]'
	holds '32-bit: as many as it ran' "$(folded_sum "$T/x.folded") > 0.05 * $hz"
else
	skip '32-bit' 'this kernel does not run 32-bit programs'
fi

sampled 'no file' "$PROGS/jit"
symbolize "$PROGS/jit" <"$T/x.folded" | grep -v '_\[k\] ' >"$T/named"
holds 'no file: its samples are told from others' \
	"$(awk '/;\[jit\]_\[j\] [0-9]+$/ { n += $NF } END { print n + 0 }' "$T/named") > 0.9 * $(folded_sum "$T/x.folded")"
holds 'no file: called by main, call' \
	"$(awk '/;main;call;\[jit\]_\[j\] [0-9]+$/ { n += $NF } END { print n + 0 }' "$T/named") > 0.9 * $(folded_sum "$T/x.folded")"

sampled 'vDSO' "$PROGS/vdso"
symbolize "$PROGS/vdso" <"$T/x.folded" >"$T/named"
holds 'vDSO: most of its time' \
	"$(awk '/;\[vdso\]\+0x[0-9a-f]+ [0-9]+$/ { n += $NF } END { print n + 0 }' "$T/named") > 0.4 * $(folded_sum "$T/x.folded")"
holds 'vDSO: called from main' \
	"$(awk '/;main;.*\[vdso\]\+0x[0-9a-f]+ [0-9]+$/ { n += $NF } END { print n + 0 }' "$T/named") > 0.4 * $(folded_sum "$T/x.folded")"

# ---- The kernel's part stands on the user's ----
start /dev/null "$PROGS/udpflood" 0
ok 'kernel part: runs' record -F "$hz" -p "$started" 1
symbolize -k "$PROGS/udpflood" <"$T/x.folded" >"$T/named"
holds 'kernel part: continues the user part, in order' "
	$(awk '/;main;.*;[^;]*do_syscall_64[^;]*_\[k\];.*udp_sendmsg[^;]*_\[k\]/ { n += $NF } END { print n + 0 }' "$T/named") > 0.3 * $(folded_sum "$T/x.folded")"
is 'kernel part: no user frame above it' "$(grep -cE '_\[k\];([^;]*[^]]|[^;]*[^k]\])( [0-9]+$|;)' "$T/named")" 0
ok '-U: runs' record -F "$hz" -U -p "$started" 0.5
is '-U: no kernel frames' "$(grep -c '_\[k\]' "$T/x.folded")" 0
holds '-U: samples all the same' "$(folded_sum "$T/x.folded") > 0"
ok '-K: runs' record -F "$hz" -K -p "$started" 0.5
is '-K: no user frames' "$(sed 's/ [0-9]*$//' "$T/x.folded" | tr ';' '\n' | grep -vcE '_\[k\]$|^udpflood$')" 0
holds '-K: samples all the same' "$(folded_sum "$T/x.folded") > 0"
stop "$started"

# ---- Names ----
names=($'a\nb;c' $'\033[31mred' $'\xff\xfe\x80' 'two words 7' 'back\slash' $'\u202egnp')
pids=
for name in "${names[@]}"; do
	start /dev/null "$PROGS/names" "$name"
	pids=$pids,$started
done
ok 'names: runs' record -F "$hz" -p "${pids#,}" -o "$T/x.wick" 2
is 'names: every line is a stack and a count' "$(grep -avcE '^[^;]+(;[^;]+)* [0-9]+$' "$T/x.folded")" 0
is 'names: no control characters' "$(tr -d '\n\040-\176\200-\377' <"$T/x.folded" | wc -c)" 0
ok 'names: valid UTF-8' iconv -f UTF-8 -t UTF-8 -o /dev/null "$T/x.folded"
is 'names: each is one process of the profile' "$(comms "$T/x.folded" | wc -l)" "${#names[@]}"
ok 'names: escaped, not dropped' grep -qF 'a\x0ab\x3bc;' "$T/x.folded"
is 'names: the numbers are still JSON' "$(stat_of "$T/x.json" '.processes | length')" "${#names[@]}"
# shellcheck disable=SC2086
stop ${pids//,/ }

finish
