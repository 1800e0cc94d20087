/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel names from /proc/kallsyms, which has 100,000 lines and more, for the few hundred addresses that were sampled.
 * One pass, no table of symbols: the addresses, sorted, divide the numbers into slots; of each slot the highest symbol
 * and the lowest are kept. Afterwards the highest symbol at or below an address is that of its slot or of the next one
 * below that has any, and likewise for the first symbol above it. The order of lines does not matter.
 *
 * Symbols have no size there: an address far above its symbol, or beyond the last one of a module, has no name.
 */
#include "sym/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"

#define PIECE ((size_t)512 << 10)
#define TEXT_MAX ((uint64_t)512 << 20)
#define COUNT_MAX ((size_t)1 << 24)
#define FUNCTION_MAX ((uint64_t)1 << 20)   /* no function is longer */
#define LAST_MAX ((uint64_t)4096)          /* what is believed of the last function of a module */
#define LAST_BPF_MAX ((uint64_t)128 << 10) /* and of a BPF program: one function, often long, with no other beside it */
#define NAMES_MAX ((size_t)256 << 20)

enum rank { RANK_MARK, RANK_WEAK_LOCAL, RANK_LOCAL, RANK_WEAK, RANK_GLOBAL };

struct symbol {
	uint64_t start;
	const char *name, *module;
	size_t len, module_len;
	enum rank rank;
};

/* Symbols that are above the address before and at or below this one. */
struct slot {
	uint64_t high, low;
	size_t name, len, module, module_len; /* of the highest one; offsets in `names` */
	size_t low_module, low_module_len;
	enum rank rank;
	bool used;
};

struct search {
	const uint64_t *addresses;
	size_t count;
	struct slot *slots;      /* one more than addresses: the last is for what is above all of them */
	size_t at;               /* slot of the symbol before, where the next one probably is as well */
	struct symbol high, low; /* of that slot, not yet copied */
	bool pending;
	struct buf names;
	bool any, any_address;
};

/* ---- Which of two symbols at one address ---- */

static bool ends_in(const char *name, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len >= end_len && !memcmp(name + len - end_len, end, end_len);
}

/* Marks where a section begins or ends, not a function. */
static bool is_mark(const char *name, size_t len)
{
	static const char *const marks[] = { "_text", "_stext", "_etext", "_sinittext", "_einittext" };

	if (name[0] != '_')
		return false;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (len == strlen(marks[i]) && !memcmp(name, marks[i], len))
			return true;
	}
	return ends_in(name, len, "text_start") || ends_in(name, len, "text_end") || ends_in(name, len, "text_begin");
}

static size_t underscores(const char *name, size_t len)
{
	size_t count = 0;

	while (count < len && name[count] == '_')
		count++;
	return count;
}

/* A second name of code that has a better known one: 32-bit entries of system calls, copies for early boot. */
static bool is_alias(const char *name, size_t len)
{
	return memmem(name, len, "__ia32_", 7) || (len > 5 && !memcmp(name, "__pi_", 5));
}

/* Whether the second is the better name for the same address. */
static bool better(enum rank rank, const char *name, size_t len, const struct symbol *second)
{
	size_t first_count, second_count;
	int order;

	if (rank != second->rank)
		return second->rank > rank;
	if (is_alias(name, len) != is_alias(second->name, second->len))
		return is_alias(name, len);
	first_count = underscores(name, len);
	second_count = underscores(second->name, second->len);
	if (first_count != second_count)
		return second_count < first_count;
	if (len != second->len)
		return second->len > len;
	order = memcmp(second->name, name, len);
	return order < 0;
}

/* ---- Slots ---- */

/* The first address that is not below the symbol. */
static size_t slot_of(const struct search *search, uint64_t start)
{
	size_t low = 0, high = search->count;

	if (search->at < search->count && start <= search->addresses[search->at] &&
	    (!search->at || start > search->addresses[search->at - 1]))
		return search->at;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (search->addresses[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t keep(struct search *search, const char *text, size_t len)
{
	size_t at = search->names.len;

	if (len <= NAMES_MAX - at)
		buf_add(&search->names, text, len);
	else
		search->names.err = -EFBIG;
	return at;
}

/* Copies what was found for the slot at hand: the text it came from is about to go. */
static void flush(struct search *search)
{
	struct slot *slot = &search->slots[search->at];
	const struct symbol *high = &search->high, *low = &search->low;

	if (!search->pending)
		return;
	search->pending = false;
	if (!slot->used || high->start > slot->high ||
	    (high->start == slot->high && better(slot->rank, search->names.data + slot->name, slot->len, high))) {
		slot->high = high->start;
		slot->rank = high->rank;
		slot->len = high->len;
		slot->name = keep(search, high->name, high->len);
		slot->module_len = high->module_len;
		slot->module = keep(search, high->module, high->module_len);
	}
	if (!slot->used || low->start < slot->low) {
		slot->low = low->start;
		slot->low_module_len = low->module_len;
		slot->low_module = keep(search, low->module, low->module_len);
	}
	slot->used = true;
}

static void add_symbol(struct search *search, const struct symbol *symbol)
{
	size_t at = slot_of(search, symbol->start);

	if (at != search->at)
		flush(search);
	search->at = at;
	if (!search->pending) {
		search->high = search->low = *symbol;
		search->pending = true;
		return;
	}
	if (symbol->start > search->high.start ||
	    (symbol->start == search->high.start &&
	     better(search->high.rank, search->high.name, search->high.len, symbol)))
		search->high = *symbol;
	if (symbol->start < search->low.start)
		search->low = *symbol;
}

/* ---- Lines: "ffffffff81000000 T _text" and "ffffffffc0000000 t ext4_fsync\t[ext4]" ---- */

static const signed char digits[256] = {
	['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
	['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

static bool rank_of(char type, enum rank *ret)
{
	switch (type) {
	case 'T':
		*ret = RANK_GLOBAL;
		return true;
	case 'W':
		*ret = RANK_WEAK;
		return true;
	case 't':
		*ret = RANK_LOCAL;
		return true;
	case 'w':
		*ret = RANK_WEAK_LOCAL;
		return true;
	default:
		return false;
	}
}

static void take_module(struct symbol *symbol, const char *tab, const char *end)
{
	symbol->module = end;
	symbol->module_len = 0;
	if (end - tab > 3 && tab[1] == '[' && end[-1] == ']') {
		symbol->module = tab + 2;
		symbol->module_len = (size_t)(end - 1 - symbol->module);
	}
}

static void take_line(struct search *search, const char *at, const char *end)
{
	struct symbol symbol = { 0 };
	const char *begin = at, *tab;

	for (; at < end && digits[(unsigned char)*at]; at++) {
		if (symbol.start >> 60)
			return;
		symbol.start = symbol.start << 4 | (uint64_t)(digits[(unsigned char)*at] - 1);
	}
	if (at == begin || end - at < 4 || at[0] != ' ' || at[2] != ' ' || !rank_of(at[1], &symbol.rank))
		return;
	symbol.name = at + 3;
	tab = memchr(symbol.name, '\t', (size_t)(end - symbol.name));
	symbol.len = (size_t)((tab ? tab : end) - symbol.name);
	take_module(&symbol, tab ? tab : end, end);
	/* Marks of the assembler ($x, .L1) name no function. */
	if (!symbol.len || symbol.name[0] == '$' || symbol.name[0] == '.')
		return;
	search->any = true;
	if (!symbol.start)
		return;
	search->any_address = true;
	if (is_mark(symbol.name, symbol.len))
		symbol.rank = RANK_MARK;
	add_symbol(search, &symbol);
}

/* The whole lines of a piece of text; how many bytes they are. */
static size_t take_lines(struct search *search, const char *text, size_t len)
{
	const char *line = text, *end = text + len, *stop;

	for (; line < end && (stop = memchr(line, '\n', (size_t)(end - line))); line = stop + 1)
		take_line(search, line, stop);
	flush(search);
	return (size_t)(line - text);
}

/* ---- Answers ---- */

static bool same_module(const struct search *search, const struct slot *below, const struct slot *above)
{
	return below->module_len == above->low_module_len &&
	       !memcmp(search->names.data + below->module, search->names.data + above->low_module, below->module_len);
}

/* Whether `below` has the symbol for this address; `above` is where the next symbol is, NULL if there is none. */
static bool belongs(const struct search *search, uint64_t address, const struct slot *below, const struct slot *above)
{
	bool bpf = below->module_len == 3 && !memcmp(search->names.data + below->module, "bpf", 3);
	uint64_t distance = address - below->high;

	if (below->rank == RANK_MARK || distance >= FUNCTION_MAX)
		return false;
	return distance < (bpf ? LAST_BPF_MAX : LAST_MAX) || (above && same_module(search, below, above));
}

static void answer(const struct search *search, kernel_found *found, void *arg)
{
	const struct slot *below = NULL;
	size_t next = 0;

	for (size_t i = 0; i < search->count; i++) {
		struct kernel_name name = { .module = "" };

		if (search->slots[i].used)
			below = &search->slots[i];
		if (next <= i)
			next = i + 1;
		while (next <= search->count && !search->slots[next].used)
			next++;
		if (below && search->addresses[i] >= below->high &&
		    belongs(search, search->addresses[i], below, next <= search->count ? &search->slots[next] : NULL)) {
			name.name = search->names.data + below->name;
			name.len = below->len;
			name.module = below->module_len ? search->names.data + below->module : "";
			name.module_len = below->module_len;
			name.start = below->high;
		}
		found(arg, i, &name);
	}
}

static int search_begin(struct search *search, const uint64_t *addresses, size_t count)
{
	if (count > COUNT_MAX)
		return fail(-E2BIG, "naming %zu kernel addresses", count);
	search->addresses = addresses;
	search->count = count;
	search->slots = calloc(count + 1, sizeof(*search->slots));
	return search->slots ? 0 : fail(-ENOMEM, "naming kernel addresses");
}

static int search_end(struct search *search, int err, kernel_found *found, void *arg)
{
	if (!err && buf_error(&search->names))
		err = fail(buf_error(&search->names), "naming kernel addresses");
	if (!err && search->any && !search->any_address)
		err = fail_plain(-EACCES,
				 "/proc/kallsyms: the kernel hides its addresses: run as root or with CAP_SYSLOG, or "
				 "set kernel.kptr_restrict to 0");
	if (!err)
		answer(search, found, arg);
	free(search->slots);
	buf_free(&search->names);
	return err;
}

static int read_text(struct search *search, int fd)
{
	autofree char *text = malloc(PIECE);
	size_t len = 0, done;
	uint64_t total = 0;

	if (!text)
		return fail(-ENOMEM, "reading /proc/kallsyms");
	for (;;) {
		ssize_t got = read(fd, text + len, PIECE - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(-errno, "reading /proc/kallsyms");
		len += (size_t)got;
		total += (uint64_t)got;
		/* The kernel hands out a page at a time: wait for more before looking at it. */
		if (got && len < PIECE)
			continue;
		done = take_lines(search, text, len);
		if (!got)
			return 0;
		if (!done || total > TEXT_MAX)
			return fail(-EFBIG, "reading /proc/kallsyms");
		memmove(text, text + done, len - done);
		len -= done;
	}
}

int kernel_names(const uint64_t *addresses, size_t count, kernel_found *found, void *arg)
{
	struct search search = { 0 };
	autoclose int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return fail(-errno, "opening /proc/kallsyms");
	err = search_begin(&search, addresses, count);
	if (!err)
		err = read_text(&search, fd);
	return search_end(&search, err, found, arg);
}

int kernel_names_in(const char *text, size_t len, const uint64_t *addresses, size_t count, kernel_found *found,
		    void *arg)
{
	struct search search = { 0 };
	int err = search_begin(&search, addresses, count);

	if (!err)
		take_lines(&search, text, len);
	return search_end(&search, err, found, arg);
}
