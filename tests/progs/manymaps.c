/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process with many mappings that spins until killed.
 *
 *   manymaps COUNT
 *
 * Prints "maps N", counted in /proc/self/maps, when it begins to spin.
 */
#include "prog.h"
#include <sys/mman.h>

static NOINLINE void hot(void)
{
	PROG_WORK(PROG_UNIT);
}

static unsigned long count_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long lines = 0;
	int c;

	if (!maps)
		prog_die("/proc/self/maps");
	while ((c = getc(maps)) != EOF)
		lines += c == '\n';
	fclose(maps);
	return lines;
}

int main(int argc, char **argv)
{
	size_t count, page = (size_t)sysconf(_SC_PAGESIZE);
	char *at;

	if (argc != 2)
		return 2;
	prog_begin();
	count = (size_t)atol(argv[1]);
	at = mmap(NULL, count * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		prog_die("mmap");
	for (size_t i = 0; i < count; i += 2) { /* neighbours that differ cannot merge */
		if (mprotect(at + i * page, page, PROT_READ | PROT_EXEC))
			prog_die("mprotect");
	}
	printf("maps %lu\n", count_maps());
	for (;;)
		hot();
}
