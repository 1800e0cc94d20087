/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads call frame information and runs it. The entries of all sections are gathered first (start, end, place), sorted
 * by start, and then run one after the other, so that rows come out ascending whatever order the file has. A function
 * that is described twice counts once, as the section that comes first has it (the file's own before its debug
 * file's); a description that cannot be read is one that is not there.
 *
 * Every number is from a file that anybody may have made: cursors end at their section, the stack of remembered states
 * is bounded, and the number of entries and rows is limited. An instruction is read once for each entry that leads to
 * it, so instructions come out of the file's budget.
 */
#include "elf/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/budget.h"
#include "base/buf.h"
#include "elf/image.h"
#include "elf/pointer.h"

#define ENTRIES_MAX (4u << 20)
#define ROWS_MAX (64u << 20)
#define STATE_STEPS 16 /* that copying a state takes */
#define REMEMBER_MAX 16
#define LETTERS_MAX 32
#define UNPACKED_MAX ((uint64_t)128 << 20)
#define PARTS_MAX 3   /* .eh_frame, .debug_frame, .debug_frame of the debug file */
#define PADDING 32    /* bytes between two functions that nobody runs */
#define DIGIT_BITS 11 /* of an address, when sorting */
#define DIGITS (1u << DIGIT_BITS)
#define RELEASE_EVERY 8192 /* functions */
#define CIES 32            /* known at a time */
#define BARE_SHARE 8 /* a file does not say enough if nothing is said of more than one part in so many of its code */

/* DWARF's instructions; the first three have an operand in their low six bits. */
enum {
	CFA_ADVANCE = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_1 = 0x02,
	CFA_ADVANCE_2 = 0x03,
	CFA_ADVANCE_4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER = 0x0a,
	CFA_RECALL = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET = 0x2f,
};

struct part { /* a section */
	const unsigned char *data;
	size_t len;
	uint64_t address;
	bool debug;     /* .debug_frame: other ids, no augmentation pointers */
	void *unpacked; /* its bytes, where they were compressed */
	const struct image *image;
	uint64_t offset; /* in the image */
};

struct entry { /* an FDE */
	uint64_t start, end;
	uint32_t part;
	uint32_t cie;          /* where that is, */
	uint32_t program, len; /* and its own instructions */
};

struct cfi {
	struct part parts[PARTS_MAX]; /* what one says is not changed by those after it */
	size_t parts_len;
	struct entry *entries;
	size_t len, cap;
};

struct cie {
	unsigned char encoding;
	bool signal, sized; /* sized: its FDEs have an augmentation length */
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t ra;
	struct cursor program;
};

/* The head of an entry: the body without its length, and whether it is a CIE or where its CIE is. */
struct head {
	struct cursor body;
	size_t next; /* offset of the entry after it */
	bool empty;  /* a terminator: each file that was linked in may bring one */
	bool is_cie;
	size_t cie;
};

static bool read_head(const struct part *part, size_t at, struct head *ret)
{
	struct cursor in = cursor_of(part->data + at, part->len - at);
	uint64_t len = cursor_u32(&in), id;
	bool wide = len == UINT32_MAX;
	size_t id_at;

	if (wide)
		len = cursor_u64(&in);
	if (in.bad || len > cursor_left(&in))
		return false;
	ret->next = (size_t)(in.at - part->data) + (size_t)len;
	ret->empty = !len;
	if (ret->empty)
		return true;
	in.end = in.at + len;
	id_at = (size_t)(in.at - part->data);
	id = wide && part->debug ? cursor_u64(&in) : cursor_u32(&in);
	if (part->debug) {
		ret->is_cie = id == (wide ? UINT64_MAX : UINT32_MAX);
		ret->cie = (size_t)id;
	} else {
		ret->is_cie = !id;
		ret->cie = id <= id_at ? id_at - (size_t)id : SIZE_MAX;
	}
	ret->body = in;
	return !in.bad;
}

/* The letters after 'z' say what is in the augmentation data; what is not known there is passed over by its length. */
static bool read_augmentation(struct cursor *in, const char *letters, size_t len, struct cie *ret)
{
	struct cursor data;
	const unsigned char *bytes;
	uint64_t size;

	if (!len)
		return true;
	if (letters[0] != 'z')
		return len == 2 && !memcmp(letters, "eh", 2);
	size = cursor_varint(in);
	bytes = size <= cursor_left(in) ? cursor_bytes(in, (size_t)size) : NULL;
	if (!bytes)
		return false;
	data = cursor_of(bytes, (size_t)size);
	ret->sized = true;
	for (size_t i = 1; i < len && !data.bad; i++) {
		uint64_t ignored;

		if (letters[i] == 'R')
			ret->encoding = (unsigned char)cursor_u8(&data);
		else if (letters[i] == 'P')
			pointer_read(&data, (unsigned char)cursor_u8(&data), 0, 0, &ignored);
		else if (letters[i] == 'L')
			cursor_u8(&data);
		else if (letters[i] == 'S')
			ret->signal = true;
		else
			break;
	}
	return true;
}

static bool read_cie(const struct part *part, size_t at, struct cie *ret)
{
	struct head head;
	const unsigned char *letters, *end;
	unsigned int version;
	size_t left;

	if (at >= part->len || !read_head(part, at, &head) || head.empty || !head.is_cie)
		return false;
	*ret = (struct cie){ .encoding = POINTER_ABSOLUTE };
	version = cursor_u8(&head.body);
	letters = head.body.at;
	left = cursor_left(&head.body);
	end = memchr(letters, 0, left < LETTERS_MAX ? left : LETTERS_MAX);
	if (!end || version < 1 || version > 4)
		return false;
	cursor_bytes(&head.body, (size_t)(end - letters) + 1);
	if (version == 4 && (cursor_u8(&head.body) != 8 || cursor_u8(&head.body)))
		return false; /* another address size, or segments */
	ret->code_factor = cursor_varint(&head.body);
	ret->data_factor = (int64_t)cursor_sleb(&head.body);
	ret->ra = version == 1 ? cursor_u8(&head.body) : cursor_varint(&head.body);
	if (!read_augmentation(&head.body, (const char *)letters, (size_t)(end - letters), ret))
		return false;
	ret->program = head.body;
	return !head.body.bad && ret->ra == CFI_RA;
}

/* The range of an FDE and its program. */
static bool read_fde(const struct part *part, const struct head *head, const struct cie *cie, struct entry *ret)
{
	struct cursor in = head->body;
	uint64_t len, here = part->address + (uint64_t)(in.at - part->data);

	if (!pointer_read(&in, cie->encoding, here, 0, &ret->start) ||
	    !pointer_read(&in, cie->encoding & POINTER_FORMAT, 0, 0, &len))
		return false;
	if (cie->sized && (!(len && ret->start) || !cursor_bytes(&in, (size_t)cursor_varint(&in))))
		return false;
	if (in.bad || !len || !ret->start || len > UINT64_MAX - ret->start)
		return false; /* a function that the linker threw away begins at zero */
	ret->end = ret->start + len;
	ret->cie = (uint32_t)head->cie;
	ret->program = (uint32_t)(in.at - part->data);
	ret->len = (uint32_t)cursor_left(&in);
	return true;
}

static int add_entry(struct cfi *cfi, const struct entry *entry)
{
	if (cfi->len == cfi->cap) {
		size_t cap = cfi->cap ? cfi->cap * 2 : 1024;
		struct entry *grown;

		if (cap > ENTRIES_MAX)
			return -EFBIG;
		grown = reallocarray(cfi->entries, cap, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		cfi->entries = grown;
		cfi->cap = cap;
	}
	cfi->entries[cfi->len++] = *entry;
	return 0;
}

/* What was read need not stay in memory: it comes back when it is read again. */
static void release(const struct part *part)
{
	if (!part->unpacked)
		image_release(part->image, part->offset, part->len);
}

static int gather(struct cfi *cfi, uint32_t number)
{
	const struct part *part = &cfi->parts[number];
	size_t at = 0, cie_at = SIZE_MAX;
	struct cie cie;
	bool good = false;

	while (at + sizeof(uint32_t) <= part->len) { /* each entry is at least four bytes further */
		struct entry entry = { .part = number };
		struct head head;
		int err;

		if (!read_head(part, at, &head))
			break;
		at = head.next;
		if (head.empty || head.is_cie)
			continue;
		if (head.cie != cie_at) {
			good = read_cie(part, head.cie, &cie);
			cie_at = head.cie;
		}
		if (!good || !read_fde(part, &head, &cie, &entry))
			continue;
		err = add_entry(cfi, &entry);
		if (err)
			return err;
		if (cfi->len % RELEASE_EVERY == 0)
			release(part);
	}
	return 0;
}

/* Sorts by one digit of the start, and leaves the order of what is equal in it as it is. */
static void sort_digit(const struct entry *from, struct entry *to, size_t len, unsigned int shift)
{
	size_t places[DIGITS] = { 0 }, place = 0;

	for (size_t i = 0; i < len; i++)
		places[from[i].start >> shift & (DIGITS - 1)]++;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t count = places[i];

		places[i] = place;
		place += count;
	}
	for (size_t i = 0; i < len; i++)
		to[places[from[i].start >> shift & (DIGITS - 1)]++] = from[i];
}

/* By start; those that begin at the same address stay as they were gathered: by part, then by place. */
static int sort_entries(struct cfi *cfi)
{
	uint64_t before = 0, differ = 0;
	struct entry *to = NULL;
	bool sorted = true;

	for (size_t i = 0; i < cfi->len; i++) {
		sorted = sorted && before <= cfi->entries[i].start;
		before = cfi->entries[i].start;
		differ |= before ^ cfi->entries[0].start;
	}
	if (!sorted)
		to = reallocarray(NULL, cfi->len, sizeof(*to));
	if (!sorted && !to)
		return -ENOMEM;
	for (unsigned int shift = 0; !sorted && shift < 64; shift += DIGIT_BITS) {
		struct entry *from = cfi->entries;

		if (!(differ >> shift & (DIGITS - 1)))
			continue;
		sort_digit(from, to, cfi->len, shift);
		cfi->entries = to;
		cfi->cap = cfi->len;
		to = from;
	}
	free(to);
	return 0;
}

/* A compressed section, within bounds: what it says of its size is believed up to a limit. NULL if it is not one. */
static void *unpack(const void *data, uint64_t len, uint64_t *ret_len)
{
	Elf64_Chdr head;
	uLongf size;
	Bytef *out;

	if (len < sizeof(head))
		return NULL;
	memcpy(&head, data, sizeof(head));
	if (head.ch_type != ELFCOMPRESS_ZLIB || !head.ch_size || head.ch_size > budget_unpack(len, UNPACKED_MAX))
		return NULL;
	size = head.ch_size;
	out = malloc(size);
	if (!out || uncompress(out, &size, (const Bytef *)data + sizeof(head), len - sizeof(head)) != Z_OK) {
		free(out);
		return NULL;
	}
	*ret_len = size;
	return out;
}

static void add_part(struct cfi *cfi, const struct image *image, const char *name, bool debug)
{
	struct image_section section;
	void *unpacked = NULL;
	const void *data;

	if (!image_section_named(image, name, &section) || section.size > UINT32_MAX || section.type == SHT_NOBITS)
		return;
	data = image_bytes(image, section.offset, section.size);
	if (data && section.flags & SHF_COMPRESSED) {
		if (!debug)
			return; /* it is loaded into memory: it cannot be */
		unpacked = unpack(data, section.size, &section.size);
		data = unpacked;
		if (data)
			budget_grant(image_budget(image), section.size);
	}
	if (data)
		cfi->parts[cfi->parts_len++] =
			(struct part){ data, section.size, section.address, debug, unpacked, image, section.offset };
}

/* An entry ends where one begins that comes before it in rank: it fills what that one leaves, and no more. */
static void clip(struct cfi *cfi)
{
	uint64_t next[PARTS_MAX + 1]; /* the nearest entry of parts before this one */

	for (size_t i = 0; i <= PARTS_MAX; i++)
		next[i] = UINT64_MAX;
	for (size_t i = cfi->len; i--;) {
		struct entry *entry = &cfi->entries[i];

		if (entry->end > next[entry->part])
			entry->end = next[entry->part];
		for (size_t part = entry->part + 1; part <= PARTS_MAX; part++)
			next[part] = entry->start;
	}
}

int cfi_open(struct cfi **ret, const struct image *image, const struct image *debug)
{
	struct cfi *cfi = calloc(1, sizeof(*cfi));
	int err = 0;

	if (!cfi)
		return -ENOMEM;
	*ret = cfi;
	add_part(cfi, image, ".eh_frame", false);
	add_part(cfi, image, ".debug_frame", true);
	if (debug)
		add_part(cfi, debug, ".debug_frame", true);
	for (uint32_t i = 0; i < cfi->parts_len && !err; i++)
		err = gather(cfi, i);
	if (err)
		return err;
	if (!cfi->len)
		return -ENODATA;
	err = sort_entries(cfi);
	if (!err)
		clip(cfi);
	return err;
}

void cfi_free(struct cfi *cfi)
{
	if (!cfi)
		return;
	for (size_t i = 0; i < cfi->parts_len; i++)
		free(cfi->parts[i].unpacked);
	free(cfi->entries);
	free(cfi);
}

bool cfi_suffices(const struct cfi *cfi, const struct image *image)
{
	uint64_t code = 0, said = 0, until = 0;

	for (uint32_t i = 0; i < image_sections(image); i++) {
		struct image_section section;

		if (image_section(image, i, &section) && section.flags & SHF_EXECINSTR &&
		    section.size < INT64_MAX - code)
			code += section.size;
	}
	for (size_t i = 0; i < cfi->len; i++) {
		const struct entry *entry = &cfi->entries[i];
		uint64_t from = entry->start > until ? entry->start : until;

		if (until && from - until <= PADDING)
			from = until;
		said += entry->end > from ? entry->end - from : 0;
		until = entry->end > until ? entry->end : until;
	}
	return said >= code - code / BARE_SHARE;
}

size_t cfi_functions(const struct cfi *cfi)
{
	return cfi->len;
}

/* ---- running ---- */

struct known_cie {
	const struct part *part; /* NULL: none */
	size_t at;
	struct cie cie;
	struct cfi_state initial; /* what its program makes, of which each of its functions begins */
	int err;                  /* of that program */
};

struct run {
	const struct cie *cie;
	const struct cfi_state *initial;
	struct cfi_state state;
	struct cfi_state remembered[REMEMBER_MAX];
	unsigned int depth;
	uint64_t at, end;
	const struct part *part;
	cfi_row *row;
	void *arg;
	uint64_t rows;
	uint32_t changes; /* of rules; fewer than steps */
	struct known_cie cies[CIES];
};

static int emit(struct run *run)
{
	if (++run->rows > ROWS_MAX)
		return -EFBIG;
	return run->row ? run->row(run->arg, run->at, &run->state) : 0;
}

/* A new address: the row before it is finished. */
static int advance(struct run *run, uint64_t to)
{
	int err;

	if (to < run->at || run->at >= run->end)
		return -EBADMSG;
	err = to > run->at ? emit(run) : 0;
	run->at = to;
	return err ? err : run->at >= run->end ? -ERANGE : 0; /* what comes after the function's end is not meant */
}

static int set(struct run *run, uint64_t number, struct cfi_rule rule)
{
	if (number >= CFI_REGISTERS)
		return 0; /* others (vector registers, …) do not matter for unwinding */
	run->state.rules[number] = rule;
	run->state.registers = ++run->changes;
	return 0;
}

static int set_rule(struct run *run, uint64_t number, enum cfi_how how, int64_t value)
{
	return set(run, number, (struct cfi_rule){ .how = how, .value = value });
}

static int set_expression(struct run *run, struct cursor *in, uint64_t number, enum cfi_how how)
{
	uint64_t len = cursor_varint(in);
	const unsigned char *expression = len <= cursor_left(in) ? cursor_bytes(in, (size_t)len) : NULL;

	if (!expression)
		return -EBADMSG;
	return set(run, number, (struct cfi_rule){ .how = how, .expression = expression, .len = (uint32_t)len });
}

static int restore(struct run *run, uint64_t number)
{
	return number < CFI_REGISTERS ? set(run, number, run->initial->rules[number]) : 0;
}

static int set_cfa(struct run *run, uint64_t number, int64_t offset)
{
	run->state.cfa_register = number;
	run->state.cfa_offset = offset;
	run->state.cfa_expression = NULL;
	return 0;
}

static int set_cfa_expression(struct run *run, struct cursor *in)
{
	uint64_t len = cursor_varint(in);

	run->state.cfa_expression = len <= cursor_left(in) ? cursor_bytes(in, (size_t)len) : NULL;
	run->state.cfa_len = (size_t)len;
	return run->state.cfa_expression ? 0 : -EBADMSG;
}

static int remember(struct run *run)
{
	if (run->depth >= REMEMBER_MAX)
		return -EBADMSG;
	if (!budget_spend(image_budget(run->part->image), STATE_STEPS))
		return -EFBIG;
	run->remembered[run->depth++] = run->state;
	return 0;
}

static int recall(struct run *run)
{
	if (!run->depth)
		return -EBADMSG;
	if (!budget_spend(image_budget(run->part->image), STATE_STEPS))
		return -EFBIG;
	run->state = run->remembered[--run->depth];
	return 0;
}

static int64_t scaled(const struct run *run, uint64_t value)
{
	return (int64_t)(value * (uint64_t)run->cie->data_factor);
}

static int step_cfa(struct run *run, struct cursor *in, unsigned int op)
{
	uint64_t number;

	switch (op) {
	case CFA_DEF_CFA:
		number = cursor_varint(in);
		return set_cfa(run, number, (int64_t)cursor_varint(in));
	case CFA_DEF_CFA_SF:
		number = cursor_varint(in);
		return set_cfa(run, number, scaled(run, cursor_sleb(in)));
	case CFA_DEF_CFA_REGISTER:
		return set_cfa(run, cursor_varint(in), run->state.cfa_offset);
	case CFA_DEF_CFA_OFFSET:
		return set_cfa(run, run->state.cfa_register, (int64_t)cursor_varint(in));
	case CFA_DEF_CFA_OFFSET_SF:
		return set_cfa(run, run->state.cfa_register, scaled(run, cursor_sleb(in)));
	case CFA_DEF_CFA_EXPRESSION:
		return set_cfa_expression(run, in);
	default:
		return -EBADMSG; /* not known: what follows cannot be read */
	}
}

static int step_rule(struct run *run, struct cursor *in, unsigned int op)
{
	uint64_t number = cursor_varint(in);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		return set_rule(run, number, CFI_AT_CFA, scaled(run, cursor_varint(in)));
	case CFA_OFFSET_EXTENDED_SF:
		return set_rule(run, number, CFI_AT_CFA, scaled(run, cursor_sleb(in)));
	case CFA_GNU_NEGATIVE_OFFSET:
		return set_rule(run, number, CFI_AT_CFA, -scaled(run, cursor_varint(in)));
	case CFA_RESTORE_EXTENDED:
		return restore(run, number);
	case CFA_UNDEFINED:
		return set_rule(run, number, CFI_UNDEFINED, 0);
	case CFA_SAME_VALUE:
		return set_rule(run, number, CFI_SAME, 0);
	case CFA_REGISTER:
		return set_rule(run, number, CFI_REGISTER, (int64_t)cursor_varint(in));
	case CFA_VAL_OFFSET:
		return set_rule(run, number, CFI_IS_CFA, scaled(run, cursor_varint(in)));
	case CFA_VAL_OFFSET_SF:
		return set_rule(run, number, CFI_IS_CFA, scaled(run, cursor_sleb(in)));
	case CFA_EXPRESSION:
		return set_expression(run, in, number, CFI_EXPRESSION);
	default:
		return set_expression(run, in, number, CFI_IS_EXPRESSION);
	}
}

static int step_place(struct run *run, struct cursor *in, unsigned int op)
{
	uint64_t to, here = run->part->address + (uint64_t)(in->at - run->part->data);
	const uint64_t factor = run->cie->code_factor;

	switch (op) {
	case CFA_SET_LOC:
		return pointer_read(in, run->cie->encoding, here, 0, &to) ? advance(run, to) : -EBADMSG;
	case CFA_ADVANCE_1:
		return advance(run, run->at + cursor_u8(in) * factor);
	case CFA_ADVANCE_2:
		return advance(run, run->at + cursor_u16(in) * factor);
	default:
		return advance(run, run->at + cursor_u32(in) * factor);
	}
}

static int step(struct run *run, struct cursor *in)
{
	unsigned int op = cursor_u8(in);

	switch (op & 0xc0) {
	case CFA_ADVANCE:
		return advance(run, run->at + (op & 0x3f) * run->cie->code_factor);
	case CFA_OFFSET:
		return set_rule(run, op & 0x3f, CFI_AT_CFA, scaled(run, cursor_varint(in)));
	case CFA_RESTORE:
		return restore(run, op & 0x3f);
	}
	switch (op) {
	case CFA_NOP:
		return 0;
	case CFA_SET_LOC:
	case CFA_ADVANCE_1:
	case CFA_ADVANCE_2:
	case CFA_ADVANCE_4:
		return step_place(run, in, op);
	case CFA_REMEMBER:
		return remember(run);
	case CFA_RECALL:
		return recall(run);
	case CFA_GNU_ARGS_SIZE:
		cursor_varint(in);
		return 0;
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SF:
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
	case CFA_DEF_CFA_EXPRESSION:
		return step_cfa(run, in, op);
	default:
		return op >= CFA_OFFSET_EXTENDED && (op <= CFA_VAL_EXPRESSION || op == CFA_GNU_NEGATIVE_OFFSET)
			       ? step_rule(run, in, op)
			       : -EBADMSG;
	}
}

static int run_program(struct run *run, struct cursor in)
{
	struct budget *budget = image_budget(run->part->image);
	int err = 0;

	while (!err && cursor_left(&in) && !in.bad)
		err = budget_spend(budget, 1) ? step(run, &in) : -EFBIG;
	return err ? err : in.bad ? -EBADMSG : 0;
}

/* A CIE and what its program makes; most functions share a few. NULL if it cannot be read. */
static struct known_cie *find_cie(struct run *run, size_t at)
{
	struct known_cie *known = &run->cies[at / 8 % CIES];

	if (known->part == run->part && known->at == at)
		return known;
	known->part = NULL;
	if (!read_cie(run->part, at, &known->cie))
		return NULL;
	*known = (struct known_cie){ .at = at, .cie = known->cie };
	run->cie = &known->cie;
	run->initial = &known->initial;
	run->depth = 0;
	run->at = run->end = 0; /* it has no addresses to go to */
	run->state = (struct cfi_state){ .signal = known->cie.signal, .cfa_register = UINT64_MAX };
	known->err = run_program(run, known->cie.program);
	if (known->err == -ERANGE)
		known->err = -EBADMSG;
	known->initial = run->state;
	known->part = run->part;
	return known;
}

/* One function. What cannot be read ends its rows early, with a row that says that nothing is known. */
static int run_entry(struct run *run, const struct entry *entry)
{
	struct known_cie *known = find_cie(run, entry->cie);
	int err;

	if (!known)
		return -EBADMSG; /* the file changed */
	run->cie = &known->cie;
	run->initial = &known->initial;
	run->state = known->initial;
	run->depth = 0;
	run->at = entry->start;
	run->end = entry->end;
	err = known->err ? known->err : run_program(run, cursor_of(run->part->data + entry->program, entry->len));
	if (!err)
		return emit(run);
	if (err == -ERANGE)
		return 0;
	return err == -EBADMSG && run->row ? run->row(run->arg, run->at, NULL) : err;
}

int cfi_rows(const struct cfi *cfi, cfi_row *row, void *arg)
{
	struct run run = { .row = row, .arg = arg };
	uint64_t known_until = 0;
	int err = 0;

	for (size_t i = 0; i < cfi->len && !err; i++) {
		const struct entry *entry = &cfi->entries[i];

		if (entry->start < known_until)
			continue; /* described already */
		if (known_until && entry->start > known_until)
			err = row(arg, known_until, NULL);
		run.part = &cfi->parts[entry->part];
		err = err ? err : run_entry(&run, entry);
		known_until = entry->end;
		if (i % RELEASE_EVERY == RELEASE_EVERY - 1)
			release(run.part);
	}
	return err ? err : known_until ? row(arg, known_until, NULL) : 0;
}
