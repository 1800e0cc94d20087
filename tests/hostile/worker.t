#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The process that reads the files of targets, under attack: it dies of a thousand files, it is kept busy by two, and an
# ordinary user does to it what he may do to processes of his own. A recording ends in time, and the victims have their
# stacks and names.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# ---- Files that it dies of: their headers are in a hole of a full tmpfs ----

victims h
bounded_start -F 999
elves holes 1010
victims_burn 100
bounded_stop
judge holes h 1
release
stop_victims

# ---- Files that take it long: a million sections, and names without end ----

in_peace -F 499 3
victims h
elves sections 2
bounded -F 499 3
judge sections h

# ---- The same, and who is to be named has come later ----

bounded_start -F 499
victims_burn 30
stop_victims
victims later
victims_burn 60
bounded_stop
judge 'sections, later' later 1
release
stop_victims

# ---- A user whose processes it could be taken for ----

for how in kill stop; do
	victims h
	bounded_start -F 499 3
	attack "$how" "$bin/killer" "$wick" 30 "$how"
	bounded_end
	judge "$how" h
	wait_for 10 grep -q '^done' "$T/$how.out"
	is "$how: he may do that to none of wick's processes" "$(sed -n 's/^done //p' "$T/$how.out")" 0
	release
	stop_victims
done

serve -F 199
sealed_more 1
attack serve "$bin/killer" "$server" 3 kill
wait_for 10 grep -q '^done' "$T/serve.out"
is 'nor to those of a server' "$(sed -n 's/^done //p' "$T/serve.out")" 0
ok 'which goes on' sealed_more 2
end "$server" TERM

finish
