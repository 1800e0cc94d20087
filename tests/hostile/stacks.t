#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks that are made to be too many, and stacks that are easily taken for what they are not: whole where callers are
# missing, another's where a number was used again.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# ---- Stacks without end: what is kept is bounded, and the victims' are kept ----

limit=1000
victims h
bounded -F 1999 --max-stacks $limit -p "$shares,$plain,$wide" 3
is 'few stacks: wick ends well' "$status" 0
alone=$(stat_of "$T/x.json" .self.max_rss_bytes)
attack endless "$bin/stacks"
rate=1999
bounded_start -F $rate --max-stacks $limit -p "$shares,$plain,$wide,$started"
for pid in $shares $plain $wide; do ticks_before[pid]=$(ticks "$pid"); done
victims_burn 150
for pid in $shares $plain $wide; do used[pid]=$(($(ticks "$pid") - ticks_before[pid])); done
bounded_stop
if judge endless h 1; then
	holds 'endless: memory does not grow with them' "$(stat_of "$T/x.json" .self.max_rss_bytes) < $alone + (16 << 20)"
	for pid in $shares $plain $wide; do # however many stacks one user has, another's are counted
		holds 'endless: samples of others are counted' \
			"$(stat_of "$T/x.json" "[.processes[] | select(.pid == $pid) | .samples] | add // 0") > 0.8 * $rate * ${used[pid]} / 100"
	done
	holds 'endless: no more stacks are kept than was asked for' \
		"$(sed -E 's/^[^;]*//; s/;[^;]*_\[k\]//g; s/ [0-9]+$//' "$T/x.folded" | sort -u | wc -l) <= $limit"
fi
release
stop_victims

# ---- A handler called by a function that says nothing about itself: whole, or not called so ----

attack raised "$bin/raised"
bounded -F 499 2
is 'raise: wick ends well' "$status" 0
holds 'raise: it was sampled' "$(folded_sum "$T/x.folded" h-raised) > 50"
is 'raise: no stack is called whole that is not' "$(grep '^h-raised;' "$T/x.folded" | grep -v ';\[incomplete: ' | grep ';handler' | grep -v ';main;.*outer;' | head -3)" ''
release

# ---- A thread's number that a process of another has after it ----

start "$T/tid.out" "$bin/tidreuse"
reuse=$started
wait_for 20 grep -q '^ready' "$T/tid.out"
tid=$(sed -n 's/^ready //p' "$T/tid.out")
bounded_start -F 499 -t "$tid"
wait_for 60 burned "$reuse" 60
kill -USR1 "$reuse"
ok 'a number used again: it is' wait_for 20 grep -q '^reused' "$T/tid.out"
wait_for 60 burned "$tid" 60
bounded_stop
is 'a number used again: wick ends well' "$status" 0
holds 'a number used again: the thread is there' "$(folded_sum "$T/x.folded" h-thread) > 50"
is 'a number used again: the other is not' "$(folded_sum "$T/x.folded" h-other)" 0
stop "$reuse"

# ---- A return address at the beginning of a page, and a return that is probed further out ----

start "$T/aligned.out" "$bin/aligned"
aligned=$started
wait_for 20 grep -q '^ready' "$T/aligned.out"
is 'an aligned return: it is' "$(objdump -d --no-show-raw-insn "$bin/aligned" | grep -A1 'call.*<work>' | tail -1 | grep -c '000:')" 1
for probe in without with; do
	if [ $probe = with ]; then
		start "$T/probe" "${WICK_TOOLS:-$build/tests/tools}/probe" "$bin/aligned" "$(nm "$bin/aligned" | sed -n 's/^0*\([0-9a-f]*\) T probed$/\1/p')r"
		ok 'an aligned return: the probe is in place' wait_for 20 grep -q '^probing' "$T/probe"
	fi
	bounded -F 499 -p "$aligned" 1
	holds "an aligned return, $probe probe: sampled" "$(folded_sum "$T/x.folded" aligned) > 50"
	is "an aligned return, $probe probe: the stack" "$(other_stacks aligned "$whole(;probed(;aligned(;work)?)?)?")" ''
done
stop "$aligned" "$started"

finish
