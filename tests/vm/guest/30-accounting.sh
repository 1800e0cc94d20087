#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# Nothing is lost in silence: the sums hold to the sample when much is asked for and little is given.

# shellcheck source=lib.sh
. /tests/lib.sh

# stormy ARGUMENT...: record in a storm of forks
stormy() {
	begin storm 60 2
	record "$@"
	end
}

stormy -F 4999 2
check "4,999 Hz in a storm of forks" succeeded
check "the sums hold at 4,999 Hz" exact
stormy -F 997 --drain-ms 10 3
check "a drain every 10 ms: the sums hold" exact
stormy -F 997 --max-stacks 64 2
check "64 stacks: the sums hold" exact
check "what found no room is named" at_least 1 samples.lost.stacks
stormy -F 4999 --ring-bytes 4096 --drain-ms 1000 2
check "a ring of 4,096 bytes: the sums hold" exact
check "what found no room in the ring is named" at_least 1 samples.lost.ring
