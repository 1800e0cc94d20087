/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ELF file, and as notes. A build id that is found must be somewhere in them. */
#include "elf/buildid.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check(int len, const unsigned char *id, const uint8_t *data, size_t size)
{
	if (len < 0)
		return;
	must(len > 0 && len <= BUILD_ID_MAX);
	must(memmem(data, size, id, (size_t)len) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), len;
	unsigned char id[BUILD_ID_MAX];

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	len = buildid_read(fd, id);
	must(len > 0 || len == -ENODATA || len == -ENOEXEC);
	check(len, id, data, size);
	close(fd);
	len = buildid_from_notes(data, size, id);
	must(len > 0 || len == -ENODATA);
	check(len, id, data, size);
	return 0;
}
