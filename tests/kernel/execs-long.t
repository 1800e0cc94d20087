#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The storm of execs.t for twenty seconds, and at its full rate.

export STORM_SECONDS=20 STORM_LEAST=0.9
# shellcheck source=execs.t
. "$(dirname "$0")/execs.t"
