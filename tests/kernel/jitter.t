#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program busy for the first quarter of every 1/99 of a second: a sampler of 99 Hz and a fixed phase sees it always or
# never; wick sees a quarter.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

# seen ARGUMENT...: the share of ticks in which the program was seen
seen() {
	record -F 99 -C 0 "$@" >&2 || return 1
	perl -e "printf '%.4f', $(folded_sum "$T/x.folded" periodic) / ($(stat_of "$T/x.json" .fired) || 1)"
}

start "$T/periodic" "$PROGS/periodic" 99 200 0
wait_for 10 grep -q periodic "/proc/$started/comm"

now_us() {
	perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'printf "%d", 1e6 * clock_gettime(CLOCK_MONOTONIC)'
}

# Somebody of its rank, or the machine's host, may have taken a part of the quarter: it is what the kernel says of it
meter "$T/meter" "$started"
from=$(now_us)
share=$(seen 12)
to=$(now_us)
stop "$started"
read -r used _ < <(metered "$T/meter" "$from" "$to")
quarter=$(perl -e "printf '%.4f', $used * 1e6 / ($to - $from)")
holds "a quarter, as it is (seen: $share, used: $quarter)" "$used > 0 && abs($share - $quarter) < 0.08"

# Several runs, because by chance one phase can be at the edge.
wrong=
for _ in 1 2 3 4; do
	fixed=$(seen --no-jitter 2)
	wrong="$wrong $fixed"
done
diag "without jitter:$wrong"
holds 'without jitter each run is far off, so jitter is what helps' "
	my @off = map { abs(\$_ - 0.25) } qw($wrong);
	my \$mean = 0;
	\$mean += \$_ / @off for @off;
	\$mean > 0.18 && \$mean > 2 * abs($share - $quarter)"

finish
