/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads folded stacks (docs/format-folded.md), wick's own and those of other tools: `root;...;leaf count` a line. In:
 * bytes from anybody. Out: a profile whose folded form has the same lines, or words that name the first line that is
 * not one.
 *
 * Whether the first frame of a line is the name of a process is nowhere said. It is taken for one if that can be so on
 * every line: the kernel's names of tasks have at most 15 bytes. It is believed until a line shows otherwise; then
 * reading begins anew.
 *
 * Millions of lines are read, so each costs what is new in it: what it begins with like the line before has its node
 * already, and a frame's text is taken apart when it is met first. Lines come in blocks: what is needed of one when the
 * next is there is copied.
 */
#include "in/in.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/index.h"
#include "base/intern.h"
#include "base/span.h"
#include "in/source.h"
#include "in/stack.h"
#include "profile/bulk.h"
#include "profile/profile.h"

#define PAIRS_SEEN 1000 /* lines that are looked at */
#define PAIRS_LEAST 3
#define COMM_MAX 15
#define DEPTH_MAX 65536
#define SUFFIX_LEN 4 /* _[k] */
#define START_WORDS 3
#define KNOWN_START (START_WORDS * sizeof(uint64_t))
#define PIECES 64
#define COMMS 1024
#define PEEK_FIRST (128u << 10)
#define PEEK_MOST (64u << 20)
#define BOM "\xef\xbb\xbf"

struct text {
	const char *data;
	size_t len;
};

struct line {
	struct text stack;
	uint64_t count;
};

/* A text that was met, and the frame that it is: half a line of the processor's cache where it is short. */
struct known {
	uint32_t frame;
	uint32_t len : 31;
	uint32_t kernel : 1;
	uint64_t start[START_WORDS]; /* of the text */
};

_Static_assert(sizeof(struct known) == 32, "two in a cache line");

/* The name of a process that was met. */
struct comm {
	struct text text; /* NULL: none */
	uint32_t comm, process;
};

/* A frame of a line that is being taken apart. */
struct piece {
	struct text text;
	size_t end;
	uint32_t hash;
	uint32_t known;              /* under this hash, the first; 0: none */
	uint64_t start[START_WORDS]; /* its first bytes, 0 behind its end */
};

/* A frame of the line before, or the name of its process. */
struct level {
	size_t end; /* in the text of its stack */
	bool user;  /* not only kernel frames up to here */
};

struct folded {
	struct profile *profile;
	struct bulk *bulk;
	struct source *source; /* NULL: there is nothing behind this: */
	struct text rest;      /* of the block, what is not read yet */
	const char *nul;       /* the first byte of it that is not text, or NULL */
	size_t number;         /* of the line, from 1 */
	bool comms;            /* the first frame is whose stack it is */
	bool pairs;            /* two counts a line, as of a difference: before and after */
	bool before_it;        /* of the two, the first is read */
	bool unread;           /* the file could not be read further */
	bool by_wick;          /* stacks that are not whole say so: the others are */
	size_t lines;          /* that were read */
	struct stack_forecast forecast;
	uint64_t sum, user, cut;
	struct buf scratch;
	struct index index;  /* of what follows, from 1 on */
	struct known *known; /* frames by their texts */
	const char **texts;  /* of each of them that is longer than what is there of it, all */
	struct intern *copies;
	size_t known_len, known_cap;
	uint64_t seed[2];
	struct text before;   /* the stack of the line before, and what it was: */
	struct buf last;      /* that stack, if it was in another block */
	struct level *levels; /* DEPTH_MAX + 1 of them */
	size_t depth;
	bool named; /* its first level is the name of a process */
	uint32_t comm, process, reason;
	struct comm comms_met[COMMS]; /* by hash: the last of each */
};

static bool ends_with(struct text text, const char *end)
{
	size_t len = strlen(end);

	return text.len > len && !memcmp(text.data + text.len - len, end, len);
}

static bool is(struct text text, const char *word)
{
	return text.len == strlen(word) && !memcmp(text.data, word, text.len);
}

/* Takes what is before the separator off the front. */
static struct text take(struct text *from, char separator)
{
	const char *end = from->len ? memchr(from->data, separator, from->len) : NULL;
	struct text taken = { from->data, end ? (size_t)(end - from->data) : from->len };

	from->data += taken.len + (end != NULL);
	from->len -= taken.len + (end != NULL);
	return taken;
}

static void trim_end(struct text *text)
{
	while (text->len && isspace((unsigned char)text->data[text->len - 1]))
		text->len--;
}

static int read_count(struct folded *folded, struct text digits, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < digits.len; i++) {
		if (digits.data[i] < '0' || digits.data[i] > '9')
			return fail_plain(-EINVAL, "line %zu: no count at its end", folded->number);
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(digits.data[i] - '0'), &value))
			return fail_plain(-EINVAL, "line %zu: its count is too large", folded->number);
	}
	*ret = value;
	return 0;
}

/* The other count, before the last one; false if there is none. */
static bool take_first_count(const struct folded *folded, struct line *line)
{
	size_t digits = 0;
	uint64_t first;

	while (digits < line->stack.len && isdigit((unsigned char)line->stack.data[line->stack.len - 1 - digits]))
		digits++;
	if (!digits || digits + 2 > line->stack.len || line->stack.data[line->stack.len - 1 - digits] != ' ' ||
	    !span_u64((struct span){ line->stack.data + line->stack.len - digits, digits }, &first))
		return false;
	line->stack.len -= digits + 1;
	line->count = folded->before_it ? first : line->count;
	return true;
}

/* The next lines: 1, 0 at the end, or -errno. */
static int next_block(struct folded *folded)
{
	struct span block;
	int more;

	buf_clear(&folded->last);
	buf_add(&folded->last, folded->before.data, folded->before.len);
	if (buf_error(&folded->last))
		return buf_error(&folded->last);
	folded->before.data = folded->last.data;
	if (folded->lines)
		stack_forecast(&folded->forecast, folded->profile, source_share(folded->source));
	more = source_lines(folded->source, folded->number, &block);
	if (more <= 0)
		return more;
	if (!folded->number && span_begins(block, BOM))
		block = span_from(block, strlen(BOM));
	folded->rest = (struct text){ block.data, block.len };
	folded->nul = memchr(block.data, '\0', block.len);
	return 1;
}

/* The next line that is not empty: 1, 0 at the end, -errno, or -EAGAIN if it has not two counts as those before. */
static int next_line(struct folded *folded, struct line *ret)
{
	for (;;) {
		struct text line;
		size_t space;
		int err;

		if (!folded->rest.len) {
			int more = folded->source ? next_block(folded) : 0;

			folded->unread = more < 0;
			if (more <= 0)
				return more;
		}
		line = take(&folded->rest, '\n');
		folded->number++;
		trim_end(&line);
		if (!line.len)
			continue;
		if (folded->nul && folded->nul < line.data + line.len)
			return fail_plain(-EINVAL, "line %zu: this is not text", folded->number);
		for (space = line.len; space && line.data[space - 1] != ' ' && line.data[space - 1] != '\t';)
			space--;
		/* One blank is between the two; more belong to the name. */
		ret->stack = (struct text){ line.data, space ? space - 1 : 0 };
		err = read_count(folded, (struct text){ line.data + space, line.len - space }, &ret->count);
		if (err)
			return err;
		if (!ret->stack.len)
			return fail_plain(-EINVAL, "line %zu: no stack before its count", folded->number);
		return folded->pairs && !take_first_count(folded, ret) ? -EAGAIN : 1;
	}
}

/* Do all lines have two counts, as far as is looked? A name may end in a number, but not on each of several lines. */
static bool has_pairs(struct source *source)
{
	for (size_t want = PEEK_FIRST; want <= PEEK_MOST; want *= 2) {
		struct span text = source_peek(source, want);
		const char *end = memrchr(text.data, '\n', text.len);
		bool all = text.len < want;
		struct folded folded = { .rest = { text.data, all || !end ? text.len : (size_t)(end - text.data) },
					 .pairs = true };
		struct line line;
		size_t lines = 0;
		int more = 1;

		while ((all || end) && lines < PAIRS_SEEN && (more = next_line(&folded, &line)) > 0)
			lines++;
		if (all || more < 0 || lines >= PAIRS_LEAST)
			return more >= 0 && lines >= PAIRS_LEAST;
	}
	return false;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undoes text_escape: \xNN is a byte. */
static struct text unescape(struct folded *folded, struct text text)
{
	if (!text.len || !memchr(text.data, '\\', text.len))
		return text;
	buf_clear(&folded->scratch);
	for (size_t i = 0; i < text.len; i++) {
		if (i + 3 < text.len && text.data[i] == '\\' && text.data[i + 1] == 'x' &&
		    hex_digit(text.data[i + 2]) >= 0 && hex_digit(text.data[i + 3]) >= 0) {
			buf_addc(&folded->scratch,
				 (char)(hex_digit(text.data[i + 2]) << 4 | hex_digit(text.data[i + 3])));
			i += 3;
		} else {
			buf_addc(&folded->scratch, text.data[i]);
		}
	}
	return (struct text){ folded->scratch.data, folded->scratch.len };
}

static uint32_t add_text(struct folded *folded, struct text text)
{
	struct text plain = unescape(folded, text);

	return buf_error(&folded->scratch) ? PROFILE_FULL : profile_bytes(folded->profile, plain.data, plain.len);
}

/* NAME+0xHEX or NAME@0xHEX as wick writes them: the digits lower case, without leading zeros. */
static bool split_address(struct text text, char sign, struct text *ret_name, uint64_t *ret_address)
{
	uint64_t address = 0;
	size_t at = text.len;

	while (at && text.len - at <= 16 && hex_digit(text.data[at - 1]) >= 0)
		at--;
	if (at == text.len || text.len - at > 16 || at < 4 || memcmp(text.data + at - 2, "0x", 2) ||
	    text.data[at - 3] != sign || (text.data[at] == '0' && text.len - at > 1))
		return false;
	*ret_name = (struct text){ text.data, at - 3 };
	for (; at < text.len; at++)
		address = address << 4 | (uint64_t)hex_digit(text.data[at]);
	*ret_address = address;
	return !memchr(text.data, '/', ret_name->len) && !memchr(text.data, '\\', ret_name->len);
}

static uint32_t add_file(struct folded *folded, struct text name)
{
	struct profile_file file = { .path = is(name, "[file]") ? PROFILE_NONE : add_text(folded, name) };

	return profile_add_file(folded->profile, &file);
}

/* What it is called; what has no name is given back its file and offset. An empty name stays without anything. */
static void fill_frame(struct folded *folded, struct text text, struct profile_frame *frame)
{
	struct text name;

	switch (frame->kind) {
	case FRAME_KERNEL:
		if (split_address(text, '+', &name, &frame->address) && is(name, "[kernel]"))
			return;
		break;
	case FRAME_JIT:
		if (is(text, "[jit]"))
			return;
		break;
	case FRAME_USER:
		if (split_address(text, '+', &name, &frame->address)) {
			if (is(name, "[vdso]"))
				frame->kind = FRAME_VDSO;
			else
				frame->file = add_file(folded, name);
			return;
		}
		if (split_address(text, '@', &name, &frame->address))
			frame->file = add_file(folded, name);
		break;
	default:
		break;
	}
	frame->address = 0;
	frame->name = add_text(folded, text);
}

static uint32_t add_frame(struct folded *folded, struct text text)
{
	static const struct {
		const char *suffix;
		enum frame_kind kind;
	} kinds[] = { { "_[k]", FRAME_KERNEL }, { "_[j]", FRAME_JIT }, { "_[i]", FRAME_INLINE } };
	struct profile_frame frame = { .kind = FRAME_USER };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (ends_with(text, kinds[i].suffix)) {
			frame.kind = kinds[i].kind;
			text.len -= SUFFIX_LEN;
			break;
		}
	fill_frame(folded, text, &frame);
	return profile_add_frame(folded->profile, &frame);
}

static struct known *add_known(struct folded *folded, uint32_t hash)
{
	if (folded->known_len + 1 >= folded->known_cap) {
		size_t cap = folded->known_cap ? folded->known_cap * 2 : 1024;
		struct known *known = aligned_alloc(sizeof(*known), cap * sizeof(*known));
		const char **texts = known ? reallocarray(folded->texts, cap, sizeof(*texts)) : NULL;

		if (!texts) {
			free(known);
			return NULL;
		}
		folded->texts = texts;
		if (folded->known_len)
			memcpy(known, folded->known, (folded->known_len + 1) * sizeof(*known));
		free(folded->known);
		folded->known = known;
		folded->known_cap = cap;
	}
	if (folded->known_len >= UINT32_MAX - 1 || index_add(&folded->index, hash, (uint32_t)folded->known_len + 1) < 0)
		return NULL;
	return &folded->known[++folded->known_len];
}

static inline bool is_known(const struct folded *folded, uint32_t number, const struct piece *piece)
{
	const struct known *known = &folded->known[number];

	if (known->len != piece->text.len || known->start[0] != piece->start[0] || known->start[1] != piece->start[1] ||
	    known->start[2] != piece->start[2])
		return false;
	return piece->text.len <= KNOWN_START || !memcmp(folded->texts[number], piece->text.data, piece->text.len);
}

/* The same text is the same frame: it is looked into once. */
static const struct known *find_frame(struct folded *folded, const struct piece *piece)
{
	size_t at = index_start(&folded->index, piece->hash), len = piece->text.len;
	struct known *known;
	uint32_t number;

	if (piece->known && is_known(folded, piece->known, piece))
		return &folded->known[piece->known];
	while ((number = index_next(&folded->index, piece->hash, &at)))
		if (is_known(folded, number, piece))
			return &folded->known[number];
	known = len <= INT32_MAX ? add_known(folded, piece->hash) : NULL;
	if (!known)
		return NULL;
	*known = (struct known){ .len = (uint32_t)len & INT32_MAX };
	memcpy(known->start, piece->start, sizeof(known->start));
	folded->texts[folded->known_len] = NULL;
	if (len > KNOWN_START) {
		uint32_t copy = intern_bytes(folded->copies, piece->text.data, len);

		if (copy == UINT32_MAX)
			return NULL;
		folded->texts[folded->known_len] = intern_get(folded->copies, copy, NULL);
	}
	known->frame = add_frame(folded, piece->text);
	known->kernel = profile_frame(folded->profile, known->frame)->kind == FRAME_KERNEL;
	return known->frame == PROFILE_FULL ? NULL : known;
}

/* The reason in [incomplete: REASON]. */
static bool take_reason(struct text text, struct text *ret)
{
	static const char begin[] = "[incomplete: ";
	size_t len = sizeof(begin) - 1;

	if (text.len <= len + 1 || memcmp(text.data, begin, len) != 0 || text.data[text.len - 1] != ']')
		return false;
	*ret = (struct text){ text.data + len, text.len - len - 1 };
	return true;
}

/* Of what has the name alone there is nothing else to tell processes apart by. */
static uint32_t add_process(struct folded *folded, uint32_t comm)
{
	uint32_t number =
		comm == PROFILE_FULL ? PROFILE_FULL : profile_add_process(folded->profile, 0, (uint64_t)comm + 1);

	if (number != PROFILE_FULL)
		profile_process(folded->profile, number)->comm = comm;
	return number;
}

/* Whose stack it is. -EAGAIN if this cannot be the name of a process. */
static int enter_comm(struct folded *folded, const struct piece *piece)
{
	struct comm *met = &folded->comms_met[piece->hash % COMMS];
	struct text text = piece->text;

	if (!met->text.data || met->text.len != text.len || memcmp(met->text.data, text.data, text.len) != 0) {
		uint32_t copy = intern_bytes(folded->copies, text.data, text.len);

		if (copy == UINT32_MAX)
			return -ENOMEM;
		*met = (struct comm){ .text = { intern_get(folded->copies, copy, NULL), text.len } };
		if (!is(text, "[unnamed]")) {
			if (unescape(folded, text).len > COMM_MAX)
				return -EAGAIN;
			met->comm = add_text(folded, text);
		}
		met->process = add_process(folded, met->comm);
	}
	folded->comm = met->comm;
	folded->process = met->process;
	return folded->process == PROFILE_FULL ? -ENOMEM : 0;
}

/* A note that the stack is not whole; its frame, or PROFILE_FULL. */
static uint32_t add_cut(struct folded *folded, struct text reason)
{
	struct profile_frame cut = { .kind = FRAME_CUT, .name = add_text(folded, reason) };

	folded->reason = cut.name;
	return profile_add_frame(folded->profile, &cut);
}

/* One frame deeper than the levels that there are. */
static int enter(struct folded *folded, const struct piece *piece)
{
	struct level *level = &folded->levels[folded->depth];
	struct text text = piece->text, reason;
	const struct known *known;

	if (folded->depth > DEPTH_MAX)
		return fail_plain(-EINVAL, "line %zu: more than %d frames", folded->number, DEPTH_MAX);
	*level = (struct level){ .end = piece->end, .user = folded->depth && level[-1].user };
	if (!folded->depth++) {
		folded->comm = folded->process = PROFILE_NONE;
		folded->named = folded->comms && text.len; /* an empty name is nobody's: it stays in the stack */
		if (folded->named)
			return enter_comm(folded, piece);
	}
	if (folded->depth == (folded->named ? 2 : 1) && take_reason(text, &reason)) {
		level->user = true;
		return bulk_frame(folded->bulk, add_cut(folded, reason));
	}
	known = find_frame(folded, piece);
	if (!known)
		return -ENOMEM;
	level->user |= !known->kernel;
	return bulk_frame(folded->bulk, known->frame);
}

static size_t common_length(struct text a, struct text b)
{
	size_t most = a.len < b.len ? a.len : b.len, at = 0;

	for (; at + sizeof(uint64_t) <= most; at += sizeof(uint64_t)) {
		uint64_t left, right;

		memcpy(&left, a.data + at, sizeof(left));
		memcpy(&right, b.data + at, sizeof(right));
		if (left != right)
			break;
	}
	while (at < most && a.data[at] == b.data[at])
		at++;
	return at;
}

/* Leaves the levels that this stack does not share with the one before. */
static void leave(struct folded *folded, struct text stack)
{
	size_t common = common_length(stack, folded->before);

	while (folded->depth) {
		size_t end = folded->levels[folded->depth - 1].end;

		if (end < common || (end == common && (end == stack.len || stack.data[end] == ';')))
			break;
		folded->depth--;
	}
	if (folded->depth < (size_t)(folded->named ? 2 : 1))
		folded->reason = PROFILE_NONE;
	folded->before = stack;
}

/* A bit for each byte of a word that is a semicolon; above the first of them there may be others. */
static inline uint64_t semicolons(uint64_t word)
{
	uint64_t other = le64toh(word) ^ 0x3b3b3b3b3b3b3b3bULL; /* 0 where one is: it borrows from its neighbour */
	uint64_t marks = (other - 0x0101010101010101ULL) & ~other & 0x8080808080808080ULL;

	return (marks >> 7) * 0x0102040810204080ULL >> 56;
}

/* How many bytes are before the first semicolon. Without branches: where it is cannot be foreseen. */
static inline size_t before_semicolon(const uint64_t words[START_WORDS])
{
	return (size_t)__builtin_ctzll(semicolons(words[0]) | semicolons(words[1]) << 8 | semicolons(words[2]) << 16 |
				       1ULL << KNOWN_START);
}

static inline uint32_t hash_piece(const struct folded *folded, const struct piece *piece)
{
	uint64_t hash = index_mix(piece->start[0] ^ folded->seed[0], piece->start[1] ^ folded->seed[1]);

	if (piece->text.len > KNOWN_START)
		hash ^= index_hash_bytes(folded->seed, piece->text.data + KNOWN_START, piece->text.len - KNOWN_START);
	return index_hash(index_mix(hash ^ piece->start[2], folded->seed[0] ^ piece->text.len));
}

/* The frame that begins at `at`. */
static inline void take_piece(const struct folded *folded, struct text stack, size_t at, struct piece *ret)
{
	static const unsigned char masks[2 * KNOWN_START] = { [0 ... KNOWN_START - 1] = 0xff };
	const char *data = stack.data + at, *end = folded->rest.data + folded->rest.len;
	size_t left = stack.len - at, len;
	uint64_t words[START_WORDS] = { 0 }, mask[START_WORDS];

	if ((size_t)(end - data) >= KNOWN_START)
		memcpy(words, data, KNOWN_START);
	else
		memcpy(words, data, left);
	len = before_semicolon(words);
	len = len < left ? len : left;
	memcpy(mask, masks + KNOWN_START - len, KNOWN_START);
	ret->start[0] = words[0] & mask[0];
	ret->start[1] = words[1] & mask[1];
	ret->start[2] = words[2] & mask[2];
	if (len == KNOWN_START && left > len) {
		end = memchr(data + len, ';', left - len);
		len = end ? (size_t)(end - data) : left;
	}
	ret->text = (struct text){ data, len };
	ret->end = at + len;
	ret->hash = hash_piece(folded, ret);
}

/*
 * The next frames of a stack, from *at on. Behind the last separator there may be an empty one. What looking them up
 * will read is fetched here.
 */
static size_t take_pieces(const struct folded *folded, struct text stack, size_t *at, struct piece *pieces)
{
	size_t len = 0;

	for (; *at <= stack.len && len < PIECES; len++) {
		take_piece(folded, stack, *at, &pieces[len]);
		index_fetch(&folded->index, pieces[len].hash);
		*at = pieces[len].end + 1;
	}
	for (size_t i = 0; i < len; i++) {
		size_t start = index_start(&folded->index, pieces[i].hash);

		pieces[i].known = index_next(&folded->index, pieces[i].hash, &start);
		if (pieces[i].known)
			__builtin_prefetch(&folded->known[pieces[i].known]);
	}
	return len;
}

static int add_stack(struct folded *folded, struct text stack)
{
	struct piece pieces[PIECES];
	size_t at;
	int err;

	leave(folded, stack);
	err = bulk_begin(folded->bulk, folded->depth ? folded->depth - folded->named : 0);
	at = folded->depth ? folded->levels[folded->depth - 1].end + 1 : 0;
	while (!err && at <= stack.len) {
		size_t len = take_pieces(folded, stack, &at, pieces);

		for (size_t i = 0; i < len && !err; i++)
			err = enter(folded, &pieces[i]);
	}
	return err;
}

static int add_line(struct folded *folded, const struct line *line)
{
	struct profile_sample sample = { .value = line->count };
	const struct level *leaf;
	int err;

	if (!span_add(&folded->sum, line->count))
		return fail_plain(-EINVAL, "line %zu: the counts add up to more than can be", folded->number);
	err = add_stack(folded, line->stack);
	if (err)
		return err;
	leaf = &folded->levels[folded->depth - 1];
	sample.process = folded->process;
	sample.comm = folded->comm;
	err = bulk_end(folded->bulk, &sample);
	if (err)
		return err;
	folded->user += leaf->user ? line->count : 0;
	if (!folded->reason)
		return 0;
	folded->by_wick = true;
	folded->cut += line->count;
	return profile_add_counter(folded->profile, "cut", profile_text(folded->profile, folded->reason, NULL),
				   line->count);
}

static int add_counters(struct folded *folded)
{
	int err = profile_add_counter(folded->profile, "total", "counted", folded->sum);

	if (err || !folded->by_wick)
		return err;
	err = profile_add_counter(folded->profile, "stack", "user", folded->user);
	return err ? err : profile_add_counter(folded->profile, "stack", "complete", folded->user - folded->cut);
}

/* -EAGAIN: a first frame cannot be a name of a process, or a line has one count; the member that says so is cleared. */
static int read_lines(struct folded *folded, struct in_request *request)
{
	struct line line = { 0 };
	int err, more = 0;

	err = profile_new(&folded->profile);
	err = err ? err : bulk_new(&folded->bulk, folded->profile);
	err = err ? err : intern_new(&folded->copies);
	index_seed(folded->seed);
	folded->levels = calloc(DEPTH_MAX + 1, sizeof(*folded->levels));
	if (err || !folded->levels)
		return -ENOMEM;
	profile_meta(folded->profile)->unit = profile_string(folded->profile, "samples");
	while (!err && (more = next_line(folded, &line)) > 0) {
		err = add_line(folded, &line);
		folded->lines += !err;
	}
	if (more == -EAGAIN)
		folded->pairs = false;
	else if (err == -EAGAIN)
		folded->comms = false;
	else if (more < 0 && !folded->unread)
		err = fail_hint(more, "folded stacks are `a;b;c 12` a line; wick-convert(1) has what else is read");
	err = err ? err : more < 0 ? more : 0;
	err = err ? in_salvage(request, err, folded->lines) : 0;
	err = err ? err : bulk_flush(folded->bulk);
	return err ? err : add_counters(folded);
}

static int choose_type(struct folded *folded, struct in_request *request)
{
	bool after = !request->type || !strcmp(request->type, "after");

	folded->before_it = request->type && !strcmp(request->type, "before");
	if (request->type && !(folded->pairs && (after || folded->before_it)))
		return fail_plain(-EINVAL, "--type: '%s' is not in it: it has %s", request->type,
				  folded->pairs ? "before, after" : "one kind of values only");
	buf_clear(&request->notes);
	if (folded->pairs && !request->type)
		in_note_types(request, "after", "before");
	return 0;
}

/* One try, with what comms and pairs say. */
static int read_all(struct profile **ret, struct folded *folded, struct in_request *request)
{
	int err = choose_type(folded, request);

	err = err ? err : read_lines(folded, request);
	if (!err)
		*ret = folded->profile;
	else
		profile_free(folded->profile);
	bulk_free(folded->bulk);
	index_free(&folded->index);
	free(folded->known);
	free(folded->texts);
	free(folded->levels);
	intern_free(folded->copies);
	buf_free(&folded->last);
	buf_free(&folded->scratch);
	return err;
}

static int read_text(struct profile **ret, struct source *source, struct in_request *request, bool *pairs)
{
	bool comms = true;
	int err = -EAGAIN;

	for (int tries = 0; tries < 3 && err == -EAGAIN; tries++) { /* each takes one of the two away */
		struct folded folded = { .source = source, .comms = comms, .pairs = *pairs };

		err = tries ? source_again(source) : 0;
		err = err ? err : read_all(ret, &folded, request);
		comms = folded.comms;
		*pairs = folded.pairs;
	}
	return err;
}

/* The other values of the same lines; then there is nothing to choose, and to say. */
static int read_before(struct profile **ret, struct source *source, const struct in_request *request)
{
	struct in_request again = { .type = "before", .salvage = request->salvage };
	bool pairs = true;
	int err = source_again(source);

	err = err ? err : read_text(ret, source, &again, &pairs);
	buf_free(&again.notes);
	return err;
}

int in_folded(struct profile **ret, struct source *source, struct in_request *request)
{
	bool pairs = false;
	int err;

	source_peek(source, PEEK_FIRST);
	err = request->salvage ? 0 : source_error(source);
	if (!err) {
		pairs = has_pairs(source);
		err = source_keep(source);
	}
	err = err ? err : read_text(ret, source, request, &pairs);
	if (!err && pairs && request->both && !request->type) {
		err = read_before(&request->before, source, request);
		if (err)
			profile_free(*ret);
		else if (!request->salvaged)
			buf_clear(&request->notes);
	}
	return err == -ENOMEM ? fail(err, "reading a profile") : err;
}
