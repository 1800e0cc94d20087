#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The programs that run are the same whether they were fitted to this kernel by the few types that wick picks or by all
# that the kernel has.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

tools=${WICK_TOOLS:-$tests_dir/../build/tests/tools}

run "$tools/progtags" picked
is 'by the types that wick picks, they load' "$status" 0
picked=$(cat "$T/stdout")
run "$tools/progtags" whole
is 'by all types, they load' "$status" 0
is 'each has the same instructions' "$picked" "$(cat "$T/stdout")"
ok 'the one that samples is among them' grep -qE '^on_tick [0-9a-f]{16}$' "$T/stdout"

finish
