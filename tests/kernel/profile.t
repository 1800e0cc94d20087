#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# wick profile on the running kernel: its first line to the letter, entries as bcc's profile prints them, folded lines
# that a strict reader takes, ends by signals with everything printed, filters by pinned maps that change while it runs,
# limits that are kept and said.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

start /dev/null "$PROGS/shares" -n classic
load=$started
start /dev/null "$PROGS/shares-pad" -n bystander
bystander=$started

# profile ARGUMENT...: must end well
profile() {
	run "$WICK" profile "$@"
	is "profile $*: exit" "$status" 0 || diag "$(head -3 "$T/stderr")"
}

# profile_start ARGUMENT...: in the background; what it prints in $T/out
profile_start() {
	start "$T/out" bash -c 'exec "$@" 2>"$0"' "$T/err" "$WICK" profile "$@"
}

# entries FILE: what is wrong with the entries behind the first two lines; "right", their number being at least one
entries() {
	perl -ne '
		next if $. <= 2;
		if ($state eq "who") {
			/^        (\d+)$/ or push @bad, "no count in line $.: $_";
			push @bad, "not in ascending order: line $." if ($last // 0) > ($1 // 0);
			($last, $state, $count) = ($1, "count", $count + 1);
		} elsif ($state eq "count") {
			/^$/ or push @bad, "no blank line behind a count: line $.: $_";
			$state = "";
		} elsif (/^    -                \S.* \(\d+\)$/) {
			$state = "who";
		} elsif (!/^    \S/ || /[\x00-\x09\x0b-\x1f\x7f]/) {
			push @bad, "line $.: $_";
		}
		END { print $state ne "" ? "cut short" : !$count ? "no entries" : @bad ? "@bad[0 .. ($#bad < 2 ? $#bad : 2)]" : "right" }
	' "$1"
}

# Whose they are, each once
entry_comms() {
	sed -n 's/^    -                \(.*\) ([0-9]*)$/\1/p' "$1" | sort -u | tr '\n' ' '
}

# In folded lines of -v, places in files instead of names
places() {
	sed -E 's/0x[0-9a-f]{16} ?[^;()]*\(([^;()]*\/)?([^;()\/]+\+0x[0-9a-f]+)\)/\2/g' "$1"
}

# ---- What is printed ----
# heads WORDS ARGUMENT...
heads() {
	local wanted=$1
	shift
	profile "$@" 1
	is "profile $*: its first line" "$(head -1 "$T/stdout")" "$wanted for 1 secs."
	is "profile $*: a blank line behind it" "$(sed -n 2p "$T/stdout")" ''
	is "profile $*: entries" "$(entries "$T/stdout")" right
}

heads 'Sampling at 49 Hertz of all threads by user + kernel stack'
heads 'Sampling at 99 Hertz of all threads by user stack' -F 99 -U
heads 'Sampling at 49 Hertz of all threads by kernel stack on CPU#0' -K -C 0
heads "Sampling at 999 Hertz of PID [$load] by user + kernel stack" -F 999 -p "$load"
is '-p: nobody else' "$(entry_comms "$T/stdout")" 'classic '
heads "Sampling at 999 Hertz of PID [$load, $bystander] by user + kernel stack" --frequency=999 --pid "$load,$bystander"
is '-p with two: nobody else' "$(entry_comms "$T/stdout")" 'bystander classic '
heads "Sampling at 999 Hertz of TID [$load] by user stack" -L "$load" -F 999 -UdA
is '-L: nobody else' "$(entry_comms "$T/stdout")" 'classic '
is '-U with -d: no delimiter' "$(grep -c '^    --$' "$T/stdout")" 0
is '-A: each frame with its address' "$(sed 1,2d "$T/stdout" |
	grep -vE '^(    0x[0-9a-f]{16} .+|    -  .*|    \[incomplete: .*|        [0-9]+|)$')" ''
# starts FILE PROGRAM: of each frame in the program, its name and where by its own words its function begins
starts() {
	perl -ne 'printf "%s %x\n", $1, hex($3) - hex($2)
		if m{^    0x[0-9a-f]{16} (\w+)\+0x([0-9a-f]+) \(\S+/'"$2"'\+0x([0-9a-f]+)\)$}' "$1" | sort -u
}

heads "Sampling at 999 Hertz of PID [$load] by user + kernel stack" -F 999 -v -p "$load"
starts "$T/stdout" shares >"$T/starts"
ok '-v: where in a function' grep -q '^hot70 ' "$T/starts"
is '-v: functions begin where nm says' "$(nm "$PROGS/shares" | awk '{ sub(/^0+/, "", $1); print $3, $1 }' | sort -u |
	comm -13 - "$T/starts")" ''
heads "Sampling at 999 Hertz of PID [$load] by user stack" -F 999 -U -p "$load"
is 'each named frame says where in its function' "$(grep ' \[shares\]$' "$T/stdout" | grep -vcE '^    \w+\+0x[0-9a-f]+ \[shares\]$')" 0
heads "Sampling at every 1000000 events of PID [$load] by user + kernel stack" -c 1000000 -p "$load"
profile_start -c 1000000 -p "$load"
wick=$started
wait_for 20 sampling "$wick"
before=$(ticks "$load")
wait_for 60 burned "$load" "$((before + 60))"
used=$(($(ticks "$load") - before))
end "$wick"
# Ticks of ten milliseconds each
holds '-c: one in a million nanoseconds, or cycles' \
	"$(awk '/^        [0-9]+$/ { n += $1 } END { print n }' "$T/out") > 5 * $used"

# ---- Folded ----
refused_lines=0
for line in '' a 'a;b' 'a;;b 1' ';a 1' 'a; 1' ' 1' 'a 0' 'a 01' 'a;b -1' 'a;b 1 ' $'a\tb 1'; do
	! "$tests_dir/foldcheck" <<<"$line" 2>/dev/null && refused_lines=$((refused_lines + 1))
done
is 'the strict reader is strict' "$refused_lines" 12
profile -f 1
ok '-f: a strict reader takes it' "$tests_dir/foldcheck" "$T/stdout"
is '-f: ascending' "$(sed 's/.* //' "$T/stdout")" "$(sed 's/.* //' "$T/stdout" | sort -n)"
is '-f: no annotations' "$(grep -c '_\[k\]' "$T/stdout")" 0
start /dev/null "$PROGS/storm" 200 2
storm=$started
profile -afd -F 499 1
stop "$storm"
ok '-afd: a strict reader takes it' "$tests_dir/foldcheck" "$T/stdout"
ok '-afd: kernel functions are marked' grep -q '_\[k\] [0-9]*$' "$T/stdout"
ok '-afd: a delimiter between the parts' grep -qE ';[^;]+;-;[^;]+_\[k\]' "$T/stdout"
is '-afd: none where there is one part only' "$(grep -cE '^[^;]+;-;|;-[; ][^_]*$' "$T/stdout")" 0
for letters in -f -vf; do
	profile_start "$letters" -F 999 -p "$load"
	wick=$started
	wait_for 20 sampling "$wick"
	wait_for 30 burned "$load" "$(($(ticks "$load") + 80))"
	end "$wick"
	ok "$letters: a strict reader takes it" "$tests_dir/foldcheck" "$T/out"
	places "$T/out" >"$T/x.folded"
	shares_hold "$letters" "$T/x.folded" classic "$PROGS/shares"
done

# ---- Signals ----
for signal in INT TERM; do
	profile_start -F 999 -p "$load"
	wick=$started
	wait_for 20 sampling "$wick"
	is "SIG$signal: the first line is there at once" "$(cat "$T/out")" \
		"Sampling at 999 Hertz of PID [$load] by user + kernel stack... Hit Ctrl-C to end."
	wait_for 30 burned "$load" "$(($(ticks "$load") + 30))"
	end "$wick" "$signal"
	is "SIG$signal: exit" "$status" 0
	is "SIG$signal: everything is printed" "$(entries "$T/out") $(entry_comms "$T/out")" 'right classic '
done

# ---- Limits ----
start /dev/null "$PROGS/storm" 200 2
storm=$started
profile -f -F 999 --stack-storage-size 4 1
ok 'few stacks: said' grep -qxE \
	'WARNING: [1-9][0-9]* stack traces could not be displayed\. Consider increasing --stack-storage-size\.' "$T/stderr"
ok 'few stacks: no more than so many' test "$(sed 's/ [0-9]*$//; s/^[^;]*//' "$T/stdout" | sort -u | wc -l)" -le 16
profile -f -F 4999 --hash-storage-size 1 1
ok 'few counts: said' grep -qx 'WARNING: hash table full. Consider increasing --hash-storage-size.' "$T/stderr"
ok 'few counts: how many are missing' grep -qE '^WARNING: [1-9][0-9]* stack traces could not be displayed\.' "$T/stderr"
stop "$storm"
profile -f -U -F 999 -p "$load" --perf-max-stack-depth 2 1
is 'few frames: no more than so many, and a word about it' \
	"$(grep -vE '^classic(;\[incomplete: [a-z_]+\])?(;[^;]+){1,2} [0-9]+$' "$T/stdout")" ''
ok 'few frames: a word about it' grep -q '^classic;\[incomplete: depth\];' "$T/stdout"

# ---- Bad words ----
# refuses STATUS WORDS ARGUMENT...
refuses() {
	local wanted=$1 words=$2
	shift 2
	run "$WICK" profile "$@"
	is "profile $*: exit" "$status" "$wanted"
	is "profile $*: nothing printed" "$(cat "$T/stdout")" ''
	ok "profile $*: one line" grep -qxE "wick: .*$words.*" "$T/stderr" || diag "$(head -3 "$T/stderr")"
}

refuses 2 '-p and -L' -p "$load" -L "$load" 1
refuses 2 '-U and -K' -U -K 1
refuses 2 '-F and -c' -F 99 -c 1000000 1
refuses 2 'frobnicate' --frobnicate 1
refuses 2 'soon' soon
refuses 2 'one' -p one 1
refuses 1 'pid 4194304: no such process' -p 4194304 1
refuses 1 'no such CPU' -C 99999 1

# ---- Pinned maps ----
pins=$T/bpf
mkdir "$pins"
mount -t bpf none "$pins"
at_end "umount '$pins'"
bpftool=$(command -v bpftool || echo /usr/sbin/bpftool)

# key NUMBER: as bpftool takes 8 bytes
key() {
	printf '%016x\n' "$1" | fold -w 2 | tac | tr '\n' ' '
}

# follows NAME OPTION MAP KEY VALUE COMM: what is in the map is profiled, from when it is in until it is out
follows() {
	local name=$1 option=$2 map=$3 number=$4 value=$5 comm=$6 wick before
	profile_start -f -F 999 "$option" "$map"
	wick=$started
	wait_for 20 sampling "$wick"
	wait_for 30 burned "$bystander" "$(($(ticks "$bystander") + 20))"
	# shellcheck disable=SC2046,SC2086 # bytes are words
	"$bpftool" map update pinned "$map" key hex $(key "$number") value hex $value any
	before=$(ticks "$target")
	wait_for 30 burned "$target" "$((before + 30))"
	end "$wick"
	is "$name: exit" "$status" 0
	is "$name: only what is in the map, once it is" "$(comms "$T/out" | tr '\n' ' ')" "$comm "
	holds "$name: all of it" "$(folded_sum "$T/out") > 100"
}

cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ -z "$cgroups" ]; then
	cgroups=$T/cgroup
	mkdir "$cgroups"
	mount -t cgroup2 none "$cgroups"
	at_end "umount '$cgroups'"
fi
mkdir "$cgroups/wick-profile-$$"
at_end "rmdir '$cgroups/wick-profile-$$'"
at_end "cat '$cgroups/wick-profile-$$/cgroup.procs' >'$T/left'; while read -r pid; do echo \$pid >'$cgroups/cgroup.procs'; done <'$T/left'"
echo "$load" >"$cgroups/wick-profile-$$/cgroup.procs"
"$bpftool" map create "$pins/cgroups" type hash key 8 value 8 entries 8 name cgroups
target=$load
follows --cgroupmap --cgroupmap "$pins/cgroups" "$(stat -c %i "$cgroups/wick-profile-$$")" '0 0 0 0 0 0 0 0' classic

start /dev/null unshare -m --propagation unchanged "$PROGS/shares" -n elsewhere
target=$started
wait_for 10 pgrep -x elsewhere
"$bpftool" map create "$pins/mounts" type hash key 8 value 4 entries 8 name mounts
follows --mntnsmap --mntnsmap "$pins/mounts" "$(stat -Lc %i "/proc/$target/ns/mnt")" '0 0 0 0' elsewhere
stop "$target"

"$bpftool" map create "$pins/array" type array key 4 value 8 entries 8 name array
refuses 1 'No such file' --cgroupmap "$pins/none" 1
refuses 2 'keys of 8 bytes and values of 8' --cgroupmap "$pins/array" 1
refuses 2 'keys of 8 bytes and values of 8' --cgroupmap "$pins/mounts" 1
refuses 2 'keys of 8 bytes and values of 4' --mntnsmap "$pins/cgroups" 1
refuses 1 'pinned map' --mntnsmap /etc/passwd 1

finish
