/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernel addresses: the kernel itself, modules, BPF programs, ftrace trampolines. From /proc/kallsyms. */
#ifndef WICK_SYM_KERNEL_H
#define WICK_SYM_KERNEL_H

#include <stddef.h>
#include <stdint.h>

struct kernel_name {
	const char *name; /* NULL: this address has none */
	size_t len;
	const char *module; /* without brackets; "" for the kernel itself */
	size_t module_len;
	uint64_t start; /* of the function */
};

typedef void kernel_found(void *arg, size_t index, const struct kernel_name *name);

/*
 * Looks up `count` addresses, sorted ascending, in one pass over the text, keeping no table of it; `found` is called
 * once for each index. -EACCES with the reason in fail_text() where addresses are hidden (kptr_restrict).
 */
int kernel_names(const uint64_t *addresses, size_t count, kernel_found *found, void *arg);

/* The same on a text in memory, for tests. */
int kernel_names_in(const char *text, size_t len, const uint64_t *addresses, size_t count, kernel_found *found,
		    void *arg);

#endif
