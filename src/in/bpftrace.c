/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what bpftrace prints at its end: maps whose keys hold stacks, `@[kstack, ustack, comm]: N`, as text or as
 * -f json, in any order of keys and any mode of stacks (bpftrace, perf, raw). In: lines from anybody. Out: a profile,
 * each entry a sample. Of several maps one is read, the first with stacks, or the one that --type names.
 *
 * Which stack is the kernel's is nowhere said: addresses tell it if they are printed, else the functions through which
 * a kernel is entered; failing both, of two stacks the first is, as in the usual order of keys.
 */
#include "in/in.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/json_read.h"
#include "in/source.h"
#include "in/stack.h"
#include "profile/profile.h"

#define KEY_MAX_LEN (4u << 20) /* bytes of one key */
#define PARTS_MAX 16

/* A part of a key: a stack, or a word. */
struct part {
	struct span text;
	bool is_stack;
	bool is_kernel;
};

struct bpftrace {
	struct profile *profile;
	struct in_request *request;
	struct stack stack;
	struct stack_types types;
	struct buf key;  /* of the entry being read, from its @ to before `]: ` */
	size_t name_len; /* its first bytes are the map's name */
	bool inside;     /* the key goes on */
	size_t line;
	uint64_t count, sum;
};

static int full(void)
{
	return fail(-ENOMEM, "reading a profile");
}

/* Takes ` (MODULE)` off the end. */
static struct span take_module(struct span *symbol)
{
	const char *open = memrchr(symbol->data, '(', symbol->len);
	struct span module = { "", 0 };

	if (!span_ends(*symbol, ")") || !open || open == symbol->data || open[-1] != ' ')
		return module;
	module = (struct span){ open + 1, (size_t)(symbol->data + symbol->len - 1 - (open + 1)) };
	symbol->len = (size_t)(open - 1 - symbol->data);
	return module;
}

/* An address by itself needs some digits: `add` and `fade` are functions. */
static bool is_address(struct span word, bool more, uint64_t *ret)
{
	if (span_begins(word, "0x"))
		return span_hex(span_from(word, 2), ret);
	return (more || word.len >= 6) && span_hex(word, ret);
}

/*
 * The frame of a line: `sym+12`, `0x7f12`, `7f12 sym+12 (module)`, `7f12`. Where a user address was mapped is not
 * known: it is a name like any other, if there is none.
 */
static uint32_t add_frame(struct bpftrace *bpftrace, struct span line, bool kernel)
{
	struct profile_frame frame = { .kind = kernel ? FRAME_KERNEL : FRAME_USER };
	struct span rest = line, word = span_word(&rest), module = { "", 0 }, symbol = line;
	uint64_t address = 0, offset;
	const char *plus;

	if (is_address(word, rest.len > 0, &address) && rest.len) {
		symbol = rest;
		module = take_module(&symbol);
	}
	plus = memrchr(symbol.data, '+', symbol.len);
	if (plus && span_u64(span_from(symbol, (size_t)(plus + 1 - symbol.data)), &offset))
		symbol.len = (size_t)(plus - symbol.data);
	if (!kernel && module.len && !span_is(module, "[unknown]")) {
		const struct profile_file file = { .path = profile_bytes(bpftrace->profile, module.data, module.len) };

		frame.file = profile_add_file(bpftrace->profile, &file);
	}
	if (kernel)
		frame.address = address;
	if (!kernel || !is_address(symbol, false, &offset))
		frame.name = profile_bytes(bpftrace->profile, symbol.data, symbol.len);
	return profile_add_frame(bpftrace->profile, &frame);
}

/* By its root-most frame. */
static bool is_kernel_stack(struct span stack)
{
	struct span last = { "", 0 }, word;
	uint64_t address = 0;

	while (stack.len) {
		struct span line = span_trim(span_line(&stack));

		if (line.len)
			last = line;
	}
	word = span_word(&last);
	if (is_address(word, last.len > 0, &address))
		return address >= STACK_KERNEL_ADDRESS;
	return stack_is_kernel_root(word);
}

/*
 * The parts of a key, divided by commas: a stack begins with the end of a line and has its comma on a line of its own;
 * an empty stack is an empty part.
 */
static size_t split_key(struct span key, struct part *parts)
{
	size_t len = 0;

	while (len < PARTS_MAX) {
		struct part *part = &parts[len++];
		const char *end = NULL;
		size_t at = 0;

		*part = (struct part){ .text = key };
		while (at < key.len && span_is_blank(key.data[at]))
			at++;
		part->is_stack = at < key.len && key.data[at] == '\n';
		if (part->is_stack)
			end = memmem(key.data, key.len, "\n,", 2);
		else if (key.len)
			end = memchr(key.data, ',', key.len);
		if (end)
			part->text.len = (size_t)(end - key.data);
		if (part->is_stack)
			part->is_kernel = is_kernel_stack(part->text);
		else
			part->text = span_trim(part->text);
		if (!end)
			break;
		key = span_from(key, (size_t)(end - key.data) + (part->is_stack ? 2 : 1));
	}
	return len;
}

/* Of two stacks of which none is known to be the kernel's, or both, the first is. */
static void settle_stacks(struct part *parts, size_t len)
{
	struct part *stacks[PARTS_MAX];
	size_t found = 0;

	for (size_t i = 0; i < len; i++)
		if (parts[i].is_stack)
			stacks[found++] = &parts[i];
	if (found == 2 && stacks[0]->is_kernel == stacks[1]->is_kernel) {
		stacks[0]->is_kernel = true;
		stacks[1]->is_kernel = false;
	}
}

static int push_stacks(struct bpftrace *bpftrace, const struct part *parts, size_t len, bool kernel)
{
	for (size_t i = 0; i < len; i++) {
		struct span text = parts[i].text;

		if (!parts[i].is_stack || parts[i].is_kernel != kernel)
			continue;
		while (text.len) {
			struct span line = span_trim(span_line(&text));
			int err = line.len ? stack_push(&bpftrace->stack, add_frame(bpftrace, line, kernel)) : 0;

			if (err == -E2BIG)
				return fail_plain(-EINVAL, "line %zu: more than %d frames", bpftrace->line,
						  STACK_DEPTH_MAX);
			if (err)
				return full();
		}
	}
	return 0;
}

/* Words are the name, the process and the thread, in this order; others become labels. */
static int read_words(struct bpftrace *bpftrace, const struct part *parts, size_t len, struct profile_sample *sample)
{
	uint64_t numbers[2] = { 0 }, number;
	size_t found = 0;

	for (size_t i = 0; i < len; i++) {
		struct span text = parts[i].text;
		char key[16];

		if (parts[i].is_stack || !text.len)
			continue;
		if (span_u64(text, &number) && number <= UINT32_MAX && found < 2) {
			numbers[found++] = number;
		} else if (!sample->comm && text.len < 16 && !memchr(text.data, ':', text.len)) {
			sample->comm = profile_bytes(bpftrace->profile, text.data, text.len);
		} else {
			snprintf(key, sizeof(key), "key%zu", i + 1);
			sample->labels = profile_add_label(bpftrace->profile, sample->labels,
							   profile_string(bpftrace->profile, key),
							   profile_bytes(bpftrace->profile, text.data, text.len));
		}
	}
	sample->tid = (uint32_t)numbers[1];
	if (found) {
		sample->process = profile_add_process(bpftrace->profile, (uint32_t)numbers[0], 0);
		if (sample->process != PROFILE_FULL)
			profile_process(bpftrace->profile, sample->process)->comm = sample->comm;
	} else if (sample->comm) {
		sample->process = stack_process_named(bpftrace->profile, sample->comm);
	}
	return 0;
}

/* A stack, or the place of one that is empty: without, the map is about something else. */
static bool has_stack(const struct part *parts, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (parts[i].is_stack || !parts[i].text.len)
			return true;
	return false;
}

static int add_entry(struct bpftrace *bpftrace, struct span name, struct span key, uint64_t value)
{
	struct profile_sample sample = { .value = value };
	struct part parts[PARTS_MAX];
	size_t len = split_key(key, parts);
	int err;

	if (!has_stack(parts, len) || !stack_type(&bpftrace->types, bpftrace->profile, name))
		return 0;
	settle_stacks(parts, len);
	bpftrace->stack.depth = 0;
	err = push_stacks(bpftrace, parts, len, true);
	err = err ? err : push_stacks(bpftrace, parts, len, false);
	err = err ? err : read_words(bpftrace, parts, len, &sample);
	if (err)
		return err;
	sample.stack = stack_node(&bpftrace->stack, bpftrace->profile);
	if (!span_add(&bpftrace->sum, value))
		return fail_plain(-EINVAL, "line %zu: the counts add up to more than can be", bpftrace->line);
	if (profile_add_sample(bpftrace->profile, &sample) == PROFILE_FULL)
		return full();
	bpftrace->count++;
	return 0;
}

/* `N`, or of stats() `count N, average N, total N`: the total. A histogram has its numbers on other lines. */
static bool read_value(struct span text, uint64_t *ret)
{
	const char *total = memmem(text.data, text.len, "total ", 6);

	if (total)
		text = span_from(text, (size_t)(total + 6 - text.data));
	return span_u64(span_trim(text), ret);
}

/* The entry whose last line this is, its key gathered. */
static int end_entry(struct bpftrace *bpftrace, struct span value)
{
	struct span whole = { bpftrace->key.data, bpftrace->key.len };
	struct span name = { whole.data, bpftrace->name_len };
	uint64_t number;

	bpftrace->inside = false;
	if (!read_value(value, &number))
		return 0;
	return add_entry(bpftrace, name, span_from(whole, name.len + 1), number);
}

/* `]: ` ends a key; in a name of C++ there may be another one before. */
static const char *find_end(struct span line)
{
	const char *last = NULL;

	for (size_t at = 0; at + 1 < line.len;) {
		const char *found = memmem(line.data + at, line.len - at, "]:", 2);

		if (!found)
			break;
		last = found;
		at = (size_t)(found + 2 - line.data);
	}
	return last;
}

static int read_line(struct bpftrace *bpftrace, struct span line)
{
	const char *end = find_end(line);
	struct span part = line;

	if (!bpftrace->inside) {
		const char *open = line.len && line.data[0] == '@' ? memchr(line.data, '[', line.len) : NULL;

		if (!open || (end && end < open))
			return 0; /* words of the program, plain numbers, histograms */
		buf_clear(&bpftrace->key);
		bpftrace->name_len = (size_t)(open - line.data);
		bpftrace->inside = true;
	}
	if (end)
		part.len = (size_t)(end - line.data);
	buf_add(&bpftrace->key, part.data, part.len);
	if (bpftrace->key.len > KEY_MAX_LEN)
		return fail_plain(-EFBIG, "line %zu: a key of more than 4 MiB", bpftrace->line);
	if (end)
		return buf_error(&bpftrace->key) ? full()
						 : end_entry(bpftrace, span_from(line, (size_t)(end + 2 - line.data)));
	buf_addc(&bpftrace->key, '\n');
	return 0;
}

/* {"type": "map", "data": {"@name": {"key": 12, ...}}} on a line. */
static int read_json_map(struct bpftrace *bpftrace, struct json_in *json)
{
	struct span name, key;
	uint64_t value;

	for (json_in_begin(json, '{'); json_in_key(json, &name);) {
		autobuf struct buf kept = { 0 };

		buf_add(&kept, name.data, name.len);
		if (buf_error(&kept))
			return full();
		if (json_in_peek(json) != '{') {
			json_in_skip(json);
			continue;
		}
		for (json_in_begin(json, '{'); json_in_key(json, &key);) {
			autobuf struct buf copy = { 0 };
			int err;

			buf_add(&copy, key.data, key.len);
			if (buf_error(&copy))
				return full();
			if (json_in_peek(json) != '0') {
				json_in_skip(json);
				continue;
			}
			value = json_in_u64(json);
			err = json->bad ? 0
					: add_entry(bpftrace, (struct span){ kept.data, kept.len },
						    (struct span){ copy.data, copy.len }, value);
			if (err)
				return err;
		}
	}
	return 0;
}

static int read_json_line(struct bpftrace *bpftrace, struct span line)
{
	struct json_in json;
	struct span key;
	bool is_map = false;
	int err = 0;

	json_in_init(&json, line.data, line.len);
	for (json_in_begin(&json, '{'); !err && json_in_key(&json, &key);) {
		if (span_is(key, "type"))
			is_map = span_is(json_in_text(&json), "map");
		else if (span_is(key, "data") && is_map)
			err = read_json_map(bpftrace, &json);
		else
			json_in_skip(&json);
	}
	if (!err && json.bad)
		err = fail_plain(-EINVAL, "line %zu, byte %zu: %s", bpftrace->line, json_in_place(&json), json.bad);
	json_in_free(&json);
	return err;
}

static int read_lines(struct bpftrace *bpftrace, struct source *source)
{
	struct span line;
	int err = 0, more;

	while (!err && (more = source_line(source, &line)) != 0) {
		bpftrace->line = source_line_number(source);
		if (more < 0)
			err = more;
		else if (!bpftrace->inside && line.len && line.data[0] == '{')
			err = read_json_line(bpftrace, line);
		else
			err = read_line(bpftrace, line);
	}
	if (!err && bpftrace->inside)
		err = fail_plain(-EINVAL, "line %zu: cut off in the middle of a key: `]: N` is missing",
				 bpftrace->line);
	return err ? in_salvage(bpftrace->request, err, bpftrace->count) : 0;
}

static int finish(struct bpftrace *bpftrace)
{
	struct profile_meta *meta = profile_meta(bpftrace->profile);
	int err = stack_types_end(&bpftrace->types, bpftrace->profile, bpftrace->request);

	if (!err && !bpftrace->types.chosen)
		return fail_plain(-EINVAL, "no map of bpftrace with stacks in it, such as @[kstack, ustack, comm]: 12");
	if (!err && profile_add_counter(bpftrace->profile, "total", "counted", bpftrace->sum))
		err = full();
	meta->unit = profile_string(bpftrace->profile, "samples");
	return err;
}

int in_bpftrace(struct profile **ret, struct source *source, struct in_request *request)
{
	struct bpftrace bpftrace = { .request = request, .types.wanted = request->type };
	int err = profile_new(&bpftrace.profile);

	err = err ? err : stack_init(&bpftrace.stack);
	err = err ? full() : read_lines(&bpftrace, source);
	err = err ? err : finish(&bpftrace);
	stack_free(&bpftrace.stack);
	buf_free(&bpftrace.key);
	if (err)
		profile_free(bpftrace.profile);
	else
		*ret = bpftrace.profile;
	return err;
}

/* `@name[`, and behind it a key that ends with `]:` or goes on in the next line. */
static bool is_entry(struct span line)
{
	size_t at = 1;

	if (!span_begins(line, "@"))
		return false;
	while (at < line.len && (isalnum((unsigned char)line.data[at]) || line.data[at] == '_'))
		at++;
	if (at == line.len || line.data[at] != '[')
		return false;
	return at + 1 == line.len || find_end(line) || span_ends(span_trim(line), ",");
}

bool in_is_bpftrace(const char *data, size_t len)
{
	struct span rest = { data, len };

	for (int i = 0; i < 1000 && rest.len; i++) {
		struct span line = span_line(&rest);

		if (is_entry(line) || span_begins(line, "{\"type\": \"attached_probes\"") ||
		    span_begins(line, "{\"type\": \"map\""))
			return true;
		if ((span_begins(line, "Attaching ") || span_begins(line, "Attached ")) &&
		    memmem(line.data, line.len, " probe", 6))
			return true;
	}
	return false;
}
