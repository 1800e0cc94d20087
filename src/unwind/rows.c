/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds unwind tables and reads them back. Equal neighbours are one row; a short gap between functions needs no row if
 * it is padding, which nobody runs; otherwise it has one that knows nothing, for it may be a function that nobody has
 * described. Each page begins with a row at its first byte, so that a search needs only that page. Pages and rules are
 * shared by all files: a table that takes far more of them than real ones is refused.
 *
 *   u32 rules, u32 pages, u32 first page, u32 last page, u64 rows
 *   rules (struct wire_rule)
 *   pages: u32 number, u32 count, count offsets, count rules (16 bits each)
 */
#include "unwind/rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/intern.h"
#include "bpf/wire.h"
#include "elf/cfi.h"
#include "elf/image.h"
#include "unwind/go.h"
#include "unwind/padding.h"
#include "unwind/rules.h"

#define PADDING_MAX 64 /* bytes; functions are hardly aligned to more */
#define ALIGNMENT 16   /* of functions, usually */
#define CODE_READ_MAX \
	((uint64_t)16 << 20) /* in larger files usual padding is not looked at: it is all over the code, */
#define LOOKS_MAX 4096       /* and unusual padding so often */
#define PAGE_BYTES (1u << WIRE_PAGE_SHIFT)
#define PAGES_MAX (1u << 15) /* 2 GiB of code */
#define PAGES_FREE 512       /* that any table may have; */
#define PAGES_PER_ROW 4 /* more only with so many rows. Of real files, those of Go without CFI have the most: 1.3 */
#define HEAD_BYTES 24
#define RECENT_BITS 8

struct recent {
	uint32_t head; /* what a rule has before the offset, and after it */
	int32_t offset;
	uint64_t rest[2];
	uint32_t number; /* plus one; 0: none */
};

struct cells {
	uint16_t offsets[PAGE_BYTES], numbers[PAGE_BYTES];
};

struct builder {
	const struct image *image;
	struct image_code code; /* that the row before is in */
	struct go go;
	struct intern *rules; /* number 0 is not used */
	struct recent recent[1 << RECENT_BITS];
	struct buf *out;       /* where the table goes; its head and rules are put in front when they are known */
	size_t before;         /* bytes in it that are not of the table */
	struct wire_rule made; /* of the row before */
	uint32_t registers;    /* of its state */
	uint64_t gap;          /* address from which nothing is known, if that is not padding; 0: none */
	uint64_t code_bytes;   /* of the whole file */
	unsigned int looks;    /* at padding */
	uint32_t page, first_page, last_page, pages_len;
	bool any;
	uint16_t rule;          /* of the row before */
	uint64_t rows, changes; /* changes: rows that do not only go on at the beginning of a page */
	uint64_t last_offset;
	uint32_t count; /* rows of the page that is being filled */
	struct cells *cells;
};

static void put_row(struct builder *b, uint16_t offset, uint16_t rule)
{
	if (b->count && b->rule == rule)
		return;
	b->changes += rule != b->rule;
	if (b->count &&
	    b->cells->offsets[b->count - 1] == offset) /* a later row for the same byte replaces the one before */
		b->count--;
	b->cells->offsets[b->count] = offset; /* they ascend: there are never more than bytes in a page */
	b->cells->numbers[b->count++] = rule;
	b->rule = rule;
}

static void finish_page(struct builder *b)
{
	if (!b->count)
		return;
	buf_u32(b->out, b->page);
	buf_u32(b->out, b->count);
	buf_add(b->out, b->cells->offsets, b->count * sizeof(uint16_t));
	buf_add(b->out, b->cells->numbers, b->count * sizeof(uint16_t));
	b->rows += b->count;
	b->count = 0;
	b->last_page = b->page;
	b->pages_len++;
}

/* Goes on to the page of an offset: those between, and the beginning of this one, go on with the rule before. */
static int go_to_page(struct builder *b, uint32_t page)
{
	if (b->any && page == b->page)
		return 0;
	if (!b->any) {
		b->any = true;
		b->page = b->first_page = page;
		put_row(b, 0, 0);
		return 0;
	}
	if (page < b->page || page - b->first_page > PAGES_MAX)
		return -EFBIG;
	while (b->page < page) {
		uint16_t rule = b->rule;

		finish_page(b);
		b->page++;
		put_row(b, 0, rule);
	}
	return 0;
}

/*
 * The same few rules follow each other over and over: most need not be looked for. The offset was written a moment ago:
 * it is read as it was written, by itself, or the processor would have to wait for it.
 */
static uint32_t number_of(struct builder *b, const struct wire_rule *rule)
{
	struct recent now = { .offset = rule->offset }, *recent;
	uint64_t hash;

	_Static_assert(sizeof(now.head) == offsetof(struct wire_rule, offset), "");
	_Static_assert(sizeof(now.rest) == sizeof(*rule) - offsetof(struct wire_rule, offset2), "");
	memcpy(&now.head, rule, sizeof(now.head));
	memcpy(now.rest, &rule->offset2, sizeof(now.rest));
	hash = now.head + 3 * now.rest[0] + 5 * now.rest[1] + 0x10000001 * (uint64_t)now.offset;
	recent = &b->recent[hash * 0x9e3779b97f4a7c15ULL >> (64 - RECENT_BITS)];
	if (recent->number && recent->offset == now.offset && recent->head == now.head &&
	    recent->rest[0] == now.rest[0] && recent->rest[1] == now.rest[1])
		return recent->number - 1;
	now.number = intern_bytes(b->rules, rule, sizeof(*rule));
	if (now.number == UINT32_MAX)
		return UINT32_MAX;
	*recent = now;
	return now.number - 1;
}

/* Where in the file it is; UINT64_MAX if it is not. */
static uint64_t offset_of(struct builder *b, uint64_t address)
{
	uint64_t offset;

	if (image_code_at(b->image, address, &b->code))
		return address - b->code.address + b->code.offset;
	return image_address_to_offset(b->image, address, &offset) ? offset : UINT64_MAX;
}

static int add_row(struct builder *b, uint64_t address, const struct wire_rule *rule)
{
	uint32_t number;
	uint64_t offset;
	int err;

	offset = address - b->code.address;
	offset = offset < b->code.size ? offset + b->code.offset : offset_of(b, address);
	/* Code that the file does not have cannot run. Segments in another order than their addresses are left out. */
	if (offset >= ROWS_OFFSET_END || offset < b->last_offset)
		return 0;
	b->last_offset = offset;
	number = number_of(b, rule);
	if (number >= ROWS_RULES_MAX || b->out->len - b->before > ROWS_BYTES_MAX)
		return -EFBIG;
	err = go_to_page(b, (uint32_t)(offset >> WIRE_PAGE_SHIFT));
	if (!err)
		put_row(b, (uint16_t)(offset & (PAGE_BYTES - 1)), (uint16_t)number);
	return err;
}

static int add_gap(struct builder *b)
{
	struct wire_rule none;

	rule_of(NULL, &none);
	return add_row(b, b->gap, &none);
}

/* Whether nobody runs what is between two functions. */
static bool is_padding(struct builder *b, uint64_t from, uint64_t to)
{
	uint64_t len = to - from;
	struct image_code code;
	const void *bytes;

	if (len > PADDING_MAX)
		return false;
	if (b->code_bytes > CODE_READ_MAX) {
		if (len < ALIGNMENT && to % ALIGNMENT == 0)
			return true;
		if (b->looks == LOOKS_MAX)
			return false;
		b->looks++;
	}
	if (!image_code_at(b->image, from, &code) || len > code.size - (from - code.address))
		return false;
	bytes = image_bytes(b->image, code.offset + (from - code.address), len);
	return bytes && padding_is(image_header(b->image)->e_machine, bytes, len);
}

/* A row of Go's may be two: the second begins within it. */
static int add_go_row(struct builder *b, uint64_t address, const struct wire_rule *rule)
{
	struct wire_rule adjusted = *rule;
	uint64_t second = go_splits(&b->go, address);
	int err;

	go_adjust(&b->go, address, &adjusted);
	err = add_row(b, address, &adjusted);
	if (!second || err)
		return err;
	adjusted = *rule;
	go_adjust(&b->go, second, &adjusted);
	return add_row(b, second, &adjusted);
}

static int take_row(void *arg, uint64_t address, const struct cfi_state *state)
{
	struct builder *b = arg;
	int err = 0;

	if (!state) {
		b->gap = address;
		return 0;
	}
	if (b->gap && !is_padding(b, b->gap, address))
		err = add_gap(b);
	b->gap = 0;
	if (state->registers != b->registers || !rule_again(state, &b->made))
		rule_of(state, &b->made);
	b->registers = state->registers;
	if (err)
		return err;
	return b->go.is ? add_go_row(b, address, &b->made) : add_row(b, address, &b->made);
}

/* The pages are there: what comes before them is put in front. */
static void put_head(struct builder *b)
{
	uint32_t rules = intern_count(b->rules) - 1;
	size_t pages = b->out->len - b->before, len = HEAD_BYTES + rules * sizeof(struct wire_rule);
	autobuf struct buf head = { 0 };

	buf_u32(&head, rules);
	buf_u32(&head, b->pages_len);
	buf_u32(&head, b->first_page);
	buf_u32(&head, b->last_page);
	buf_u64(&head, b->rows);
	for (uint32_t i = 1; i <= rules; i++)
		buf_add(&head, intern_get(b->rules, i, NULL), sizeof(struct wire_rule));
	if (!buf_space(b->out, len))
		return;
	if (buf_error(&head)) {
		b->out->err = buf_error(&head);
		return;
	}
	memmove(b->out->data + b->before + len, b->out->data + b->before, pages);
	memcpy(b->out->data + b->before, head.data, len);
}

/* Rule 0 is the one that knows nothing: the bytes before the first function have it. */
static int build(struct builder *b, const struct cfi *cfi)
{
	struct wire_rule none;
	int err;

	err = intern_new(&b->rules);
	if (err)
		return err;
	rule_of(NULL, &none);
	intern_bytes(b->rules, &none, sizeof(none));
	err = cfi_rows(cfi, take_row, b);
	if (!err && b->gap)
		err = add_gap(b);
	finish_page(b);
	if (!err && b->pages_len > PAGES_FREE + PAGES_PER_ROW * b->changes)
		err = -EFBIG;
	return err ? err : buf_error(b->out);
}

int rows_build(const struct image *image, const struct cfi *cfi, struct buf *out)
{
	struct builder b = { .image = image, .out = out, .before = out->len, .cells = malloc(sizeof(struct cells)) };
	int err = b.cells ? 0 : -ENOMEM;
	uint64_t start, end;

	if (image_code_range(image, &start, &end))
		b.code_bytes = end - start;
	if (!err) {
		go_open(&b.go, image);
		err = build(&b, cfi);
	}
	if (!err && !b.pages_len)
		err = -ENODATA;
	if (!err)
		put_head(&b);
	else
		out->len = b.before;
	intern_free(b.rules);
	free(b.cells);
	return err ? err : buf_error(out);
}

int rows_open(struct rows_reader *ret, const void *data, size_t len)
{
	struct cursor in = cursor_of(data, len);

	*ret = (struct rows_reader){ .rules = cursor_u32(&in) };
	ret->pages = cursor_u32(&in);
	ret->first_page = cursor_u32(&in);
	ret->last_page = cursor_u32(&in);
	ret->rows = cursor_u64(&in);
	ret->at = in.at;
	ret->end = in.end;
	if (in.bad || !ret->rules || ret->rules > ROWS_RULES_MAX || !ret->pages || ret->last_page < ret->first_page ||
	    ret->last_page - ret->first_page != ret->pages - 1 || ret->pages > PAGES_MAX + 1 ||
	    ret->last_page >= ROWS_OFFSET_END >> WIRE_PAGE_SHIFT ||
	    ret->rules > cursor_left(&in) / sizeof(struct wire_rule))
		return -EBADMSG;
	return 0;
}

static bool rule_is_sane(const struct wire_rule *rule)
{
	return rule->kind < WIRE_RULE_KINDS && rule->reg < CFI_RA;
}

int rows_next_rule(struct rows_reader *reader, struct wire_rule *ret)
{
	struct cursor in = cursor_of(reader->at, (size_t)(reader->end - reader->at));
	const void *bytes = cursor_bytes(&in, sizeof(*ret));

	if (!bytes)
		return -EBADMSG;
	memcpy(ret, bytes, sizeof(*ret));
	reader->at = in.at;
	return rule_is_sane(ret) ? 0 : -EBADMSG;
}

int rows_next_page(struct rows_reader *reader, struct rows_page *ret)
{
	struct cursor in = cursor_of(reader->at, (size_t)(reader->end - reader->at));

	ret->number = cursor_u32(&in);
	ret->count = cursor_u32(&in);
	if (in.bad || !ret->count || ret->count > PAGE_BYTES || ret->number < reader->first_page ||
	    ret->number > reader->last_page)
		return -EBADMSG;
	ret->offsets = cursor_bytes(&in, ret->count * sizeof(uint16_t));
	ret->rules = ret->offsets ? cursor_bytes(&in, ret->count * sizeof(uint16_t)) : NULL;
	reader->at = in.at;
	return ret->rules ? 0 : -EBADMSG;
}
