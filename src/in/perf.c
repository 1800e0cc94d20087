/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the text of `perf script`, in whatever fields it was printed: the head of a sample, then its frames, leaf
 * first, a line each, then an empty line; or head and one frame on a line. In: lines from anybody. Out: a profile with
 * one event for each sample that has a time, or the number of the first line that is neither head nor frame.
 *
 * Most lines were met before, letter by letter: what a frame's line came to is remembered by its text. Addresses in
 * user space are not part of it: without the mapping they say nothing, and perf prints them relative or not by its
 * version.
 */
#include "in/in.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/intern.h"
#include "in/perf_head.h"
#include "in/source.h"
#include "in/stack.h"
#include "profile/profile.h"

#define NO_FRAME (PROFILE_FULL - 1) /* a line that may stand among frames and is none */

/* Lines that were met lately, whole: most of them come again soon. */
#define RECENT 2048 /* a power of two */
#define RECENT_LEN 120

struct recent {
	uint32_t frame;
	uint32_t len; /* 0: none */
	char line[RECENT_LEN];
};

struct moment {
	uint64_t time_us;
	uint32_t sample, cpu;
};

struct perf {
	struct profile *profile;
	struct source *source;
	struct in_request *request;
	struct intern *lines; /* of frames, as far as they say which frame it is */
	uint32_t *frames;     /* of each of them */
	size_t frames_cap;
	struct recent *recent;
	struct stack stack;
	struct buf scratch;
	struct stack_types types;
	struct perf_head head;
	enum { OUTSIDE, GATHERING, PASSING } state; /* a head was read: are its frames wanted? */
	uint32_t comm;                              /* of the head */
	uint32_t process;
	struct moment *moments;
	size_t moments_len, moments_cap;
	uint64_t *weights; /* of each sample of the profile: the sum of its periods */
	size_t weights_cap;
	uint64_t period, weight; /* of the first, and of all together */
	uint64_t count;
	bool periods_differ;
	bool by_wick; /* what stands for the period is a count */
};

static int full(void)
{
	return fail(-ENOMEM, "reading a profile");
}

/* Splits `SYMBOL+0xOFF (MODULE)`; either may be missing. False if the line ends in the middle of it. */
static bool split_frame(struct span rest, struct span *ret_symbol, struct span *ret_module)
{
	struct span deleted = { rest.data, rest.len };
	size_t at;

	*ret_symbol = rest;
	*ret_module = (struct span){ "", 0 };
	if (!rest.len || rest.data[rest.len - 1] != ')') /* fields without the module: nothing to find */
		return !memmem(rest.data, rest.len, " (/", 3) && !memmem(rest.data, rest.len, " ([", 3);
	if (span_ends(deleted, " (deleted))"))
		deleted.len -= strlen(" (deleted))");
	else
		deleted.len--;
	for (at = deleted.len; at; at--)
		if (deleted.data[at - 1] == '(' && (at == 1 || span_is_blank(deleted.data[at - 2])))
			break;
	if (!at)
		return true; /* foo(int) */
	*ret_module = span_from(deleted, at);
	*ret_symbol = (struct span){ rest.data, at > 1 ? at - 2 : 0 }; /* one blank is between them */
	return true;
}

/* Takes +0xHEX off the end. */
static bool take_offset(struct span *text, uint64_t *ret)
{
	size_t digits = 0;

	while (digits < text->len && digits < 16 && span_hex_digit(text->data[text->len - 1 - digits]) >= 0)
		digits++;
	if (!digits || text->len < digits + 3 || memcmp(text->data + text->len - digits - 3, "+0x", 3) != 0)
		return false;
	span_hex(span_from(*text, text->len - digits), ret);
	text->len -= digits + 3;
	return true;
}

/* What has no symbol is called by its module, as the classic scripts do, unless its offset in the module is there. */
static uint32_t add_nameless(struct perf *perf, struct profile_frame *frame, struct span module, bool has_offset,
			     bool empty)
{
	const char *slash = memrchr(module.data, '/', module.len);
	struct span base = slash ? span_from(module, (size_t)(slash + 1 - module.data)) : module;
	char name[256];
	int len;

	if (frame->kind == FRAME_KERNEL || (has_offset && frame->file))
		return profile_add_frame(perf->profile, frame);
	if (frame->kind == FRAME_USER && !frame->file && empty)
		return profile_add_frame(perf->profile, frame); /* nothing is known of it, not even that */
	if (!base.len || span_begins(base, "["))
		len = snprintf(name, sizeof(name), "[unknown]");
	else
		len = snprintf(name, sizeof(name), "[%.*s]", (int)(base.len < 200 ? base.len : 200), base.data);
	frame->name = profile_bytes(perf->profile, name, (size_t)len);
	return profile_add_frame(perf->profile, frame);
}

/* A line of the source file beneath its frame, as of -F +srcline. */
static bool is_source_line(struct span line)
{
	const char *colon = memrchr(line.data, ':', line.len);
	uint64_t number;

	return colon && !memchr(line.data, ' ', line.len) &&
	       span_u64(span_from(line, (size_t)(colon + 1 - line.data)), &number);
}

/* `address` is 0 for user space. PROFILE_NONE if the line is cut off. */
static uint32_t parse_frame(struct perf *perf, bool has_address, uint64_t address, struct span rest)
{
	struct profile_frame frame = { .address = address };
	struct span symbol, module;
	uint64_t offset = 0;
	bool has_offset;

	if (!has_address && is_source_line(rest))
		return NO_FRAME;
	if (!split_frame(rest, &symbol, &module))
		return PROFILE_NONE;
	has_offset = take_offset(&module, &offset);
	frame.kind = has_address ? stack_kind_at(module, address) : stack_kind(module, address);
	if (span_is(module, "inlined"))
		frame.kind = FRAME_INLINE;
	if (frame.kind != FRAME_KERNEL)
		frame.address = has_offset ? offset : 0;
	if (frame.kind != FRAME_INLINE)
		frame.file = stack_file(perf->profile, module, frame.kind);
	if (!symbol.len || span_is(symbol, "[unknown]"))
		return add_nameless(perf, &frame, module, has_offset, !symbol.len);
	if (take_offset(&symbol, &offset) && frame.kind == FRAME_KERNEL)
		frame.address -= offset; /* of the function: where in it is not told apart */
	if (span_is(module, "[unknown]") && stack_take_cut(&symbol))
		frame.kind = FRAME_CUT;
	frame.name = stack_unescape(perf->profile, symbol, &perf->scratch);
	return profile_add_frame(perf->profile, &frame);
}

static bool room_for(struct perf *perf, uint32_t number)
{
	size_t cap = perf->frames_cap ? perf->frames_cap : 1024;
	uint32_t *grown;

	if (number < perf->frames_cap)
		return true;
	while (cap <= number)
		cap *= 2;
	grown = reallocarray(perf->frames, cap, sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + perf->frames_cap, 0, (cap - perf->frames_cap) * sizeof(*grown));
	perf->frames = grown;
	perf->frames_cap = cap;
	return true;
}

/* The address that a frame's line begins with, if it does, and what is behind it. */
static struct span take_address(struct span line, uint64_t *ret)
{
	uint64_t address = 0;
	size_t at = 0;

	*ret = 0;
	while (at < line.len && at < 17) {
		int digit = span_hex_digit(line.data[at]);

		if (digit < 0)
			break;
		address = address << 4 | (uint64_t)digit;
		at++;
	}
	if (!at || at > 16 || (at < line.len && !span_is_blank(line.data[at])))
		return line;
	at += at < line.len;                       /* one blank: more belong to the symbol */
	if (at < line.len && line.data[at] == '(') /* `add (/bin/x)`: a symbol that looks like one */
		return line;
	*ret = address;
	return span_from(line, at);
}

/* Where a line is remembered: its first letters are its address. NULL if it is too short or too long. */
static struct recent *recent_of(struct perf *perf, struct span line)
{
	uint64_t first, second;

	if (line.len < 2 * sizeof(first) || line.len > RECENT_LEN)
		return NULL;
	memcpy(&first, line.data, sizeof(first));
	memcpy(&second, line.data + sizeof(first), sizeof(second));
	first = (first * 0x9e3779b97f4a7c15ULL ^ second) * 0xbf58476d1ce4e5b9ULL;
	return &perf->recent[(first ^ line.len) >> 32 & (RECENT - 1)];
}

/*
 * What tells a frame: symbol and module, not where in the symbol it is. Lines that have none of it, or are long, are
 * told by all of their text.
 */
static struct span key_of(struct span line, struct span rest, bool kernel, char *made, size_t room)
{
	struct span symbol, module;
	uint64_t offset;

	if (!split_frame(rest, &symbol, &module) || !take_offset(&symbol, &offset) ||
	    symbol.len + module.len + 2 > room)
		return kernel ? line : rest;
	memcpy(made, symbol.data, symbol.len);
	made[symbol.len] = kernel ? '\1' : '\2'; /* no symbol has these */
	memcpy(made + symbol.len + 1, module.data, module.len);
	return (struct span){ made, symbol.len + 1 + module.len };
}

static uint32_t find_frame(struct perf *perf, struct span line)
{
	char made[256];
	uint64_t address;
	struct span rest = take_address(line, &address), key;
	uint32_t number;

	if (address < STACK_KERNEL_ADDRESS)
		address = 0;
	key = key_of(line, rest, address != 0, made, sizeof(made));
	number = intern_bytes(perf->lines, key.data, key.len);
	if (number == UINT32_MAX || !room_for(perf, number))
		return PROFILE_FULL;
	if (!perf->frames[number])
		perf->frames[number] = parse_frame(perf, rest.data != line.data, address, rest);
	return perf->frames[number];
}

/* The frame of a line without its indentation; PROFILE_NONE if it is none. */
static uint32_t frame_of(struct perf *perf, struct span line)
{
	struct recent *recent = recent_of(perf, line);
	uint32_t frame;

	if (recent && recent->len == line.len && !memcmp(recent->line, line.data, line.len))
		return recent->frame;
	frame = find_frame(perf, line);
	if (recent) {
		recent->frame = frame;
		recent->len = (uint32_t)line.len;
		memcpy(recent->line, line.data, line.len);
	}
	return frame;
}

static int add_moment(struct perf *perf, uint32_t sample)
{
	if (perf->moments_len == perf->moments_cap) {
		size_t cap = perf->moments_cap ? perf->moments_cap * 2 : 1024;
		struct moment *grown = reallocarray(perf->moments, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		perf->moments = grown;
		perf->moments_cap = cap;
	}
	perf->moments[perf->moments_len++] =
		(struct moment){ perf->head.time_us, sample, perf->head.has_cpu ? perf->head.cpu : 0 };
	return 0;
}

/* If all periods are equal they are one fact of the profile; else samples count for what they stand for, as in perf. */
static int add_weight(struct perf *perf, uint32_t sample)
{
	uint64_t period = perf->head.period ? perf->head.period : 1;

	if (sample >= perf->weights_cap) {
		size_t cap = perf->weights_cap ? perf->weights_cap * 2 : 1024;
		uint64_t *grown = reallocarray(perf->weights, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + perf->weights_cap, 0, (cap - perf->weights_cap) * sizeof(*grown));
		perf->weights = grown;
		perf->weights_cap = cap;
	}
	if (!span_add(&perf->weight, period))
		return fail_plain(-EINVAL, "line %zu: the periods add up to more than can be",
				  source_line_number(perf->source));
	perf->weights[sample] += period;
	if (!perf->count++)
		perf->period = perf->head.period;
	perf->periods_differ |= perf->head.period != perf->period;
	return 0;
}

/* The sample whose head and frames were read. */
static int close_sample(struct perf *perf)
{
	struct profile_sample sample = { .value = 1, .process = perf->process, .comm = perf->comm };
	uint32_t number;
	int err;

	if (perf->state != GATHERING) {
		perf->state = OUTSIDE;
		return 0;
	}
	perf->state = OUTSIDE;
	sample.tid = perf->head.tid;
	sample.stack = stack_node(&perf->stack, perf->profile);
	number = profile_add_sample(perf->profile, &sample);
	if (number == PROFILE_FULL || (perf->head.has_time && add_moment(perf, number)))
		return full();
	err = add_weight(perf, number);
	return err == -ENOMEM ? full() : err;
}

/* One number is a thread's: of its process the name is known alone. */
static int add_owner(struct perf *perf)
{
	uint32_t number;

	/* 0 is nobody's number but swapper's: some tools write it for what is not known. */
	if (!perf->head.has_pid || (!perf->head.pid && !perf->head.tid && !span_begins(perf->head.comm, "swapper")))
		return stack_owner(perf->profile, perf->comm, &perf->comm, &perf->process);
	number = profile_add_process(perf->profile, perf->head.pid, 0);
	if (number != PROFILE_FULL &&
	    (perf->head.pid == perf->head.tid || !profile_process(perf->profile, number)->comm))
		profile_process(perf->profile, number)->comm = perf->comm;
	perf->process = number;
	return 0;
}

static int open_sample(struct perf *perf, struct perf_head *head)
{
	perf->head = *head;
	perf->stack.depth = 0;
	perf->state = stack_type(&perf->types, perf->profile, head->event) ? GATHERING : PASSING;
	if (perf->state == PASSING)
		return 0;
	perf->comm = stack_unescape(perf->profile, head->comm, &perf->scratch);
	return add_owner(perf) || perf->process == PROFILE_FULL ? full() : 0;
}

static int push(struct perf *perf, struct span line)
{
	uint32_t frame = frame_of(perf, line);
	int err;

	if (frame == PROFILE_NONE)
		return fail_plain(-EINVAL, "line %zu: cut off in the middle of a frame",
				  source_line_number(perf->source));
	if (frame == NO_FRAME)
		return 0;
	err = stack_push(&perf->stack, frame);
	if (err == -E2BIG)
		return fail_plain(-EINVAL, "line %zu: more than %d frames", source_line_number(perf->source),
				  STACK_DEPTH_MAX);
	return err ? full() : 0;
}

/* Head and frame on one line: an address, then a symbol or a module. */
static bool is_frame(struct span rest)
{
	uint64_t address;
	struct span behind = take_address(rest, &address);

	return behind.data != rest.data && behind.len;
}

static int read_head(struct perf *perf, struct span line)
{
	struct perf_head head;
	int err = close_sample(perf);

	if (err)
		return err;
	if (!perf_head_parse(line, &head))
		return fail_plain(-EINVAL, "line %zu: neither the head of a sample of perf script nor a frame",
				  source_line_number(perf->source));
	if (head.is_record)
		return 0;
	err = open_sample(perf, &head);
	if (err || !is_frame(head.rest))
		return err;
	if (perf->state == GATHERING)
		err = push(perf, head.rest);
	return err ? err : close_sample(perf);
}

/* A sample without a stack has the next one below it, indented as well; the words of a tracepoint stand before that. */
static bool is_next_head(const struct perf *perf, struct span line)
{
	struct perf_head head;

	return perf->head.rest.len && !perf->stack.depth && perf_head_parse(line, &head);
}

static int read_line(struct perf *perf, struct span line)
{
	size_t indent = 0;

	while (indent < line.len && span_is_blank(line.data[indent]))
		indent++;
	if (indent == line.len)
		return close_sample(perf);
	if (!indent && line.data[0] == '#') {
		perf->by_wick |= span_begins(line, "# wick version");
		perf_comment(perf->profile, line);
		return 0;
	}
	if (indent && perf->state == GATHERING && !is_next_head(perf, line))
		return push(perf, span_from(line, indent));
	if (indent && perf->state == PASSING && !is_next_head(perf, line))
		return 0;
	return read_head(perf, line);
}

static int add_events(struct perf *perf)
{
	struct profile_meta *meta = profile_meta(perf->profile);
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < perf->moments_len; i++) {
		uint64_t time = perf->moments[i].time_us;

		first = time < first ? time : first;
		last = time > last ? time : last;
	}
	if (perf->moments_len) {
		meta->start_us = first;
		meta->duration_ns = (last - first) * 1000;
	}
	for (size_t i = 0; i < perf->moments_len; i++) {
		const struct moment *moment = &perf->moments[i];
		const struct profile_event event = { moment->time_us - first, moment->sample, moment->cpu };

		if (profile_add_event(perf->profile, &event) == PROFILE_FULL)
			return full();
	}
	return 0;
}

/* Values become sums of periods. */
static int use_weights(struct perf *perf)
{
	for (uint32_t i = 1; i < profile_count(perf->profile, PROFILE_SAMPLES); i++) {
		struct profile_sample sample = *profile_sample(perf->profile, i);

		sample.value = perf->weights[i] - sample.value; /* which is added to what is there */
		if (profile_add_sample(perf->profile, &sample) == PROFILE_FULL)
			return full();
	}
	return 0;
}

static uint32_t unit_of(struct perf *perf, bool weighted)
{
	size_t len;
	const char *event = profile_text(perf->profile, perf->types.chosen, &len);
	const char *colon = memchr(event, ':', len);
	struct span name = { event, colon ? (size_t)(colon - event) : len };

	if (!weighted || perf->by_wick)
		return profile_string(perf->profile, "samples");
	if (span_is(name, "cpu-clock") || span_is(name, "task-clock"))
		return profile_string(perf->profile, "nanoseconds");
	return profile_bytes(perf->profile, name.data, name.len);
}

static int finish(struct perf *perf)
{
	struct profile_meta *meta = profile_meta(perf->profile);
	bool weighted = perf->periods_differ || (perf->by_wick && perf->period > 1);
	int err = add_events(perf);

	if (!err && weighted)
		err = use_weights(perf);
	if (!err && profile_add_counter(perf->profile, "total", "counted", weighted ? perf->weight : perf->count))
		err = full();
	meta->unit = unit_of(perf, weighted);
	meta->event = perf->types.chosen;
	meta->period = weighted || perf->by_wick ? 0 : perf->period;
	return err ? err : stack_types_end(&perf->types, perf->profile, perf->request);
}

static int read_lines(struct perf *perf)
{
	struct span line;
	int err = 0, more;

	while (!err && (more = source_line(perf->source, &line)) != 0)
		err = more < 0 ? more : read_line(perf, line);
	if (err) /* the sample that it is in is not whole */
		return in_salvage(perf->request, err, perf->count);
	return close_sample(perf);
}

int in_perf(struct profile **ret, struct source *source, struct in_request *request)
{
	struct perf perf = { .source = source, .request = request, .types.wanted = request->type };
	int err = profile_new(&perf.profile);

	err = err ? err : stack_init(&perf.stack);
	err = err ? err : intern_new(&perf.lines);
	perf.recent = calloc(RECENT, sizeof(*perf.recent));
	err = err || perf.recent ? err : -ENOMEM;
	err = err ? full() : read_lines(&perf);
	err = err ? err : finish(&perf);
	intern_free(perf.lines);
	free(perf.frames);
	free(perf.recent);
	free(perf.moments);
	free(perf.weights);
	buf_free(&perf.scratch);
	stack_free(&perf.stack);
	if (err)
		profile_free(perf.profile);
	else
		*ret = perf.profile;
	return err;
}

bool in_is_perf(const char *data, size_t len)
{
	struct span rest = { data, len };
	struct perf_head head;

	for (int i = 0; i < 1000 && rest.len; i++) {
		struct span line = span_trim(span_line(&rest));

		if (line.len && line.data[0] != '#')
			return perf_head_parse(line, &head);
	}
	return false;
}
