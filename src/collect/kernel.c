/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/kallsyms has all the kernel's names and takes some 30 ms to read; a profile needs a few hundred of them. The
 * kernel formats an address as name+0xoffset/0xsize [module] for a BPF program, so wick asks for those it needs, 64 at
 * a time. What comes back is the kernel's word.
 */
#include "collect/kernel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/wire.h"
#include "collect/sampler.h"

/* "name+0x1f/0x40 [module]". False for anything else: an address that has no name is printed as a number. */
static bool parse(char *text, uint64_t address, struct kernel_name *ret)
{
	char *plus = strrchr(text, '+'), *module = plus ? strstr(plus, " [") : NULL;

	if (!plus || plus == text || strncmp(plus, "+0x", 3) || !strchr(plus, '/'))
		return false;
	*ret = (struct kernel_name){ .name = text, .len = (size_t)(plus - text), .module = "" };
	ret->start = address - strtoull(plus + 1, NULL, 16);
	if (module) {
		ret->module = module + 2;
		ret->module_len = strcspn(ret->module, "]");
	}
	return true;
}

static int ask_some(struct sampler *sampler, struct wire_name *names, const uint64_t *addresses, size_t count)
{
	for (size_t i = 0; i < WIRE_NAMES; i++) {
		names[i].address = i < count ? addresses[i] : 0;
		names[i].text[0] = 0;
	}
	if (sampler_run_names(sampler))
		return -ENOTSUP;
	return names[0].text[0] ? 0 : -ENOTSUP;
}

int kernel_ask(struct sampler *sampler, const uint64_t *addresses, size_t count, kernel_found *found, void *arg)
{
	const size_t len = WIRE_NAMES * sizeof(struct wire_name);
	struct wire_name *names =
		mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, sampler_map_fd(sampler, SAMPLER_NAMES), 0);
	int err = 0;

	if (names == MAP_FAILED)
		return -ENOTSUP;
	for (size_t at = 0; at < count && !err; at += WIRE_NAMES) {
		size_t some = count - at < WIRE_NAMES ? count - at : WIRE_NAMES;

		err = ask_some(sampler, names, addresses + at, some);
		for (size_t i = 0; i < some && !err; i++) {
			struct kernel_name name = { 0 };

			names[i].text[WIRE_NAME_LEN - 1] = 0;
			if (!parse(names[i].text, names[i].address, &name))
				name = (struct kernel_name){ 0 };
			found(arg, at + i, &name);
		}
	}
	munmap(names, len);
	return err;
}
