#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# real.t at wick's own rate, for longer, in five rounds, and with perf's copied stacks in turn.

export REAL_ROUNDS=${REAL_ROUNDS:-5} REAL_SECONDS=${REAL_SECONDS:-4} REAL_HZ=${REAL_HZ:-99}
# shellcheck source=real.t
. "$(dirname "$0")/real.t"
