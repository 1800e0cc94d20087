/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads folded stacks (docs/format-folded.md), wick's own and those of other tools: `root;...;leaf count` a line. In:
 * bytes from anybody. Out: a profile whose folded form has the same lines, or words that name the first line that is
 * not one.
 *
 * Whether the first frame of a line is the name of a process is nowhere said. It is taken for one if that can be so on
 * every line: the kernel's names of tasks have at most 15 bytes.
 */
#include "in/in.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "profile/profile.h"

#define COMM_MAX 15
#define DEPTH_MAX 65536
#define SUFFIX_LEN 4 /* _[k] */
#define BOM "\xef\xbb\xbf"

struct text {
	const char *data;
	size_t len;
};

struct line {
	struct text stack;
	uint64_t count;
};

struct folded {
	struct profile *profile;
	struct text rest; /* what is not read yet */
	size_t number;    /* of the line, from 1 */
	bool comms;       /* the first frame is whose stack it is */
	bool by_wick;     /* stacks that are not whole say so: the others are */
	uint64_t sum, user, cut;
	struct buf scratch;
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

/* The next line that is not empty: 1, 0 at the end, or -EINVAL. */
static int next_line(struct folded *folded, struct line *ret)
{
	while (folded->rest.len) {
		struct text line = take(&folded->rest, '\n');
		size_t space;
		int err;

		folded->number++;
		trim_end(&line);
		if (!line.len)
			continue;
		if (memchr(line.data, '\0', line.len))
			return fail_plain(-EINVAL, "line %zu: this is not text", folded->number);
		for (space = line.len; space && line.data[space - 1] != ' ' && line.data[space - 1] != '\t';)
			space--;
		ret->stack = (struct text){ line.data, space };
		trim_end(&ret->stack);
		err = read_count(folded, (struct text){ line.data + space, line.len - space }, &ret->count);
		if (err)
			return err;
		if (!ret->stack.len)
			return fail_plain(-EINVAL, "line %zu: no stack before its count", folded->number);
		return 1;
	}
	return 0;
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
	return !memchr(text.data, '/', ret_name->len);
}

static uint32_t add_file(struct folded *folded, struct text name)
{
	struct profile_file file = { .path = is(name, "[file]") ? PROFILE_NONE : add_text(folded, name) };

	return profile_add_file(folded->profile, &file);
}

/* What it is called; what has no name is given back its file and offset. */
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
	frame->name = text.len ? add_text(folded, text) : profile_string(folded->profile, "[unknown]");
}

static uint32_t add_frame(struct folded *folded, struct text text, bool kernel)
{
	static const struct {
		const char *suffix;
		enum frame_kind kind;
	} kinds[] = { { "_[k]", FRAME_KERNEL }, { "_[j]", FRAME_JIT }, { "_[i]", FRAME_INLINE } };
	struct profile_frame frame = { .kind = kernel ? FRAME_KERNEL : FRAME_USER };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (ends_with(text, kinds[i].suffix)) {
			frame.kind = kinds[i].kind;
			text.len -= SUFFIX_LEN;
			break;
		}
	fill_frame(folded, text, &frame);
	return profile_add_frame(folded->profile, &frame);
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

static int add_cut(struct folded *folded, struct text reason, uint64_t count, uint32_t *ret)
{
	struct profile_frame frame = { .kind = FRAME_CUT, .name = add_text(folded, reason) };
	uint32_t number = profile_add_frame(folded->profile, &frame);

	*ret = profile_add_node(folded->profile, PROFILE_NONE, number);
	folded->cut += count;
	return *ret == PROFILE_FULL ? -ENOMEM
				    : profile_add_counter(folded->profile, "cut",
							  profile_text(folded->profile, frame.name, NULL), count);
}

static int add_stack(struct folded *folded, struct text stack, uint64_t count, uint32_t *ret)
{
	bool kernel = false, user = false;
	uint32_t node = PROFILE_NONE;
	size_t depth;

	for (depth = 0; stack.len && depth < DEPTH_MAX; depth++) {
		struct text frame = take(&stack, ';'), reason;
		uint32_t number;

		if (!depth && take_reason(frame, &reason)) {
			int err = add_cut(folded, reason, count, &node);

			user = true;
			if (err)
				return err;
			continue;
		}
		if (!kernel && is(frame, "-")) { /* bcc's delimiter: what follows is the kernel's */
			kernel = true;
			continue;
		}
		number = add_frame(folded, frame, kernel);
		node = profile_add_node(folded->profile, node, number);
		if (node == PROFILE_FULL)
			return -ENOMEM;
		user |= profile_frame(folded->profile, number)->kind != FRAME_KERNEL;
	}
	if (stack.len)
		return fail_plain(-EINVAL, "line %zu: more than %d frames", folded->number, DEPTH_MAX);
	folded->user += user ? count : 0;
	*ret = node;
	return 0;
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

static int add_line(struct folded *folded, const struct line *line)
{
	struct profile_sample sample = { .value = line->count };
	struct text stack = line->stack;
	int err;

	if (__builtin_add_overflow(folded->sum, line->count, &folded->sum))
		return fail_plain(-EINVAL, "line %zu: the counts add up to more than can be", folded->number);
	if (folded->comms) {
		struct text comm = take(&stack, ';');

		sample.comm = is(comm, "[unnamed]") ? PROFILE_NONE : add_text(folded, comm);
		sample.process = add_process(folded, sample.comm);
	}
	err = add_stack(folded, stack, line->count, &sample.stack);
	if (!err && profile_add_sample(folded->profile, &sample) == PROFILE_FULL)
		err = -ENOMEM;
	return err == -ENOMEM ? fail(err, "reading a profile") : err;
}

/* Checks every line, and finds whether the first frames can be names of processes. */
static int survey(struct folded folded, bool *ret_comms, bool *ret_by_wick)
{
	struct line line;
	int more;

	*ret_comms = true;
	while ((more = next_line(&folded, &line)) > 0) {
		struct text first = take(&line.stack, ';'), second = take(&line.stack, ';'), reason;

		if (!is(first, "[unnamed]") && unescape(&folded, first).len > COMM_MAX)
			*ret_comms = false;
		*ret_by_wick |= take_reason(second, &reason);
	}
	buf_free(&folded.scratch);
	return more;
}

static int add_counters(struct folded *folded)
{
	int err = profile_add_counter(folded->profile, "total", "counted", folded->sum);

	if (err || !folded->by_wick)
		return err;
	err = profile_add_counter(folded->profile, "stack", "user", folded->user);
	return err ? err : profile_add_counter(folded->profile, "stack", "complete", folded->user - folded->cut);
}

int in_folded(struct profile **ret, const void *data, size_t len)
{
	struct folded folded = { .rest = { data, len } };
	struct line line;
	int err, more = 0;

	if (len >= strlen(BOM) && !memcmp(data, BOM, strlen(BOM)))
		folded.rest = (struct text){ (const char *)data + strlen(BOM), len - strlen(BOM) };
	err = survey(folded, &folded.comms, &folded.by_wick);
	if (err)
		return fail_hint(err, "a profile is a .wick file or folded stacks, `a;b;c 12` a line");
	err = profile_new(&folded.profile);
	if (!err) {
		profile_meta(folded.profile)->unit = profile_string(folded.profile, "samples");
		while (!err && (more = next_line(&folded, &line)) > 0)
			err = add_line(&folded, &line);
		err = err ? err : more;
	}
	err = err ? err : add_counters(&folded);
	buf_free(&folded.scratch);
	if (err)
		profile_free(folded.profile);
	else
		*ret = folded.profile;
	return err == -ENOMEM ? fail(err, "reading a profile") : err;
}
