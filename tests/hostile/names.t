#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Names that one user gives to another's functions. A library of root's is stripped; an ordinary user runs it where a
# debug file of his own, with the same build id, is at the place for debug files. What root's process runs is not called
# what he says, whoever of the two comes first, for `record` and for `serve`. And where names are right: code that a
# program made for itself, in any kind of memory, has those of its map.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

library=$bin/libhidden-stripped.so
objcopy --strip-all "$bin/libhidden.so" "$library"
id=$(readelf -n "$library" | sed -n 's/.*Build ID: //p')
ok 'the library has a build id' test "${#id}" -ge 16
# The debug file of a liar: the same id, other names
objcopy --only-keep-debug "$bin/libhidden.so" "$home/lie"
objcopy --redefine-sym hidden_loop=EVIL_loop --redefine-sym hidden_work=EVIL_hidden_miner_is_sshd "$home/lie" "$home/evil.debug"
chmod 644 "$home/evil.debug"
[ -d /usr/lib/debug ] || {
	mkdir /usr/lib/debug
	at_end 'rmdir /usr/lib/debug'
}

lies() {
	attack lies "$bin/lent" h-liar "$library" "$home/evil.debug" "$id"
}

truth() {
	start "$T/truth.out" "$bin/lent" h-root "$library"
	truth=$started
	wait_for 20 grep -q '^ready' "$T/truth.out"
}

# not_called WHAT FOLDED: root's process has its stacks, and none of the lies
not_called() {
	holds "$1: root's process ran in the library" "$(grep '^h-root;.*libhidden' "$2" | folded_sum /dev/stdin) +
		$(grep '^h-root;.*EVIL' "$2" | folded_sum /dev/stdin) > 50"
	is "$1: root's functions are not what a liar calls them" "$(grep '^h-root;' "$2" | grep 'EVIL' | head -2)" ''
	holds "$1: the liar ran, too" "$(grep '^h-liar;' "$2" | folded_sum /dev/stdin) > 20"
}

# ---- The liar is met first, and then root's process; and the other way round ----

bounded_start -F 499
lies
wait_for 60 burned "$started" 60
truth
wait_for 60 burned "$truth" 100
bounded_stop
is 'the liar first: wick ends well' "$status" 0
not_called 'the liar first' "$T/x.folded"
release
stop "$truth"

cp "$library" "$bin/again.so" && library=$bin/again.so # a file that nobody has met
bounded_start -F 499
truth
wait_for 60 burned "$truth" 60
lies
wait_for 60 burned "$started" 100
bounded_stop
is 'the liar second: wick ends well' "$status" 0
sed 's/again\.so/libhidden.so/g' "$T/x.folded" >"$T/second.folded"
not_called 'the liar second' "$T/second.folded"
release
stop "$truth"

# ---- A server, which names things while they run ----

cp "$library" "$bin/served.so" && library=$bin/served.so
serve -F 199
lies
wait_for 60 burned "$started" 100
truth
wait_for 60 burned "$truth" 150
sealed_more 2
curl -sS -m 30 --unix-socket "$SOCKET" 'http://localhost/api/profile?format=folded' | sed 's/served\.so/libhidden.so/g' >"$T/served.folded"
not_called 'serve' "$T/served.folded"
release
stop "$truth"
end "$server" TERM

# ---- Code without a file, in every kind of memory that runtimes use for it ----

reserved=$(cat /proc/sys/vm/nr_hugepages)
at_end "echo $reserved >/proc/sys/vm/nr_hugepages"
echo $((reserved + 4)) >/proc/sys/vm/nr_hugepages
kinds=(private shared memfd double huge)
for kind in "${kinds[@]}"; do
	attack "$kind" "$bin/jitcode" "$kind"
	at_end "rm -f /tmp/perf-$started.map"
done
bounded -F 499 3
is 'code: wick ends well' "$status" 0
for kind in "${kinds[@]}"; do
	holds "code in $kind memory has its name" "my (\$named, \$all) = ($(grep "^h-$kind;.*;main;call;made_in_${kind}_\[j\]" "$T/x.folded" | folded_sum /dev/stdin),
		$(folded_sum "$T/x.folded" "h-$kind")); \$named > 20 && \$named > 0.9 * \$all" ||
		diag "$(grep "^h-$kind;" "$T/x.folded" | head -3)"
done
release

finish
