#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# Little memory may be locked: root raises the limit by itself; who cannot needs a kernel that does not ask (5.11 and
# later), or is told what to do in one line.

# shellcheck source=lib.sh
. /tests/lib.sh

resource=24 # CAP_SYS_RESOURCE

begin shares
wick="without -l 65536 wick" record 2
check "a small limit on locked memory" succeeded
check "is no hindrance to root" some '^shares;'

wick="without -c $resource -l 65536 wick" record 2
case $(uname -r) in
5.10.*)
	check "without CAP_SYS_RESOURCE: refused" [ "$status" -eq 1 ]
	check "in one line" [ "$(wc -l </tmp/err)" -eq 1 ]
	check "which says what it takes" grep -qiE 'memlock|locked memory|CAP_SYS_RESOURCE' /tmp/err
	check "and nothing is half written" [ ! -s /tmp/folded ]
	;;
*)
	check "without CAP_SYS_RESOURCE" succeeded
	check "it works all the same" some '^shares;'
	;;
esac
end
