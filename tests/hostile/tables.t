#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What wick has for all, taken by one: the room for unwind tables, for rules and for files, the time until a table is
# there, and the cache of rows, where another's frames are looked up. Programs of other users that come later are
# unwound and named as ever.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# later WHAT: victims that nobody has met before come while the attackers run; and then it ends, in time
later() {
	victims "$1"
	victims_burn 60
	bounded_stop
	stop_victims
	judge "$1" "$1" 1
	release
}

# ---- Another's rows under the victims' keys ----

# where_most NAME: the offset in its file where most of its samples are
where_most() {
	perl -e 'while (<STDIN>) { /^\Q$ARGV[0]\E;(?:.*;)?\Q$ARGV[0]\E\+(0x[0-9a-f]+)(?:;[^;]*_\[k\])* (\d+)$/ and $n{$1} += $2 }
		print((sort { $n{$b} <=> $n{$a} } keys %n)[0] // "none")' "$1" <"$T/x.folded"
}

victims h
bounded -F 999 --raw -p "$shares,$plain,$wide" 1
places=("$(where_most h-shares)" "$(where_most h-plain)" "$(where_most h-wide)")
ok "the victims' places are known: ${places[*]}" eval '! [[ "${places[*]}" = *none* ]]'
elves collide 96 "${places[@]}"
bounded -F 1999 -p "$shares,$plain,$wide,$started" --children 4
judge rows h 4
release
stop_victims

# ---- All pages, by one file; all pages, by many; all rules ----

bounded_start -F 999
elves pages 60 0x7fb00000
later pages

bounded_start -F 999
elves spread 520 0x400000
elves rules 4 8500
later rules

# ---- All files, by nine processes, each within what one may have ----

bounded_start -F 999
elves files 1024 9
later files

# ---- New files all the time, with as much on their stacks as is copied ----

bounded_start -F 999
for copy in 1 2 3; do
	mkdir -p "$home/flood$copy"
	chown $nobody "$home/flood$copy"
	attack "flood$copy" "$bin/elves" "$home/flood$copy" flood 1000
done
victims flood
victims_burn 60
bounded_stop
judge flood flood 1 && for pid in $shares $plain $wide; do
	holds "flood: the victims' first samples are not lost to it" "$(stat_of "$T/x.json" ".processes[] |
		select(.pid == $pid) | \"\(.incomplete.no_table // 0) <= 3 + 0.05 * \(.user_samples)\"")" ||
		diag "$(stat_of "$T/x.json" ".processes[] | select(.pid == $pid) | tostring")"
done
release
stop_victims

finish
