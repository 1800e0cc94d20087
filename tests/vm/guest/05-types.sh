#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# Fitted to this kernel by the types that wick picks or by all that there are: the same programs.

# shellcheck source=lib.sh
. /tests/lib.sh

progtags picked >/tmp/picked 2>/tmp/err
check "loads by the types that wick picks" [ $? -eq 0 ]
progtags whole >/tmp/whole 2>>/tmp/err
check "loads by all types" [ $? -eq 0 ]
check "the same programs" cmp /tmp/picked /tmp/whole
check "the one that samples is among them" grep -q '^on_tick ' /tmp/picked
sed 's/^/# /' /tmp/err | tail -n 30
