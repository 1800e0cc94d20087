#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# mutations.t, with more than ten thousand of each file, other ones each time.

export MUTATIONS=${MUTATIONS:-12000} MUTATIONS_SEED=${MUTATIONS_SEED:-$RANDOM}
# shellcheck source=mutations.t
. "$(dirname "$0")/mutations.t"
