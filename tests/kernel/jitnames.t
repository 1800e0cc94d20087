#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Names of code that programs make: perf maps of a small program, of Node and of Java, seen through the namespaces of
# whoever wrote them; and maps that are not to be believed. Wanted names are those that the programs have in their source.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

hz=999
cd "$T" || exit 1

# frames COMM: the user frames of its stacks with how many samples have them, the most frequent first
frames() {
	perl -ne '
		s/ (\d+)$// or next;
		my ($n, $comm, @frames) = ($1, split /;/);
		next unless $comm eq "'"$1"'";
		my %seen;
		$sum{$_} += $n for grep { !/_\[k\]$/ && !$seen{$_}++ } @frames;
		END { print "$sum{$_} $_\n" for sort { $sum{$b} <=> $sum{$a} || $a cmp $b } keys %sum }' x.folded
}

# share COMM REGEX: of its samples, the share whose stack matches
share() {
	perl -e '
		my ($comm, $regex) = @ARGV;
		my ($all, $in) = (0, 0);
		open my $lines, "<", "x.folded" or die;
		while (<$lines>) { / (\d+)$/ or next; my $n = $1; next unless s/^\Q$comm\E;// && /\S/; $all += $n; $in += $n if $_ =~ $regex }
		printf "%.3f", $all >= 20 ? $in / $all : 0;' "$@"
}

# named NAME COMM REGEX [LEAST]
named() {
	holds "$1" "$(share "$2" "$3") > ${4:-0.9}" || diag "$(grep "^$2;" x.folded | head -4)"
}

# ---- a small program that makes code, and maps as runtimes write them ----

# jit_start: its pid in $jit, where its code is in $code and $len, the map it would have in $map
jit_start() {
	start jit.out "$PROGS/jit"
	jit=$started
	wait_for 10 grep -q '^code ' jit.out
	read -r _ code len <jit.out
	map=/tmp/perf-$jit.map
	at_end "rm -f $map"
	end=$(printf '%x' $((code + len)))
	code=${code#0x} len=$(printf '%x' "$len")
}

jit_start
ok 'no map: runs' record -F "$hz" -p "$jit" 1
named 'no map: one frame for all of it' jit ';main;call;\[jit\]_\[j\]'
is 'no map: no addresses' "$(frames jit | grep -c '0x')" 0

printf '%s %s made_by_hand\n' "$code" "$len" >"$map"
ok 'a map: runs' record -F "$hz" -p "$jit" 1
named 'a map' jit ';main;call;made_by_hand_\[j\]'

{
	printf '%s %s older name\n' "$code" "$len"
	printf '0x%s 0x%s spin loop(int, char const*) [tier 2]\n' "$code" "$len"
	printf '%s 40 what comes behind it\n' "$end"
	printf 'this is no line\n%s\n' "$code"
} >"$map"
ok 'later entries, 0x and spaces: runs' record -F "$hz" -p "$jit" 1
named 'later entries, 0x and spaces' jit ';call;spin loop\(int, char const\*\) \[tier 2\]_\[j\]'

printf '%s 1 only_its_first_byte\n%s 40 what_comes_behind\n' "$code" "$end" >"$map"
ok 'an address that no entry covers: runs' record -F "$hz" -p "$jit" 1
named 'an address that no entry covers' jit ';main;call;\[jit\]_\[j\]'

# ---- maps that are not to be believed ----

# refused NAME: with the map as it is now, there are no names, and nothing waits for it
refused() {
	ok "$1: runs" record -F "$hz" -p "$jit" 1
	named "$1: not believed" jit ';main;call;\[jit\]_\[j\]'
	rm -rf "$map"
}

printf '%s %s a_lie\n' "$code" "$len" >lie
rm -f "$map"
ln -s "$T/lie" "$map"
refused 'a symbolic link'
mkfifo "$map"
refused 'a FIFO'
mkdir "$map"
refused 'a directory'
mknod "$map" c 1 5
refused 'a device without end'
printf '%s %s a_lie\n' "$code" "$len" >"$map"
chown 4242 "$map"
refused "another user's file"
printf '%s %s a_lie\n' "$code" "$len" >"$map"
truncate -s 10G "$map"
refused 'ten gigabytes'
stop "$jit"

# ---- the map of a process that has ended by the time it is named ----
cat >brief-jit <<'END'
#!/bin/bash
# Code, its map, half a second of work, and the end of all three before the recording's.
"$1/jit" >brief.out & jit=$!
until grep -q '^code ' brief.out; do read -rt 0.01 <> <(:); done
read -r _ code len <brief.out
printf '%x %x while_it_lived\n' "$code" "$len" >"/tmp/perf-$jit.map"
until [ "$(awk '{ print $14 }' "/proc/$jit/stat")" -ge 50 ]; do read -rt 0.01 <> <(:); done
kill -KILL $jit
rm "/tmp/perf-$jit.map"
END
chmod +x brief-jit
ok 'a process that ended: runs' record -F "$hz" --drain-ms 100 -n jit -- ./brief-jit "$PROGS"
named 'a process that ended: its map was taken while it lived' jit ';call;while_it_lived_\[j\]' 0.8

# ---- a container: its own pids, its own /tmp ----
mkdir inner
cp "$PROGS/jit" inner/jit
cat >container <<'END'
#!/bin/bash
mount --make-rprivate / && mount --bind "$1" /tmp || exit 9
/tmp/jit >/tmp/jit.out & jit=$!
until grep -q '^code ' /tmp/jit.out; do read -rt 0.01 <> <(:); done
read -r _ code len </tmp/jit.out
printf '%x %x name_of_the_inside\n' "$code" "$len" >"/tmp/perf-$jit.map"
echo "$jit" >/tmp/pid
wait
END
chmod +x container
start container.out unshare -m -p -f --mount-proc --kill-child ./container "$T/inner"
container=$started
wait_for 20 test -s inner/pid
inside=$(cat inner/pid)
outside=$(pgrep -x jit | while read -r pid; do
	[ "$(awk '/^NSpid/ { print NF - 1, $NF }' "/proc/$pid/status")" = "2 $inside" ] && echo "$pid"
done)
read -r _ code len <inner/jit.out
for pid in "$inside" "$outside"; do # neither the pid inside nor the one outside has a map in our own /tmp
	[ -e "/tmp/perf-$pid.map" ] || {
		at_end "rm -f /tmp/perf-$pid.map"
		printf '%x %x name_of_the_outside\n' "$code" "$len" >"/tmp/perf-$pid.map"
	}
done
ok 'a container: runs' record -F "$hz" -p "$outside" 1
named 'a container: by the map that it sees' jit ';call;name_of_the_inside_\[j\]'
stop "$container"

# ---- Node ----
cat >hot.js <<'END'
function hotInner(n) { let x = 1; for (let i = 0; i < n; i++) x = (x * 31 + i) % 1000003; return x; }
function hotOuter(n) { let x = 0; for (let i = 0; i < 50; i++) x ^= hotInner(n + x % 2); return x; }
const end = Date.now() + 120000;
let sum = 0;
while (Date.now() < end) sum += hotOuter(20000);
console.log(sum);
END
start node.out node --perf-basic-prof --interpreted-frames-native-stack hot.js
node=$started
at_end "rm -f /tmp/perf-$node.map"
wait_for 30 grep -q 'hotInner' "/tmp/perf-$node.map"
wait_for 30 burned "$node" 100
ok 'Node: runs' record -F "$hz" -p "$node" 2
node_comm=$(cat "/proc/$node/comm")
named 'Node: functions by their names' "$node_comm" ';JS:[^;]*hot(Inner|Outer) [^;]*hot\.js:[0-9:]+_\[j\]'
is 'Node: every name is one of its map' "$(frames "$node_comm" | sed -n 's/^[0-9]* \(.*\)_\[j\]$/\1/p' | grep -vx '\[jit\]' |
	while IFS= read -r name; do grep -qF -- " $name" "/tmp/perf-$node.map" || echo "$name"; done | head -3)" ''
stop "$node"

# ---- Java ----
cat >Hot.java <<'END'
public class Hot {
	static int hotInner(int n) { int x = 1; for (int i = 0; i < n; i++) x = (x * 31 + i) % 1000003; return x; }
	static int hotOuter(int n) { int x = 0; for (int i = 0; i < 50; i++) x ^= hotInner(n + (x & 1)); return x; }
	public static void main(String[] args) {
		long end = System.currentTimeMillis() + 120000;
		int sum = 0;
		while (System.currentTimeMillis() < end) sum += hotOuter(20000);
		System.out.println(sum);
	}
}
END
javac -d . Hot.java
start java.out java -Xmx128m -XX:+UseSerialGC -XX:+PreserveFramePointer -XX:CompileCommand=dontinline,Hot.hotInner -cp . Hot
java=$started
at_end "rm -f /tmp/perf-$java.map"
wait_for 60 burned "$java" 300
run jcmd "$java" Compiler.perfmap
is 'Java: writes its map' "$status" 0
ok 'Java: the map has the function' grep -q 'Hot\.hotInner' "/tmp/perf-$java.map"
ok 'Java: runs' record -F "$hz" -p "$java" 2
named 'Java: functions by their names' java ';[^;]*Hot\.hotInner[^;]*_\[j\]' 0.8
is 'Java: every name is one of its map' "$(frames java | sed -n 's/^[0-9]* \(.*\)_\[j\]$/\1/p' | grep -vx '\[jit\]' |
	while IFS= read -r name; do grep -qF -- " $name" "/tmp/perf-$java.map" || echo "$name"; done | head -3)" ''
stop "$java"

finish
