/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that a program made for itself, in memory that runtimes use for it: main, call, the code. Writes its map,
 * /tmp/perf-PID.map, where the code is called after the kind of memory, made_in_KIND, and removes it at the end of its
 * life if nobody else does. Says `ready` and runs until killed.
 *
 *   jitcode private|shared|memfd|double|huge
 *
 * shared is anonymous memory that could be shared; memfd a file without a name; double one that is mapped twice, once
 * to be written and once to be run, as .NET does; huge is of large pages, as Java with -XX:+UseLargePages has it.
 */
#include <sys/mman.h>

#include "hostile/hostile.h"

#define HUGE_BYTES (2 << 20)

static const unsigned char code[] = {
	0x55,             /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0x48, 0xff, 0xcf, /* dec %rdi */
	0x75, 0xfb,       /* jnz to the dec */
	0x5d,             /* pop %rbp */
	0xc3,             /* ret */
};

static NOINLINE void call(void (*made)(unsigned long))
{
	made(1000UL * PROG_UNIT);
	PROG_STAYS();
}

static void *make_memory(const char *kind)
{
	int protection = PROT_READ | PROT_WRITE | PROT_EXEC, fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	size_t len = 4096;
	void *at;

	if (!strcmp(kind, "shared")) {
		flags = MAP_SHARED | MAP_ANONYMOUS;
	} else if (!strcmp(kind, "huge")) {
		flags |= MAP_HUGETLB;
		len = HUGE_BYTES;
	} else if (!strcmp(kind, "memfd") || !strcmp(kind, "double")) {
		fd = memfd_create(kind, MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, (off_t)len))
			die("memfd_create");
		flags = MAP_SHARED;
	}
	if (!strcmp(kind, "double")) {
		at = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);
		if (at == MAP_FAILED)
			die("mmap");
		memcpy(at, code, sizeof(code));
		protection = PROT_READ | PROT_EXEC;
	}
	at = mmap(NULL, len, protection, flags, fd, 0);
	if (at == MAP_FAILED)
		die("mmap");
	if (protection & PROT_WRITE)
		memcpy(at, code, sizeof(code));
	return at;
}

int main(int argc, char **argv)
{
	void (*made)(unsigned long);
	char path[64], name[16];
	FILE *map;

	if (argc != 2)
		return 2;
	prog_begin();
	snprintf(name, sizeof(name), "h-%s", argv[1]);
	prctl(PR_SET_NAME, name);
	*(void **)&made = make_memory(argv[1]);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map || fprintf(map, "%lx %zx made_in_%s\n", (unsigned long)(uintptr_t)made, sizeof(code), argv[1]) < 0 ||
	    fclose(map))
		die(path);
	say_ready();
	for (;;)
		call(made);
}
