/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that do their worst to whoever unwinds them. Each runs, until killed, code of a file that it has made, whose
 * call frame information is what the mode says, or with a stack that is no stack; it calls itself after its mode.
 *
 *   hostile FOLDER MODE       one of the modes below
 *   hostile FOLDER many N     N tiny libraries, each a file of its own, some at a time; says `done` after the last one
 */
#include <pthread.h>

#include "hostile/elf.h"

#define SIZE 0x4000 /* of a library: its head is all there is */
#define SECTIONS 0x3000
#define SPARSE ((off_t)4 << 30)
#define TOGETHER 40 /* libraries that are mapped at a time */

static struct elf library;

static void make_library(const unsigned char *code, size_t len, const char *program, size_t program_len)
{
	elf_begin(&library, 0);
	memcpy(library.head + ELF_CODE, code, len);
	elf_fde(&library, ELF_CODE, 0x100, program, program_len);
	elf_end(&library, 0, 0, SIZE);
}

static int write_library(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0 || write(fd, library.head, SIZE) != SIZE)
		die(path);
	return fd;
}

static unsigned char *map_library(int fd)
{
	return elf_map(fd, 0, ELF_CODE + 0x1000);
}

/* Runs the code with this in r12, on this stack pointer (with nothing in rbp) if it is not zero. Never returns. */
static void run(const unsigned char *at, uint64_t r12, uint64_t sp)
{
	if (sp)
		__asm__ volatile("mov %1, %%r12; mov %2, %%rsp; mov $1, %%ebp; jmp *%0" ::"r"(at + ELF_CODE), "r"(r12),
				 "r"(sp)
				 : "memory", "r12");
	__asm__ volatile("mov %1, %%r12; call *%0" ::"r"(at + ELF_CODE), "r"(r12) : "memory", "r12");
	__builtin_unreachable();
}

struct mode {
	const char *name;
	const char *program; /* of the function's entry */
	size_t program_len;
	uint64_t r12, sp;
	void (*spoil)(void);                       /* before the library is written */
	void (*disturb)(int fd, const char *path); /* when it is mapped */
};

#define BYTES(text) text, sizeof(text) - 1

/* The second description contradicts the first, others lie across it or reach beyond the address space. */
static void overlap(void)
{
	elf_fde(&library, ELF_CODE, 0x100, BYTES("\x0c\x0c\x00"));
	elf_fde(&library, ELF_CODE + 1, UINT64_MAX - ELF_CODE - 1, BYTES("\x0e\x40"));
	elf_fde(&library, UINT64_MAX - 0x100, 0x1000, BYTES("\x0e\x40"));
	elf_end(&library, 0, 0, SIZE);
}

static void huge_counts(void)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)library.head;
	Elf64_Shdr *sections = (Elf64_Shdr *)(library.head + SECTIONS);

	header->e_shnum = 0xfeff;
	header->e_phnum = 0xfffe;
	sections[1].sh_size = UINT64_MAX - 1;
}

static void cut_off(int fd, const char *path)
{
	(void)path;
	if (ftruncate(fd, ELF_CFI + 24))
		die("ftruncate");
}

/* Four billion bytes of call frame information, none of which is on any disk. */
static void stretch(int fd, const char *path)
{
	Elf64_Shdr *sections = (Elf64_Shdr *)(library.head + SECTIONS);

	(void)path;
	sections[1].sh_size = (uint64_t)SPARSE - SIZE;
	if (pwrite(fd, library.head, SIZE, 0) != SIZE || ftruncate(fd, SPARSE))
		die("stretch");
}

static void put_fifo(int fd, const char *path)
{
	(void)fd;
	if (unlink(path) || mkfifo(path, 0666))
		die(path);
}

static void *change(void *arg)
{
	int fd = *(int *)arg;
	uint64_t random = 1;

	for (;;) {
		for (int i = 0; i < 64; i++)
			library.head[ELF_CFI + prog_random(&random) % 0x60] = (unsigned char)prog_random(&random);
		if (ftruncate(fd, ELF_CFI) ||
		    pwrite(fd, library.head + ELF_CFI, SIZE - ELF_CFI, ELF_CFI) != SIZE - ELF_CFI)
			die("change");
	}
	return NULL;
}

static void keep_changing(int fd, const char *path)
{
	static int changing;
	pthread_t thread;

	(void)path;
	changing = fd;
	if (pthread_create(&thread, NULL, change, &changing))
		die("pthread_create");
}

static const struct mode modes[] = {
	{ .name = "h-good" },
	{ .name = "h-loop",
	  .program = "\x0c\x07\x00\x11\x10\x00",
	  .program_len = 6 }, /* CFA = rsp, return address at it */
	{ .name = "h-climb",
	  .program = "\x0e\x10\x09\x10\x0c",
	  .program_len = 5,
	  .r12 = ELF_CODE }, /* r12 calls itself */
	{ .name = "h-kernel", .program = "\x0c\x0c\x00", .program_len = 3, .r12 = 0xffff888000000000 }, /* CFA = r12 */
	{ .name = "h-nowhere", .program = "\x0c\x0c\x00", .program_len = 3, .r12 = 0x00ffffffffff0000 },
	{ .name = "h-deref",
	  .program = "\x0f\x03\x7c\x00\x06",
	  .program_len = 5,
	  .r12 = 0xffffffffff600000 }, /* *r12 */
	{ .name = "h-odd", .program = "\x0f\x04\x7c\x00\x06\x06", .program_len = 6 },
	{ .name = "h-overlap", .spoil = overlap },
	{ .name = "h-huge", .spoil = huge_counts },
	{ .name = "h-cut", .disturb = cut_off },
	{ .name = "h-sparse", .disturb = stretch },
	{ .name = "h-fifo", .disturb = put_fifo },
	{ .name = "h-changing", .disturb = keep_changing },
	{ .name = "h-sp-low", .sp = 0x10 },
	{ .name = "h-sp-kernel", .sp = 0xffff888000000000 },
	{ .name = "h-sp-gap", .sp = 0x00007ff000000000 },
	{ .name = "h-sp-odd", .sp = 0x1003 },
};

static void run_mode(const struct mode *mode, const char *path)
{
	unsigned char *at;
	int fd;

	make_library(elf_spin, sizeof(elf_spin), mode->program, mode->program_len);
	prctl(PR_SET_NAME, mode->name);
	if (mode->spoil)
		mode->spoil();
	fd = write_library(path);
	at = map_library(fd);
	if (mode->disturb)
		mode->disturb(fd, path);
	run(at, mode->r12 == ELF_CODE ? (uint64_t)at + ELF_CODE + 1 : mode->r12, mode->sp);
}

/* Code of a device: there is a file, and it is none. */
static void run_device(void)
{
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	unsigned char *at = mmap(NULL, 0x2000, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		die("/dev/zero");
	prctl(PR_SET_NAME, "h-device");
	memcpy(at + ELF_CODE, elf_spin, sizeof(elf_spin));
	run(at, 0, 0);
}

/* A stack of which only the part that is in use can be read: as if the rest were swapped out, or gone. */
static void run_unreadable(const char *path)
{
	char *stack = mmap(NULL, 0x2000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	prctl(PR_SET_NAME, "h-unreadable");
	if (stack == MAP_FAILED || mprotect(stack + 0x1000, 0x1000, PROT_NONE))
		die("mmap");
	make_library(elf_spin, sizeof(elf_spin), BYTES("\x0e\x10"));
	run(map_library(write_library(path)), 0, (uint64_t)stack + 0x1000 - 8);
}

static uint64_t *changing_slot;

static void *change_slot(void *arg)
{
	const uint64_t targets[] = {
		(uint64_t)(uintptr_t)arg + ELF_CODE + 1, 0,         1, (uint64_t)(uintptr_t)changing_slot,
		(uint64_t)(uintptr_t)&die + 5,           UINT64_MAX
	};

	for (unsigned int i = 0;; i++)
		__atomic_store_n(changing_slot, targets[i % (sizeof(targets) / sizeof(*targets))], __ATOMIC_RELAXED);
	return NULL;
}

/* Memory that another thread changes all the time, between any two reads. */
static void run_moving(const char *path)
{
	unsigned char *at;
	pthread_t thread;

	make_library(elf_spin, sizeof(elf_spin), "", 0);
	at = map_library(write_library(path));
	prctl(PR_SET_NAME, "h-moving");
	changing_slot = mmap(NULL, 0x1000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (changing_slot == MAP_FAILED || pthread_create(&thread, NULL, change_slot, at))
		die("h-moving");
	run(at, 0, (uint64_t)changing_slot);
}

/* Each of them runs for a moment; the others are there to be found. */
static void run_many(const char *path, unsigned long count)
{
	unsigned char *maps[TOGETHER] = { 0 };

	make_library(elf_leave, sizeof(elf_leave), "", 0);
	prctl(PR_SET_NAME, "h-many");
	for (unsigned long i = 0; i < count; i++) {
		unsigned char **slot = &maps[i % TOGETHER];
		int fd;

		memcpy(library.head + ELF_CODE + 0x80, &i, sizeof(i));
		unlink(path);
		fd = write_library(path);
		if (*slot)
			munmap(*slot, ELF_CODE + 0x1000);
		*slot = map_library(fd);
		close(fd);
		elf_call(*slot + ELF_CODE, 2000);
	}
	printf("done\n");
	fflush(stdout);
	pause();
}

int main(int argc, char **argv)
{
	char path[4096];

	if (argc < 3)
		return 2;
	alarm(PROG_LIFE_SECONDS);
	snprintf(path, sizeof(path), "%s/%s.so", argv[1], argv[2]);
	if (!strcmp(argv[2], "h-device"))
		run_device();
	if (!strcmp(argv[2], "h-unreadable"))
		run_unreadable(path);
	if (!strcmp(argv[2], "h-moving"))
		run_moving(path);
	if (!strcmp(argv[2], "many") && argc > 3)
		run_many(path, strtoul(argv[3], NULL, 10));
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(argv[2], modes[i].name))
			run_mode(&modes[i], path);
	return 2;
}
