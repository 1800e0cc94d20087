#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The storm of execs.t for twenty seconds.

export STORM_SECONDS=20
# shellcheck source=execs.t
. "$(dirname "$0")/execs.t"
