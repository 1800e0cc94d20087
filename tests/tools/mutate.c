/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damages files in many ways, and asks the worker's code about each: mutate [-s SEED] [-o OUT -n NUMBER] COUNT FILE...
 *
 * Each file is changed COUNT times, each time in another way that the seed and its number give: bits, numbers in
 * headers and in sections, pieces that are copied, cleared, swapped or cut off. After each of them a process that is
 * confined as the worker is must answer or say why not: it must not crash, not take much longer than for the file as
 * it was, and not use more memory than the worker may. Prints a line for each file and exits with 1 if any of that does
 * not hold, with the numbers of the first that failed; -n NUMBER -o OUT writes what it asked about.
 */
#include "serving.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define CHANGES_MAX 8
#define FACTOR 20                     /* times as long as for the file as it was */
#define AT_LEAST_NS (2 * NS_PER_MS)   /* which is taken to be at least this */
#define DWARF_NS (100 * NS_PER_MS)    /* libdw may take so long, */
#define DWARF_MIB_NS (50 * NS_PER_MS) /* and so long for each MiB */
#define ROOM ((size_t)16 << 20)       /* of the program itself */
#define SHOWN 5

struct change {
	size_t at, len;
	unsigned char bytes[64];
};

/* One way to damage a file: what is written where, or where it ends. */
struct mutation {
	struct change changes[CHANGES_MAX];
	size_t len;
	size_t cut; /* SIZE_MAX: not at all */
};

struct subject {
	const char *path;
	unsigned char *bytes;
	size_t size;
	int fd; /* a copy, which is changed */
	bool elf;
	uint64_t usual_ns[SERVING_KINDS];
	struct buf requests[SERVING_KINDS];
	uint64_t state; /* of the random numbers */
	uint64_t worst_ns, worst_rss;
	unsigned int failed;
};

static uint64_t random_of(struct subject *subject, uint64_t below)
{
	uint64_t z = subject->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return below ? (z ^ z >> 31) % below : 0;
}

/* ---- damage ---- */

static struct change *add_change(struct subject *subject, struct mutation *mutation, size_t at, size_t len)
{
	struct change *change = &mutation->changes[mutation->len];

	if (mutation->len == CHANGES_MAX || !subject->size)
		return NULL;
	len = len < sizeof(change->bytes) ? len : sizeof(change->bytes);
	len = len < subject->size ? len : subject->size;
	change->at = at <= subject->size - len ? at : subject->size - len;
	change->len = len;
	memcpy(change->bytes, subject->bytes + change->at, len);
	mutation->len++;
	return change;
}

/* A number of those that are wrong in more interesting ways than most. */
static uint64_t odd_number(struct subject *subject)
{
	const uint64_t list[] = { 0,
				  1,
				  UINT64_MAX,
				  INT64_MAX,
				  UINT32_MAX,
				  INT32_MAX,
				  (uint64_t)1 << 31,
				  (uint64_t)1 << 32,
				  (uint64_t)1 << 40,
				  subject->size,
				  subject->size - 1,
				  subject->size / 2,
				  random_of(subject, subject->size),
				  random_of(subject, 0x10000),
				  random_of(subject, 0) };

	return list[random_of(subject, sizeof(list) / sizeof(*list))];
}

static void put_number(struct subject *subject, struct mutation *mutation, size_t at)
{
	uint64_t number = odd_number(subject);
	size_t len = (size_t)1 << random_of(subject, 4);
	struct change *change = add_change(subject, mutation, at, len);

	if (change)
		memcpy(change->bytes, &number, change->len < sizeof(number) ? change->len : sizeof(number));
}

static void flip_bits(struct subject *subject, struct mutation *mutation, size_t from, size_t len)
{
	for (uint64_t i = random_of(subject, CHANGES_MAX) + 1; i--;) {
		struct change *change = add_change(subject, mutation, from + random_of(subject, len), 1);

		if (change)
			change->bytes[0] ^= (unsigned char)(1 << random_of(subject, 8));
	}
}

/* A piece over another one, or zeros. */
static void put_piece(struct subject *subject, struct mutation *mutation, bool zeros)
{
	size_t len = 1 + random_of(subject, 64), from = random_of(subject, subject->size);
	struct change *change = add_change(subject, mutation, random_of(subject, subject->size), len);

	if (change && zeros)
		memset(change->bytes, 0, change->len);
	else if (change && from <= subject->size - change->len)
		memcpy(change->bytes, subject->bytes + from, change->len);
}

/* ---- damage to what is where in an ELF file ---- */

/* Where a table of headers is, as far as it is in the file. */
struct table {
	size_t at, entry, count;
};

static struct table table_of(const struct subject *subject, bool sections)
{
	Elf64_Ehdr header;
	struct table table;

	memcpy(&header, subject->bytes, sizeof(header));
	table = sections ? (struct table){ header.e_shoff, sizeof(Elf64_Shdr), header.e_shnum }
			 : (struct table){ header.e_phoff, sizeof(Elf64_Phdr), header.e_phnum };
	if (table.at > subject->size || table.count > (subject->size - table.at) / table.entry)
		table.count = 0;
	return table;
}

static void damage_header(struct subject *subject, struct mutation *mutation)
{
	struct table table = table_of(subject, random_of(subject, 3));

	if (!table.count || !random_of(subject, 8))
		put_number(subject, mutation, random_of(subject, sizeof(Elf64_Ehdr)) & ~(size_t)1);
	else
		put_number(subject, mutation, table.at + random_of(subject, table.count * table.entry) / 4 * 4);
}

/* Eight bytes of one header into another one: offsets and sizes that belong to something else. */
static void swap_headers(struct subject *subject, struct mutation *mutation)
{
	struct table table = table_of(subject, true);
	size_t field = random_of(subject, table.entry / 8) * 8, from, to;
	struct change *change;

	if (!table.count)
		return;
	from = table.at + random_of(subject, table.count) * table.entry + field;
	to = table.at + random_of(subject, table.count) * table.entry + field;
	change = add_change(subject, mutation, to, 8);
	if (change)
		memcpy(change->bytes, subject->bytes + from, 8);
}

/* Within one section: those with code are the least interesting. */
static void damage_section(struct subject *subject, struct mutation *mutation)
{
	struct table table = table_of(subject, true);
	Elf64_Shdr section = { 0 };

	for (unsigned int tries = 0; tries < 8 && table.count; tries++) {
		memcpy(&section, subject->bytes + table.at + random_of(subject, table.count) * table.entry,
		       sizeof(section));
		if (section.sh_size && section.sh_type != SHT_NOBITS && !(section.sh_flags & SHF_EXECINSTR) &&
		    section.sh_offset < subject->size && section.sh_size <= subject->size - section.sh_offset)
			break;
		section.sh_size = 0;
	}
	if (!section.sh_size)
		return;
	if (random_of(subject, 2))
		flip_bits(subject, mutation, section.sh_offset, section.sh_size);
	else
		for (uint64_t i = random_of(subject, CHANGES_MAX) + 1; i--;)
			put_number(subject, mutation, section.sh_offset + random_of(subject, section.sh_size));
}

static void choose_mutation(struct subject *subject, struct mutation *ret)
{
	uint64_t way = random_of(subject, subject->elf ? 16 : 8);

	*ret = (struct mutation){ .cut = SIZE_MAX };
	if (way == 0)
		ret->cut = random_of(subject, subject->size);
	else if (way <= 2)
		put_piece(subject, ret, way == 1);
	else if (way <= 4)
		flip_bits(subject, ret, 0, subject->size);
	else if (way <= 7)
		put_number(subject, ret, random_of(subject, subject->size));
	else if (way <= 10)
		damage_header(subject, ret);
	else if (way == 11)
		swap_headers(subject, ret);
	else
		damage_section(subject, ret);
}

/* ---- trying ---- */

static bool write_at(int fd, const void *bytes, size_t len, size_t at)
{
	return pwrite(fd, bytes, len, (off_t)at) == (ssize_t)len;
}

static bool apply(struct subject *subject, const struct mutation *mutation)
{
	bool good = true;

	for (size_t i = 0; i < mutation->len; i++)
		good &= write_at(subject->fd, mutation->changes[i].bytes, mutation->changes[i].len,
				 mutation->changes[i].at);
	return good && (mutation->cut == SIZE_MAX || !ftruncate(subject->fd, (off_t)mutation->cut));
}

static bool undo(struct subject *subject, const struct mutation *mutation)
{
	bool good = true;

	if (mutation->cut != SIZE_MAX)
		good = write_at(subject->fd, subject->bytes + mutation->cut, subject->size - mutation->cut,
				mutation->cut);
	for (size_t i = 0; i < mutation->len; i++)
		good &= write_at(subject->fd, subject->bytes + mutation->changes[i].at, mutation->changes[i].len,
				 mutation->changes[i].at);
	return good;
}

static uint64_t allowed_ns(const struct subject *subject, size_t kind)
{
	uint64_t usual = subject->usual_ns[kind] > AT_LEAST_NS ? subject->usual_ns[kind] : AT_LEAST_NS;

	return usual * FACTOR +
	       (serving_kinds[kind].ask.lines ? DWARF_NS + DWARF_MIB_NS * (1 + (subject->size >> 20)) : 0);
}

static bool is_bad(const struct subject *subject, size_t kind, const struct serving *result)
{
	return !result->answered || result->signal || result->status || result->cpu_ns > allowed_ns(subject, kind) ||
	       result->rss > SERVING_MEMORY + subject->size + ROOM;
}

/* Files that cannot be cheap twice: once more, if only the time is wrong. */
static void ask(struct subject *subject, size_t kind, uint64_t number, bool judge)
{
	struct serving result;

	if (serving_ask(&subject->requests[kind], subject->fd, &result) ||
	    (judge && is_bad(subject, kind, &result) && result.answered &&
	     serving_ask(&subject->requests[kind], subject->fd, &result))) {
		perror("asking");
		exit(2);
	}
	if (!judge && (!subject->usual_ns[kind] || result.cpu_ns < subject->usual_ns[kind]))
		subject->usual_ns[kind] = result.cpu_ns;
	if (!judge || !is_bad(subject, kind, &result)) {
		subject->worst_ns = result.cpu_ns > subject->worst_ns ? result.cpu_ns : subject->worst_ns;
		subject->worst_rss = result.rss > subject->worst_rss ? result.rss : subject->worst_rss;
		return;
	}
	if (subject->failed++ < SHOWN)
		fprintf(stderr,
			"%s: number %" PRIu64 ": %s: signal %d, status %d, %" PRIu64 " us of %" PRIu64 ", %" PRIu64
			" KiB\n",
			subject->path, number, serving_kinds[kind].name, result.signal, result.status,
			(uint64_t)(result.cpu_ns / NS_PER_US), (uint64_t)(allowed_ns(subject, kind) / NS_PER_US),
			result.rss >> 10);
}

/* What such a file is asked about. */
static bool is_asked(const struct subject *subject, size_t kind)
{
	return (serving_kinds[kind].ask.kind == ASK_JIT) != subject->elf;
}

static void try_one(struct subject *subject, uint64_t seed, uint64_t number, const char *out)
{
	struct mutation mutation;
	size_t kind;

	subject->state = seed * 0x2545f4914f6cdd1dULL + number * 0x9e3779b97f4a7c15ULL;
	choose_mutation(subject, &mutation);
	do
		kind = random_of(subject, SERVING_KINDS);
	while (!is_asked(subject, kind));
	if (!apply(subject, &mutation))
		exit(2);
	if (out) {
		int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

		lseek(subject->fd, 0, SEEK_SET);
		for (char piece[65536]; fd >= 0;) {
			ssize_t got = read(subject->fd, piece, sizeof(piece));

			if (got <= 0 || write(fd, piece, (size_t)got) != got)
				break;
		}
		printf("%s\n", serving_kinds[kind].name);
		exit(0);
	}
	ask(subject, kind, number, true);
	if (!undo(subject, &mutation))
		exit(2);
}

static bool open_subject(struct subject *subject, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;

	*subject = (struct subject){ .path = path, .fd = memfd_create("mutation", MFD_CLOEXEC) };
	if (fd < 0 || fstat(fd, &stat) || subject->fd < 0 || stat.st_size < (off_t)sizeof(Elf64_Ehdr))
		return false;
	subject->size = (size_t)stat.st_size;
	subject->bytes = mmap(NULL, subject->size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (subject->bytes == MAP_FAILED || !write_at(subject->fd, subject->bytes, subject->size, 0))
		return false;
	subject->elf = !memcmp(subject->bytes, ELFMAG, SELFMAG);
	for (size_t kind = 0; kind < SERVING_KINDS; kind++) {
		serving_request(&serving_kinds[kind], subject->size, &subject->requests[kind]);
		for (int i = 0; i < 3 && is_asked(subject, kind); i++)
			ask(subject, kind, 0, false);
	}
	subject->worst_ns = 0;
	return true;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, number = UINT64_MAX, count;
	const char *out = NULL;
	bool bad = false;

	for (int option; (option = getopt(argc, argv, "s:n:o:")) != -1;) {
		if (option == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (option == 'n')
			number = strtoull(optarg, NULL, 0);
		else if (option == 'o')
			out = optarg;
	}
	count = optind < argc ? strtoull(argv[optind++], NULL, 0) : 0;
	if (!count || optind == argc) {
		fprintf(stderr, "usage: mutate [-s SEED] [-n NUMBER -o OUT] COUNT FILE...\n");
		return 2;
	}
	for (; optind < argc; optind++) {
		struct subject subject;

		if (!open_subject(&subject, argv[optind])) {
			perror(argv[optind]);
			return 2;
		}
		if (out)
			try_one(&subject, seed, number, out);
		for (uint64_t i = 0; i < count; i++)
			try_one(&subject, seed, i, NULL);
		printf("%s: %" PRIu64 " ways, %u failed, at most %" PRIu64 " us, %" PRIu64 " KiB\n", subject.path,
		       count, subject.failed, (uint64_t)(subject.worst_ns / NS_PER_US), subject.worst_rss >> 10);
		fflush(stdout);
		bad |= subject.failed > 0;
		munmap(subject.bytes, subject.size);
		close(subject.fd);
		for (size_t kind = 0; kind < SERVING_KINDS; kind++)
			buf_free(&subject.requests[kind]);
	}
	return bad;
}
