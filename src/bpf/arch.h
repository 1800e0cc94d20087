/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * What differs between processors on the kernel side; one file each. Every one defines
 *   struct arch_context   what a perf event program is given: the registers at the tick
 *   struct arch_regs      the registers that user space was left with
 *   arch_ip, arch_sp      of the tick
 *   arch_in_kernel        whether the tick met the kernel
 *   ARCH_FILL, ARCH_FILL_FEW   the registers in DWARF's order, all or those that nearly every step needs
 *   arch_is_user          whether they are of user space,
 *   ARCH_IS_COMPAT        of a 32-bit program,
 *   arch_in_exec          left by execve or execveat
 */
#ifndef WICK_BPF_ARCH_H
#define WICK_BPF_ARCH_H

#if defined(__TARGET_ARCH_x86)
#include "bpf/arch_x86.h"
#elif defined(__TARGET_ARCH_arm64)
#include "bpf/arch_arm64.h"
#else
#error "wick does not know this processor"
#endif

#endif
