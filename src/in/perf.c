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
#include "base/index.h"
#include "base/intern.h"
#include "in/perf_head.h"
#include "in/source.h"
#include "in/stack.h"
#include "profile/bulk.h"
#include "profile/profile.h"

#define NO_FRAME (PROFILE_FULL - 1) /* a line that may stand among frames and is none */

#define MODULES 64 /* a power of two */
#define EIGHT_BLANKS "        "
#define WAITING 64
#define KNOWN_START 20

/* What a frame's line came to. Two are in a line of the processor's cache. */
struct known {
	uint32_t frame;
	uint32_t module; /* as struct key has it */
	uint32_t len;
	char start[KNOWN_START]; /* of its text */
};

/* What tells a frame, in a line. */
struct key {
	struct span text;
	uint32_t module; /* an even number, one more in the kernel; 0 and 1: the text has it too */
};

/* The line of a frame that is not looked up yet. */
struct waiting {
	struct span line, rest; /* all of it, and what is behind the address */
	struct key key;
	uint64_t address; /* 0 in user space */
	size_t number;    /* of the line */
	uint32_t hash;
	uint32_t known; /* under this hash, the first; 0: none */
};

/* A sample that is being added to the profile. */
struct pending {
	uint64_t time_us, period;
	uint32_t cpu;
	bool has_time;
};

struct moment {
	uint64_t time_us;
	uint32_t sample, cpu;
};

struct perf {
	struct profile *profile;
	struct source *source;
	struct in_request *request;
	struct intern *texts; /* of frames and modules, as far as they say which frame it is */
	struct index index;   /* of what follows, from 1 on */
	struct known *known;
	const char **known_texts; /* of each of them, all of it */
	size_t known_len, known_cap;
	uint64_t seed[2];
	struct span modules[MODULES]; /* by hash: the last of each, and its number among the texts: */
	uint32_t module_numbers[MODULES];
	struct bulk *bulk;
	struct pending pending[BULK_MOST];
	size_t pending_len;
	struct stack_forecast forecast;
	struct stack stack;
	struct waiting waiting[WAITING]; /* lines of its next frames */
	size_t waiting_len;
	size_t line; /* the number of the line that was read last */
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
	for (at = deleted.len; at; at--) {
		const char *found = memrchr(deleted.data, '(', at);

		at = found ? (size_t)(found + 1 - deleted.data) : 0;
		if (at <= 1 || span_is_blank(deleted.data[at - 2]))
			break;
	}
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
static bool is_source_line(struct span line, struct span *ret_file, uint64_t *ret_line)
{
	const char *colon = memrchr(line.data, ':', line.len);

	if (!colon || memchr(line.data, ' ', line.len))
		return false;
	*ret_file = (struct span){ line.data, (size_t)(colon - line.data) };
	return span_u64(span_from(line, (size_t)(colon + 1 - line.data)), ret_line);
}

/* `address` is 0 for user space. PROFILE_NONE if the line is cut off. */
static uint32_t parse_frame(struct perf *perf, bool has_address, uint64_t address, struct span rest)
{
	struct profile_frame frame = { .address = address };
	struct span symbol, module;
	uint64_t offset = 0;
	bool has_offset;

	if (!has_address && is_source_line(rest, &symbol, &offset))
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

/* The number of a module's text: few are met again and again. 0 if memory is out. */
static uint32_t module_number(struct perf *perf, struct span module)
{
	uint64_t end = 0;
	size_t at, len = module.len < sizeof(end) ? module.len : sizeof(end);
	uint32_t number;

	if (len)
		memcpy(&end, module.data + module.len - len, len);
	at = (size_t)(index_mix(end ^ module.len, 0x9e3779b97f4a7c15ULL) >> 32) % MODULES;
	if (perf->module_numbers[at] && span_equal(perf->modules[at], module))
		return perf->module_numbers[at];
	number = intern_bytes(perf->texts, module.data, module.len);
	if (number > INT32_MAX - 1)
		return 0;
	perf->modules[at].data = intern_get(perf->texts, number, &perf->modules[at].len);
	return perf->module_numbers[at] = number + 1;
}

/*
 * What tells a frame: symbol and module, not where in the symbol it is. Lines that have none of it are told by all of
 * their text, in the kernel with the address. False if memory is out.
 */
static bool key_of(struct perf *perf, struct span line, struct span rest, bool kernel, struct key *ret)
{
	struct span module;
	uint64_t offset;

	if (!split_frame(rest, &ret->text, &module) || !take_offset(&ret->text, &offset)) {
		*ret = (struct key){ kernel ? line : rest, kernel };
		return true;
	}
	ret->module = 2 * module_number(perf, module) + kernel;
	return ret->module > 1;
}

static bool is_known(const struct perf *perf, uint32_t number, const struct key *key)
{
	const struct known *known = &perf->known[number];

	return known->len == key->text.len && known->module == key->module &&
	       !memcmp(known->len <= KNOWN_START ? known->start : perf->known_texts[number], key->text.data,
		       known->len);
}

static bool room_for_known(struct perf *perf)
{
	size_t cap = perf->known_cap ? perf->known_cap * 2 : 1024;
	const char **texts;
	struct known *known;

	if (perf->known_len + 1 < perf->known_cap)
		return true;
	known = reallocarray(perf->known, cap, sizeof(*known));
	if (!known)
		return false;
	perf->known = known;
	texts = reallocarray(perf->known_texts, cap, sizeof(*texts));
	if (!texts)
		return false;
	perf->known_texts = texts;
	perf->known_cap = cap;
	return true;
}

static bool remember(struct perf *perf, const struct key *key, uint32_t hash, uint32_t frame)
{
	struct known known = { .frame = frame, .module = key->module, .len = (uint32_t)key->text.len };
	uint32_t text = intern_bytes(perf->texts, key->text.data, key->text.len);

	if (text == UINT32_MAX || !room_for_known(perf) || index_add(&perf->index, hash, (uint32_t)perf->known_len + 1))
		return false;
	if (known.len)
		memcpy(known.start, key->text.data, known.len < KNOWN_START ? known.len : KNOWN_START);
	perf->known[++perf->known_len] = known;
	perf->known_texts[perf->known_len] = intern_get(perf->texts, text, NULL);
	return true;
}

/* The frame of a line; PROFILE_NONE if it is cut off. */
static uint32_t frame_of(struct perf *perf, const struct waiting *one)
{
	size_t at = index_start(&perf->index, one->hash);
	uint32_t number, frame;

	if (one->known && is_known(perf, one->known, &one->key))
		return perf->known[one->known].frame;
	while ((number = index_next(&perf->index, one->hash, &at)))
		if (is_known(perf, number, &one->key))
			return perf->known[number].frame;
	frame = parse_frame(perf, one->rest.data != one->line.data, one->address, one->rest);
	if (frame == PROFILE_NONE || frame == PROFILE_FULL)
		return frame;
	return remember(perf, &one->key, one->hash, frame) ? frame : PROFILE_FULL;
}

/* The frame before this line is in that line of the source; `??:0` says that it is not known where. */
static uint32_t with_source(struct perf *perf, uint32_t frame, struct span text)
{
	struct profile_frame known = *profile_frame(perf->profile, frame);
	struct span file;
	uint64_t line;

	if (!is_source_line(text, &file, &line) || !line || line > INT32_MAX)
		return frame;
	known.source.file = stack_unescape(perf->profile, file, &perf->scratch);
	known.source.line = (uint32_t)line;
	return profile_add_frame(perf->profile, &known);
}

/* Looks up the frames whose lines wait: what that reads is fetched for all of them before it is waited for. */
static int settle(struct perf *perf)
{
	size_t len = perf->waiting_len;

	perf->waiting_len = 0;
	for (size_t i = 0; i < len; i++) {
		struct waiting *one = &perf->waiting[i];
		size_t at = index_start(&perf->index, one->hash);

		one->known = index_next(&perf->index, one->hash, &at);
		if (one->known)
			__builtin_prefetch(&perf->known[one->known]);
	}
	for (size_t i = 0; i < len; i++) {
		const struct waiting *one = &perf->waiting[i];
		uint32_t frame = frame_of(perf, one);
		int err = 0;

		if (frame == NO_FRAME && perf->stack.depth)
			frame = with_source(perf, perf->stack.frames[--perf->stack.depth], one->line);
		if (frame != PROFILE_NONE && frame != NO_FRAME)
			err = stack_push(&perf->stack, frame);
		if (frame == PROFILE_NONE)
			return fail_plain(-EINVAL, "line %zu: cut off in the middle of a frame", one->number);
		if (err == -E2BIG)
			return fail_plain(-EINVAL, "line %zu: more than %d frames", one->number, STACK_DEPTH_MAX);
		if (err)
			return full();
	}
	return 0;
}

/* The frame of a line without its indentation, to be looked up with others. */
static int push(struct perf *perf, struct span line)
{
	struct waiting *one = &perf->waiting[perf->waiting_len++];
	uint64_t seed[2] = { perf->seed[0], perf->seed[1] };

	one->number = perf->line;
	one->line = line;
	one->rest = take_address(line, &one->address);
	if (one->address < STACK_KERNEL_ADDRESS)
		one->address = 0;
	if (!key_of(perf, line, one->rest, one->address != 0, &one->key))
		return full();
	seed[0] += one->key.module * 0x9e3779b97f4a7c15ULL;
	one->hash = index_hash_bytes(seed, one->key.text.data, one->key.text.len);
	index_fetch(&perf->index, one->hash);
	return perf->waiting_len == WAITING ? settle(perf) : 0;
}

static int add_moment(struct perf *perf, const struct pending *pending, uint32_t sample)
{
	if (perf->moments_len == perf->moments_cap) {
		size_t cap = perf->moments_cap ? perf->moments_cap * 2 : 1024;
		struct moment *grown = reallocarray(perf->moments, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		perf->moments = grown;
		perf->moments_cap = cap;
	}
	perf->moments[perf->moments_len++] = (struct moment){ pending->time_us, sample, pending->cpu };
	return 0;
}

/* If all periods are equal they are one fact of the profile; else samples count for what they stand for, as in perf. */
static int add_weight(struct perf *perf, uint64_t period, uint32_t sample)
{
	if (sample >= perf->weights_cap) {
		size_t cap = perf->weights_cap ? perf->weights_cap * 2 : 1024;
		uint64_t *grown;

		while (cap <= sample)
			cap *= 2;
		grown = reallocarray(perf->weights, cap, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + perf->weights_cap, 0, (cap - perf->weights_cap) * sizeof(*grown));
		perf->weights = grown;
		perf->weights_cap = cap;
	}
	perf->weights[sample] += period;
	return 0;
}

/* Samples that were gathered have their numbers. */
static int added(void *context, const uint32_t *samples, size_t len)
{
	struct perf *perf = context;
	int err = 0;

	for (size_t i = 0; i < len && i < perf->pending_len && !err; i++) {
		const struct pending *pending = &perf->pending[i];

		err = pending->has_time ? add_moment(perf, pending, samples[i]) : 0;
		err = err ? err : add_weight(perf, pending->period, samples[i]);
	}
	perf->pending_len = 0;
	stack_forecast(&perf->forecast, perf->profile, source_share(perf->source));
	return err;
}

/* The sample whose head and frames were read. */
static int close_sample(struct perf *perf)
{
	const struct perf_head *head = &perf->head;
	struct profile_sample sample = { .value = 1, .process = perf->process, .comm = perf->comm, .tid = head->tid };
	uint64_t period = head->period ? head->period : 1;
	int err = settle(perf);

	if (err)
		return err;
	if (perf->state != GATHERING) {
		perf->state = OUTSIDE;
		return 0;
	}
	perf->state = OUTSIDE;
	if (!span_add(&perf->weight, period))
		return fail_plain(-EINVAL, "line %zu: the periods add up to more than can be", perf->line);
	if (!perf->count++)
		perf->period = head->period;
	perf->periods_differ |= head->period != perf->period;
	perf->pending[perf->pending_len++] =
		(struct pending){ head->time_us, period, head->has_cpu ? head->cpu : 0, head->has_time };
	return stack_gather(&perf->stack, perf->bulk) || bulk_end(perf->bulk, &sample) ? full() : 0;
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
				  perf->line);
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

	return perf->head.rest.len && !perf->waiting_len && !perf->stack.depth && perf_head_parse(line, &head);
}

static int read_line(struct perf *perf, struct span line)
{
	size_t indent = 0;

	while (indent < line.len && span_is_blank(line.data[indent]))
		indent += span_begins(span_from(line, indent), EIGHT_BLANKS) ? strlen(EIGHT_BLANKS) : 1;
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
	int err = bulk_flush(perf->bulk) ? full() : 0;

	err = err ? err : add_events(perf);
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
	struct span block;
	int err = 0, more;

	while (!err && (more = source_lines(perf->source, perf->line, &block)) != 0) {
		err = more < 0 ? more : 0;
		while (!err && block.len) {
			perf->line++;
			err = read_line(perf, span_line(&block));
		}
		err = err ? err : settle(perf); /* what waits points into the block */
	}
	if (err) /* the sample that it is in is not whole */
		return in_salvage(perf->request, err, perf->count);
	return close_sample(perf);
}

int in_perf(struct profile **ret, struct source *source, struct in_request *request)
{
	struct perf perf = { .source = source, .request = request, .types.wanted = request->type };
	int err = profile_new(&perf.profile);

	err = err ? err : stack_init(&perf.stack);
	err = err ? err : intern_new(&perf.texts);
	err = err ? err : bulk_new(&perf.bulk, perf.profile);
	if (!err)
		bulk_tell(perf.bulk, added, &perf);
	index_seed(perf.seed);
	err = err ? full() : read_lines(&perf);
	err = err ? err : finish(&perf);
	bulk_free(perf.bulk);
	intern_free(perf.texts);
	index_free(&perf.index);
	free(perf.known);
	free(perf.known_texts);
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
