#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The machine is what the other tests take it for.

# shellcheck source=lib.sh
. /tests/lib.sh

echo "# Linux $(uname -r), $(nproc) CPUs"
check "two CPUs" [ "$(nproc)" = 2 ]
check "the kernel's types are at hand" [ -s /sys/kernel/btf/vmlinux ]
check "no tracefs, no debugfs" no grep -qE '^[^ ]+ [^ ]+ (tracefs|debugfs) ' /proc/mounts
