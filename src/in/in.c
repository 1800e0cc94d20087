/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells formats apart by their first bytes. Folded stacks have none of their own: they are what is left, so what is
 * surely something else is named first, with what to do about it.
 */
#include "in/in.h"

#include <errno.h>
#include <string.h>

#include "base/fail.h"
#include "profile/wick_format.h"

/* Known, and not read. */
static const struct {
	const char *begin;
	size_t len;
	const char *what, *hint;
} others[] = {
	{ "\x1f\x8b", 2, "it is packed with gzip", "unpack it first, as with zcat" },
	{ "\x28\xb5\x2f\xfd", 4, "it is packed with zstd", "unpack it first, as with zstdcat" },
	{ "\xfd\x37zXZ", 5, "it is packed with xz", "unpack it first, as with xzcat" },
	{ "PERFILE2", 8, "it is perf's data", "perf script | stackcollapse-perf.pl makes folded stacks of it" },
	{ "\x7f"
	  "ELF",
	  4, "it is a program", "profiles are .wick files and folded stacks" },
};

int in_read(struct profile **ret, const void *data, size_t len)
{
	if (!len)
		return fail_plain(-EINVAL, "the profile is empty: there is nothing to read");
	/* One byte of it is enough: a .wick file that was damaged should be called that. */
	if (((const unsigned char *)data)[0] == (unsigned char)WICK_MAGIC[0])
		return in_wick(ret, data, len);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (len >= others[i].len && !memcmp(data, others[i].begin, others[i].len)) {
			fail_plain(-EINVAL, "not a profile that can be read: %s", others[i].what);
			return fail_hint(-EINVAL, "%s", others[i].hint);
		}
	return in_folded(ret, data, len);
}
