/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that take from others what wick has for all: unwind tables, rules, room for files, the worker's lives and time,
 * the cache of rows. Each mode makes files in FOLDER, runs code of them, says `ready` when all were run once, and goes
 * on until killed.
 *
 *   elves FOLDER collide FILES OFFSET...         sparse files with code at 2^45 or 2^46 + each OFFSET, which says that
 *                                                it has no caller: the rows of another file's OFFSETs are found under
 *                                                the same key if that is made of ids and offsets that overlap
 *   elves FOLDER pages FILES BYTES               sparse files whose call frame information is of both ends of BYTES,
 *                                                each half as large as the one before, to take all that is left
 *   elves FOLDER spread FILES BYTES              the same, all of one size
 *   elves FOLDER rules FILES ROWS                files with so many rows, no two alike
 *   elves FOLDER files FILES PROCESSES           tiny ones in each of so many processes, many mapped at a time
 *   elves FOLDER flood FILES                     so many in one process after the other, with much on the stack
 *   elves FOLDER holes FILES                     files on a full tmpfs whose headers are in a hole
 *   elves FOLDER sections FILES                  2^20 empty sections and a table of names without end
 */
#include "hostile/elf.h"

#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

#define TOGETHER 150 /* files mapped at a time */
#define A_MILLISECOND 20000
#define SETTLE_SECONDS 1.5 /* for whoever reads the files to have read them */
#define STAY_NS 600000
#define NO_CALLER "\x07\x10" /* DW_CFA_undefined of the return address */
#define NAMES_BYTES (1 << 20)
#define SECTIONS (1 << 20)

/* The name that its samples have. */
static void call_ourselves(const char *mode)
{
	char name[16];

	snprintf(name, sizeof(name), "h-%s", mode);
	prctl(PR_SET_NAME, name);
}

static const char *path_of(const char *folder, unsigned long number)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%lu.so", folder, number);
	return path;
}

/* Calls each of them, for a millisecond or so, again and again; `ready` after the first time and some more. */
__attribute__((noreturn)) static void run_all(unsigned char **codes, size_t len)
{
	double until = prog_clock(CLOCK_MONOTONIC) + SETTLE_SECONDS;

	for (bool said = false;;) {
		for (size_t i = 0; i < len; i++)
			elf_call(codes[i], A_MILLISECOND);
		if (!said && prog_clock(CLOCK_MONOTONIC) > until) {
			said = true;
			say_ready();
		}
	}
}

static unsigned char **codes_for(size_t len)
{
	unsigned char **codes = calloc(len ? len : 1, sizeof(*codes));

	if (!codes)
		die("calloc");
	return codes;
}

/* A tmpfs that nobody else sees: it takes files as large as one likes, and is full when one likes. */
static void mount_tmpfs(const char *folder, size_t pages)
{
	char options[64];

	enter_name_spaces();
	snprintf(options, sizeof(options), "size=%zu", pages * 4096);
	if (mount("tmpfs", folder, "tmpfs", 0, options))
		die("mounting a tmpfs");
}

/* ---- rows of others ---- */

static unsigned char **places;
static size_t places_len;

/* The program goes on at the next place. */
static void go_on(int number, siginfo_t *info, void *context)
{
	static size_t at;

	(void)number;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)places[at++ % places_len];
}

/* Stays at each place for a moment, in one instruction that jumps to itself. */
__attribute__((noreturn)) static void stay_at_each(void)
{
	struct sigaction action = { .sa_sigaction = go_on, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGVTALRM };
	struct itimerspec every = { { 0, STAY_NS }, { 0, STAY_NS } };
	timer_t timer;

	if (sigaction(SIGVTALRM, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &every, NULL))
		die("timer");
	for (;;)
		;
}

/*
 * Of files whose ids are 32 apart, the rows of an offset fall into the same place of the cache. One of them takes it
 * from the victim's row, another may leave its own there under the victim's key; which one is not known, so by turns
 * each is the last.
 */
static void put_in_order(unsigned char *const *codes, size_t files, size_t offsets)
{
	size_t turns = files / 32;

	places = codes_for(files * offsets * turns);
	for (size_t turn = 0; turn < turns; turn++)
		for (size_t offset = 0; offset < offsets; offset++)
			for (size_t i = 0; i < 32 * turns; i++) {
				size_t file = i / turns + (i + turn) % turns * 32;

				places[places_len++] = codes[file * offsets + offset];
			}
}

static void collide(const char *folder, size_t files, char **offsets, size_t offsets_len)
{
	unsigned char **codes = codes_for(files * offsets_len);
	struct elf elf;

	mount_tmpfs(folder, files * (offsets_len + 16));
	elf_begin(&elf, 0x1000);
	elf_fde(&elf, 0x10000, 0x100000, NO_CALLER, 2);
	for (size_t i = 0; i < files; i++) {
		uint64_t base = 1ULL << (45 + i % 2);
		int fd;

		elf_end(&elf, base, 0x10000, 0x100000);
		fd = elf_write(&elf, path_of(folder, i), base + 0xfffff, "", 1);
		for (size_t k = 0; k < offsets_len; k++) {
			uint64_t at = base + strtoull(offsets[k], NULL, 0) % 0xff000;

			if (pwrite(fd, "\xeb\xfe", 2, (off_t)at) != 2)
				die("pwrite");
			codes[i * offsets_len + k] = elf_map(fd, at, 2);
		}
		close(fd);
	}
	put_in_order(codes, files, offsets_len);
	child(); /* one for each of two CPUs */
	say_ready();
	stay_at_each();
}

/* ---- tables and rules ---- */

static void take_pages(const char *folder, size_t files, uint64_t bytes, bool halves)
{
	unsigned char **codes = codes_for(files);

	for (size_t i = 0; i < files; i++) {
		struct elf elf;
		int fd;

		elf_begin(&elf, 0x1000);
		elf_fde(&elf, ELF_CODE, 0x100, "", 0);
		elf_fde(&elf, bytes - 0x1000, 0x100, "", 0);
		elf_end(&elf, 0, 0, bytes);
		fd = elf_write(&elf, path_of(folder, i), ELF_CODE, elf_leave, sizeof(elf_leave));
		if (ftruncate(fd, (off_t)bytes))
			die("ftruncate");
		codes[i] = elf_map(fd, ELF_CODE, 16);
		close(fd);
		free(elf.head);
		elf_call(codes[i], halves ? 20 * A_MILLISECOND : A_MILLISECOND); /* the large ones are read first */
		if (halves && bytes > 0x10000)
			bytes = bytes / 2 & ~0xfffULL;
	}
	run_all(codes, files);
}

/* Row after row, each with a CFA of its own. */
static size_t put_rows(unsigned char *program, size_t rows, uint32_t *cfa)
{
	size_t len = 0;

	for (size_t i = 0; i < rows; i++) {
		*cfa += 8;
		program[len++] = 0x41; /* DW_CFA_advance_loc 1 */
		program[len++] = 0x0e; /* DW_CFA_def_cfa_offset */
		program[len++] = (unsigned char)(*cfa | 0x80);
		program[len++] = (unsigned char)(*cfa >> 7 | 0x80);
		program[len++] = (unsigned char)(*cfa >> 14 & 0x7f);
	}
	return len;
}

static void take_rules(const char *folder, size_t files, size_t rows)
{
	unsigned char **codes = codes_for(files), *program = malloc(rows * 5 + 8);
	uint32_t cfa = 1020; /* and so on: never one that a compiler makes */

	if (!program)
		die("malloc");
	for (size_t i = 0; i < files; i++) {
		struct elf elf;
		uint64_t code;
		int fd;

		elf_begin(&elf, rows * 5 + 0x1000);
		code = elf.head_len;
		elf_fde(&elf, code, 0x100, "", 0);
		elf_fde(&elf, code + 0x1000, rows + 1, program, put_rows(program, rows, &cfa));
		elf_end(&elf, 0, 0, code + 0x1000 + rows + 0x1000);
		fd = elf_write(&elf, path_of(folder, i), code, elf_leave, sizeof(elf_leave));
		if (ftruncate(fd, (off_t)(code + 0x1000 + rows + 0x1000)))
			die("ftruncate");
		codes[i] = elf_map(fd, code, 16);
		close(fd);
		free(elf.head);
	}
	run_all(codes, files);
}

/* ---- files ---- */

/*
 * Many are mapped at a time, and each runs for a moment: what is met in one tick are all that are mapped. A flood goes
 * on in another process when one has had its share.
 */
static void many_files(const char *folder, size_t files, bool flood)
{
	unsigned char *maps[TOGETHER] = { 0 };
	char ballast[flood ? 60000 : 1], own[PATH_MAX / 2];
	struct elf elf;

	__asm__ volatile("" ::"r"(ballast) : "memory");
	snprintf(own, sizeof(own), "%s/%d", folder, (int)getpid());
	if (mkdir(own, 0755))
		die(own);
	elf_begin(&elf, 0x1000);
	elf_fde(&elf, ELF_CODE, 0x100, "", 0);
	elf_end(&elf, 0, 0, elf.head_len);
	for (size_t i = 0; i < files; i++) {
		unsigned char **slot = &maps[i % TOGETHER];
		const char *path = path_of(own, i);
		int fd = elf_write(&elf, path, ELF_CODE, elf_leave, sizeof(elf_leave));

		if (*slot)
			munmap(*slot, 0x1000);
		*slot = elf_map(fd, ELF_CODE, 16);
		close(fd);
		unlink(path);
		elf_call(*slot, A_MILLISECOND / (flood ? 10 : 4));
	}
	if (flood)
		return;
	run_all(maps, files < TOGETHER ? files : TOGETHER);
}

static void flood_files(const char *folder, size_t files)
{
	for (bool first = true;; first = false) {
		pid_t pid = child();

		if (!pid) {
			many_files(folder, files, true);
			_exit(0);
		}
		if (first)
			say_ready();
		waitpid(pid, NULL, 0);
	}
}

/* ---- the worker's lives and time ---- */

/* Reading a hole by way of a mapping takes a page, and there is none. */
static void holes(const char *folder, size_t files)
{
	unsigned char **codes = codes_for(files);
	char page[4096] = { 0 };
	int fd;

	mount_tmpfs(folder, 2 * files + 64);
	for (size_t i = 0; i < files; i++) {
		fd = open(path_of(folder, i), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
		if (fd < 0 || pwrite(fd, elf_leave, sizeof(elf_leave), ELF_CODE) != sizeof(elf_leave) ||
		    ftruncate(fd, 2 * ELF_CODE))
			die("writing a hole");
		codes[i] = elf_map(fd, ELF_CODE, 16);
		close(fd);
	}
	fd = open(path_of(folder, files), O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	while (write(fd, page, sizeof(page)) > 0)
		;
	run_all(codes, files);
}

static void sections(const char *folder, size_t files)
{
	unsigned char **codes = codes_for(files);
	char *names = malloc(NAMES_BYTES);
	Elf64_Shdr first = { .sh_size = SECTIONS, .sh_link = 1 };
	Elf64_Shdr second = { .sh_type = SHT_STRTAB, .sh_offset = 0x10000, .sh_size = NAMES_BYTES };
	uint64_t at = 0x10000 + NAMES_BYTES;
	Elf64_Ehdr *header;
	struct elf elf;

	if (!names)
		die("malloc");
	memset(names, 'n', NAMES_BYTES);
	elf_begin(&elf, 0x1000);
	elf_fde(&elf, ELF_CODE, 0x100, "", 0);
	elf_end(&elf, 0, 0, elf.head_len);
	header = (Elf64_Ehdr *)elf.head;
	header->e_shoff = at;
	header->e_shnum = 0;
	header->e_shstrndx = 1;
	for (size_t i = 0; i < files; i++) {
		int fd = elf_write(&elf, path_of(folder, i), ELF_CODE, elf_leave, sizeof(elf_leave));

		if (pwrite(fd, names, NAMES_BYTES, 0x10000) != NAMES_BYTES ||
		    pwrite(fd, &first, sizeof(first), (off_t)at) != sizeof(first) ||
		    pwrite(fd, &second, sizeof(second), (off_t)(at + sizeof(first))) != sizeof(second) ||
		    ftruncate(fd, (off_t)(at + (uint64_t)SECTIONS * sizeof(first))))
			die("writing sections");
		codes[i] = elf_map(fd, ELF_CODE, 16);
		close(fd);
	}
	run_all(codes, files);
}

int main(int argc, char **argv)
{
	const char *folder, *mode;
	size_t files;

	if (argc < 4)
		return 2;
	folder = argv[1];
	mode = argv[2];
	files = strtoul(argv[3], NULL, 0);
	prog_begin();
	call_ourselves(mode);
	if (!strcmp(mode, "collide") && argc > 4)
		collide(folder, files, argv + 4, (size_t)argc - 4);
	if ((!strcmp(mode, "pages") || !strcmp(mode, "spread")) && argc > 4)
		take_pages(folder, files, strtoull(argv[4], NULL, 0), !strcmp(mode, "pages"));
	if (!strcmp(mode, "rules") && argc > 4)
		take_rules(folder, files, strtoul(argv[4], NULL, 0));
	if (!strcmp(mode, "files") && argc > 4)
		for (int i = 1; i < atoi(argv[4]) && child(); i++)
			;
	if (!strcmp(mode, "files"))
		many_files(folder, files, false);
	if (!strcmp(mode, "flood"))
		flood_files(folder, files);
	if (!strcmp(mode, "holes"))
		holes(folder, files);
	if (!strcmp(mode, "sections"))
		sections(folder, files);
	return 2;
}
