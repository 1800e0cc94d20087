/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that do their worst to whoever unwinds them. Each runs, until killed, code of a file that it has made, whose
 * call frame information is what the mode says, or with a stack that is no stack; it calls itself after its mode.
 *
 *   hostile FOLDER MODE       one of the modes below
 *   hostile FOLDER many N     N tiny libraries, each a file of its own, some at a time; says `done` after the last one
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "prog.h"

#define CODE 0x1000
#define CFI 0x2000
#define SECTIONS 0x3000
#define SIZE 0x4000
#define SPARSE ((off_t)4 << 30)
#define TOGETHER 40 /* libraries that are mapped at a time */

static const unsigned char spin[] = { 0xf3, 0x90, 0xeb, 0xfc };                    /* pause; jmp to it */
static const unsigned char leave[] = { 0xff, 0xcf, 0xf3, 0x90, 0x75, 0xfa, 0xc3 }; /* edi times pause; ret */

struct library {
	unsigned char bytes[SIZE];
	size_t cfi;
	const char *program;
	size_t program_len;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void put(struct library *library, const void *bytes, size_t len)
{
	memcpy(library->bytes + CFI + library->cfi, bytes, len);
	library->cfi += len;
}

static void put_u32(struct library *library, uint32_t value)
{
	put(library, &value, sizeof(value));
}

static void put_u64(struct library *library, uint64_t value)
{
	put(library, &value, sizeof(value));
}

/* CFA = rsp + 8, return address below it. */
static void put_cie(struct library *library)
{
	put_u32(library, 20);
	put_u32(library, 0);
	put(library, "\x01\0\x01\x78\x10\x0c\x07\x08\x90\x01\0\0\0\0\0\0", 16);
}

static void put_fde(struct library *library, uint64_t start, uint64_t len, const char *program, size_t program_len)
{
	put_u32(library, (uint32_t)(4 + 16 + program_len));
	put_u32(library, (uint32_t)library->cfi);
	put_u64(library, start);
	put_u64(library, len);
	put(library, program, program_len);
}

/* Header, a segment of all of it, sections .eh_frame and names. */
static void put_elf(struct library *library)
{
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_DYN,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_phoff = sizeof(header),
			      .e_shoff = SECTIONS,
			      .e_ehsize = sizeof(header),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 1,
			      .e_shentsize = sizeof(Elf64_Shdr),
			      .e_shnum = 3,
			      .e_shstrndx = 2 };
	Elf64_Phdr segment = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = SIZE, .p_memsz = SIZE };
	Elf64_Shdr sections[3] = {
		[1] = { .sh_name = 1,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC,
			.sh_addr = CFI,
			.sh_offset = CFI,
			.sh_size = library->cfi },
		[2] = { .sh_name = 11, .sh_type = SHT_STRTAB, .sh_offset = SECTIONS + sizeof(sections), .sh_size = 21 },
	};

	memcpy(library->bytes, &header, sizeof(header));
	memcpy(library->bytes + sizeof(header), &segment, sizeof(segment));
	memcpy(library->bytes + SECTIONS, sections, sizeof(sections));
	memcpy(library->bytes + SECTIONS + sizeof(sections), "\0.eh_frame\0.shstrtab", 21);
}

static struct library *library_with(const unsigned char *code, size_t len, const char *program, size_t program_len)
{
	struct library *library = calloc(1, sizeof(*library));

	if (!library)
		die("calloc");
	memcpy(library->bytes + CODE, code, len);
	put_cie(library);
	put_fde(library, CODE, 0x100, program, program_len);
	put_elf(library);
	return library;
}

static int write_library(const struct library *library, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0 || write(fd, library->bytes, SIZE) != SIZE)
		die(path);
	return fd;
}

static unsigned char *map_library(int fd)
{
	unsigned char *at = mmap(NULL, CODE + 0x1000, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

/* Runs the code with this in r12, on this stack pointer (with nothing in rbp) if it is not zero. Never returns. */
static void run(const unsigned char *at, uint64_t r12, uint64_t sp)
{
	if (sp)
		__asm__ volatile("mov %1, %%r12; mov %2, %%rsp; mov $1, %%ebp; jmp *%0" ::"r"(at + CODE), "r"(r12),
				 "r"(sp)
				 : "memory", "r12");
	__asm__ volatile("mov %1, %%r12; call *%0" ::"r"(at + CODE), "r"(r12) : "memory", "r12");
	__builtin_unreachable();
}

struct mode {
	const char *name;
	const char *program; /* of the function's entry */
	size_t program_len;
	uint64_t r12, sp;
	void (*spoil)(struct library *library);                             /* before it is written */
	void (*disturb)(int fd, const char *path, struct library *library); /* when it is mapped */
};

#define BYTES(text) text, sizeof(text) - 1

/* The second description contradicts the first, others lie across it or reach beyond the address space. */
static void overlap(struct library *library)
{
	put_fde(library, CODE, 0x100, BYTES("\x0c\x0c\x00"));
	put_fde(library, CODE + 1, UINT64_MAX - CODE - 1, BYTES("\x0e\x40"));
	put_fde(library, UINT64_MAX - 0x100, 0x1000, BYTES("\x0e\x40"));
	put_elf(library);
}

static void huge_counts(struct library *library)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)library->bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(library->bytes + SECTIONS);

	header->e_shnum = 0xfeff;
	header->e_phnum = 0xfffe;
	sections[1].sh_size = UINT64_MAX - 1;
}

static void cut_off(int fd, const char *path, struct library *library)
{
	(void)path;
	(void)library;
	if (ftruncate(fd, CFI + 24))
		die("ftruncate");
}

/* Four billion bytes of call frame information, none of which is on any disk. */
static void stretch(int fd, const char *path, struct library *library)
{
	Elf64_Shdr *sections = (Elf64_Shdr *)(library->bytes + SECTIONS);

	(void)path;
	sections[1].sh_size = (uint64_t)SPARSE - SIZE;
	if (pwrite(fd, library->bytes, SIZE, 0) != SIZE || ftruncate(fd, SPARSE))
		die("stretch");
}

static void put_fifo(int fd, const char *path, struct library *library)
{
	(void)fd;
	(void)library;
	if (unlink(path) || mkfifo(path, 0666))
		die(path);
}

struct changing {
	int fd;
	struct library *library;
};

static void *change(void *arg)
{
	struct changing *changing = arg;
	uint64_t random = 1;

	for (;;) {
		for (int i = 0; i < 64; i++)
			changing->library->bytes[CFI + prog_random(&random) % 0x60] =
				(unsigned char)prog_random(&random);
		if (ftruncate(changing->fd, CFI) ||
		    pwrite(changing->fd, changing->library->bytes + CFI, SIZE - CFI, CFI) != SIZE - CFI)
			die("change");
	}
	return NULL;
}

static void keep_changing(int fd, const char *path, struct library *library)
{
	static struct changing changing;
	pthread_t thread;

	(void)path;
	changing = (struct changing){ fd, library };
	if (pthread_create(&thread, NULL, change, &changing))
		die("pthread_create");
}

static const struct mode modes[] = {
	{ .name = "h-good" },
	{ .name = "h-loop",
	  .program = "\x0c\x07\x00\x11\x10\x00",
	  .program_len = 6 }, /* CFA = rsp, return address at it */
	{ .name = "h-climb", .program = "\x0e\x10\x09\x10\x0c", .program_len = 5, .r12 = CODE }, /* r12 calls itself */
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
	struct library *library = library_with(spin, sizeof(spin), mode->program, mode->program_len);
	unsigned char *at;
	int fd;

	prctl(PR_SET_NAME, mode->name);
	if (mode->spoil)
		mode->spoil(library);
	fd = write_library(library, path);
	at = map_library(fd);
	if (mode->disturb)
		mode->disturb(fd, path, library);
	run(at, mode->r12 == CODE ? (uint64_t)at + CODE + 1 : mode->r12, mode->sp);
}

/* Code of a device: there is a file, and it is none. */
static void run_device(void)
{
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	unsigned char *at = mmap(NULL, 0x2000, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		die("/dev/zero");
	prctl(PR_SET_NAME, "h-device");
	memcpy(at + CODE, spin, sizeof(spin));
	run(at, 0, 0);
}

/* A stack of which only the part that is in use can be read: as if the rest were swapped out, or gone. */
static void run_unreadable(const char *path)
{
	struct library *library = library_with(spin, sizeof(spin), BYTES("\x0e\x10"));
	char *stack = mmap(NULL, 0x2000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	prctl(PR_SET_NAME, "h-unreadable");
	if (stack == MAP_FAILED || mprotect(stack + 0x1000, 0x1000, PROT_NONE))
		die("mmap");
	run(map_library(write_library(library, path)), 0, (uint64_t)stack + 0x1000 - 8);
}

static uint64_t *changing_slot;

static void *change_slot(void *arg)
{
	const uint64_t targets[] = {
		(uint64_t)(uintptr_t)arg + CODE + 1, 0,         1, (uint64_t)(uintptr_t)changing_slot,
		(uint64_t)(uintptr_t)&die + 5,       UINT64_MAX
	};

	for (unsigned int i = 0;; i++)
		__atomic_store_n(changing_slot, targets[i % (sizeof(targets) / sizeof(*targets))], __ATOMIC_RELAXED);
	return NULL;
}

/* Memory that another thread changes all the time, between any two reads. */
static void run_moving(const char *path)
{
	struct library *library = library_with(spin, sizeof(spin), NULL, 0);
	unsigned char *at = map_library(write_library(library, path));
	pthread_t thread;

	prctl(PR_SET_NAME, "h-moving");
	changing_slot = mmap(NULL, 0x1000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (changing_slot == MAP_FAILED || pthread_create(&thread, NULL, change_slot, at))
		die("h-moving");
	run(at, 0, (uint64_t)changing_slot);
}

/* Each of them runs for a moment; the others are there to be found. */
static void run_many(const char *path, unsigned long count)
{
	struct library *library = library_with(leave, sizeof(leave), NULL, 0);
	unsigned char *maps[TOGETHER] = { 0 };

	prctl(PR_SET_NAME, "h-many");
	for (unsigned long i = 0; i < count; i++) {
		unsigned char **slot = &maps[i % TOGETHER];
		int fd;

		memcpy(library->bytes + CODE + 0x80, &i, sizeof(i));
		unlink(path);
		fd = write_library(library, path);
		if (*slot)
			munmap(*slot, CODE + 0x1000);
		*slot = map_library(fd);
		close(fd);
		((void (*)(int))(void *)(*slot + CODE))(2000);
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
