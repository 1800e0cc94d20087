/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads profiles of the Firefox Profiler, as it saves them (processed, tables of each thread or shared) and as the
 * browser writes them (gecko, with processes inside processes). In: JSON from anybody. Out: a profile with the samples
 * of all threads, with events where they have times.
 *
 * Indexes are checked where they are used; a stack's prefix must stand before it, so following prefixes ends.
 */
#include "in/in.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/json_read.h"
#include "in/firefox_tables.h"
#include "in/stack.h"
#include "profile/profile.h"

#define CATEGORIES_MAX 64
#define NESTED_MAX 4 /* processes within processes */

struct thread {
	uint32_t name, process_name; /* strings */
	uint64_t pid, again;         /* "12.3": the fourth process that was 12 */
	uint64_t tid;
	bool has_pid;
};

struct firefox {
	struct profile *profile;
	struct in_request *request;
	struct json_in json;
	struct firefox_tables shared;
	uint32_t categories[CATEGORIES_MAX]; /* kinds of frames */
	size_t categories_len;
	struct firefox_samples samples;
	struct stack_types types; /* units of the weights of threads */
	uint32_t *nodes;          /* of the stacks of `nodes_of` */
	size_t nodes_len;
	struct buf text;
	uint64_t sum, count, threads;
	bool full;
};

static int out_of_memory(void)
{
	return fail(-ENOMEM, "reading a profile");
}

static void stop(struct firefox *firefox, const char *why)
{
	json_in_fail(&firefox->json, why);
}

static void run_out(struct firefox *firefox)
{
	firefox->full = true;
	stop(firefox, "memory is out");
}

static uint32_t take_text(struct firefox *firefox)
{
	if (json_in_peek(&firefox->json) != '"') {
		json_in_skip(&firefox->json);
		return PROFILE_NONE;
	}
	return stack_unescape(firefox->profile, json_in_text(&firefox->json), &firefox->text);
}

/* ---- Frames ---- */

static struct span string_at(const struct firefox *firefox, const struct firefox_tables *tables, int64_t index)
{
	struct span text = { "", 0 };

	if (index >= 0 && (size_t)index < tables->strings.len)
		text.data = profile_text(firefox->profile, tables->strings.numbers[index], &text.len);
	return text;
}

static uint32_t kind_of(const struct firefox *firefox, int64_t category, int64_t depth, struct span module)
{
	uint32_t kind = category >= 0 && (size_t)category < firefox->categories_len ? firefox->categories[category]
										    : FRAME_USER;

	if (kind != FRAME_USER)
		return kind;
	if (depth > 0)
		return FRAME_INLINE;
	return span_begins(module, "[vdso]") ? FRAME_VDSO : FRAME_USER;
}

static uint32_t line_number(int64_t value)
{
	return value > 0 && value <= INT32_MAX ? (uint32_t)value : 0;
}

/* The name of the file stands with the function, in older profiles, or in a table of its own. */
static struct profile_source source_of(struct firefox *firefox, const struct firefox_tables *tables, int64_t row,
				       int64_t function)
{
	int64_t file = firefox_at(&tables->function_file, function);
	int64_t source = firefox_at(&tables->function_source, function);
	struct span path = string_at(firefox, tables, file >= 0 ? file : firefox_at(&tables->source_file, source));

	return (struct profile_source){
		.file = stack_unescape(firefox->profile, path, &firefox->text),
		.line = line_number(firefox_at(&tables->frame_line, row)),
		.column = line_number(firefox_at(&tables->frame_column, row)),
		.first_line = line_number(firefox_at(&tables->function_line, function)),
	};
}

static uint32_t add_frame(struct firefox *firefox, const struct firefox_tables *tables, int64_t row)
{
	int64_t function = firefox_at(&tables->frame_function, row);
	struct span module = string_at(
		firefox, tables, firefox_at(&tables->resource_name, firefox_at(&tables->function_resource, function)));
	struct span name = string_at(firefox, tables, firefox_at(&tables->function_name, function));
	struct profile_frame frame = { .kind = kind_of(firefox, firefox_at(&tables->frame_category, row),
						       firefox_at(&tables->frame_depth, row), module),
				       .source = source_of(firefox, tables, row, function) };

	if (tables->frame_location.len)
		name = string_at(firefox, tables, firefox_at(&tables->frame_location, row));
	if (frame.kind == FRAME_USER && !module.len && stack_take_cut(&name))
		frame.kind = FRAME_CUT;
	frame.file = stack_file(firefox->profile, module, frame.kind);
	frame.name = stack_unescape(firefox->profile, name, &firefox->text);
	return profile_add_frame(firefox->profile, &frame);
}

/* ---- Stacks ---- */

/* The row of the caller's stack, -1 for none; it stands before this one. */
static int64_t prefix_of(const struct firefox_tables *tables, size_t row)
{
	int64_t offset = firefox_at(&tables->stack_offset, (int64_t)row);

	if (tables->stack_offset.len)
		return offset > 0 ? (int64_t)row - offset : -1;
	return firefox_at(&tables->stack_prefix, (int64_t)row);
}

/* The node of every row. */
static void add_stacks(struct firefox *firefox, const struct firefox_tables *tables)
{
	size_t len = tables->stack_frame.len, frames_len = tables->frame_function.len;
	uint32_t *frames;

	if (tables->frame_location.len > frames_len)
		frames_len = tables->frame_location.len;
	free(firefox->nodes);
	firefox->nodes = calloc(len + 1, sizeof(*firefox->nodes));
	firefox->nodes_len = len;
	frames = calloc(frames_len + 1, sizeof(*frames));
	if (!firefox->nodes || !frames)
		run_out(firefox);
	for (size_t i = 0; i < len && !firefox->json.bad; i++) {
		int64_t prefix = prefix_of(tables, i), frame = tables->stack_frame.values[i];

		if (prefix >= (int64_t)i || frame < 0 || (size_t)frame >= frames_len) {
			stop(firefox, "before here, a stack of a frame that exists and a stack before it was expected");
			break;
		}
		if (!frames[frame])
			frames[frame] = add_frame(firefox, tables, frame);
		firefox->nodes[i] =
			profile_add_node(firefox->profile, prefix < 0 ? 0 : firefox->nodes[prefix], frames[frame]);
		if (firefox->nodes[i] == PROFILE_FULL)
			run_out(firefox);
	}
	free(frames);
}

/* ---- Threads ---- */

/* A number, or a text that begins with one. */
static void read_pid(struct firefox *firefox, struct thread *thread)
{
	struct json_in *json = &firefox->json;
	struct span text, rest;
	const char *dot;

	if (json_in_peek(json) == '0') {
		thread->pid = json_in_u64(json);
		thread->has_pid = true;
	} else if (json_in_peek(json) == '"') {
		text = json_in_text(json);
		dot = memchr(text.data, '.', text.len);
		rest = dot ? span_from(text, (size_t)(dot + 1 - text.data)) : (struct span){ "", 0 };
		thread->has_pid =
			span_u64(dot ? (struct span){ text.data, (size_t)(dot - text.data) } : text, &thread->pid);
		if (!span_u64(rest, &thread->again))
			thread->again = 0;
	} else {
		json_in_skip(json);
	}
	if (thread->pid > UINT32_MAX || thread->again > UINT32_MAX)
		thread->has_pid = false;
}

static void read_tid(struct firefox *firefox, struct thread *thread)
{
	struct json_in *json = &firefox->json;

	if (json_in_peek(json) == '0')
		thread->tid = json_in_u64(json);
	else if (json_in_peek(json) != '"' || !span_u64(json_in_text(json), &thread->tid))
		json_in_skip(json);
}

static uint32_t add_process(struct firefox *firefox, struct thread *thread)
{
	uint32_t number;

	if (!thread->pid && !thread->name && !thread->process_name)
		return PROFILE_NONE; /* nobody's */
	if (!thread->has_pid || (!thread->pid && thread->name))
		return stack_owner(firefox->profile, thread->name, &thread->name, &number) ? PROFILE_FULL : number;
	number = profile_add_process(firefox->profile, (uint32_t)thread->pid, thread->again);
	if (number != PROFILE_FULL && !profile_process(firefox->profile, number)->comm)
		profile_process(firefox->profile, number)->comm =
			thread->process_name ? thread->process_name : thread->name;
	return number;
}

static void add_time(struct firefox *firefox, uint32_t sample, int64_t time_us)
{
	const struct profile_event event = { .time_us = (uint64_t)time_us, .sample = sample };

	if (profile_add_event(firefox->profile, &event) == PROFILE_FULL)
		run_out(firefox);
}

static void add_sample(struct firefox *firefox, struct profile_sample sample, size_t row, int64_t time_us)
{
	const struct firefox_samples *samples = &firefox->samples;
	int64_t stack = samples->stack.values[row];
	int64_t weight = samples->weight.len ? firefox_at(&samples->weight, (int64_t)row) : 1;
	uint32_t number;

	if (stack >= (int64_t)firefox->nodes_len || weight < 0) {
		stop(firefox, stack >= 0 && weight >= 0 ? "before here, a stack that exists was expected"
							: "before here, a weight of 0 or more was expected");
		return;
	}
	sample.stack = stack < 0 ? PROFILE_NONE : firefox->nodes[stack];
	sample.value = (uint64_t)weight;
	if (!span_add(&firefox->sum, sample.value))
		stop(firefox, "the weights add up to more than can be");
	number = profile_add_sample(firefox->profile, &sample);
	if (number == PROFILE_FULL)
		run_out(firefox);
	else if (weight == 1 && time_us >= 0)
		add_time(firefox, number, time_us);
	firefox->count++;
}

static void add_samples(struct firefox *firefox, struct thread *thread)
{
	const struct firefox_samples *samples = &firefox->samples;
	struct profile_sample sample = { .process = add_process(firefox, thread) };
	int64_t time = 0;

	sample.comm = thread->name; /* as it is found to be */
	if (sample.process == PROFILE_FULL || sample.comm == PROFILE_FULL)
		run_out(firefox);
	sample.tid = thread->tid <= UINT32_MAX ? (uint32_t)thread->tid : 0;
	for (size_t row = 0; row < samples->stack.len && !firefox->json.bad; row++) {
		if (samples->delta.len)
			time += firefox_at(&samples->delta, (int64_t)row);
		else
			time = firefox_at(&samples->time, (int64_t)row);
		add_sample(firefox, sample, row, time);
	}
}

static struct span unit_of(const struct firefox *firefox)
{
	static const struct span units[] = {
		[FIREFOX_SAMPLES] = { "samples", 7 },
		[FIREFOX_BYTES] = { "bytes", 5 },
		[FIREFOX_MS] = { "nanoseconds", 11 },
	};

	return units[firefox->samples.weight.len ? firefox->samples.unit : FIREFOX_SAMPLES];
}

/* One thread. Its own tables, if it has any, hide the shared ones. */
static void read_thread(struct firefox *firefox, uint64_t pid, uint32_t process_name)
{
	struct firefox_tables own = { 0 };
	struct thread thread = { .pid = pid, .has_pid = pid != 0, .process_name = process_name };
	struct json_in *json = &firefox->json;
	const char *samples_at = NULL;
	struct span key;

	firefox_samples_free(&firefox->samples);
	for (json_in_begin(json, '{'); json_in_key(json, &key);) {
		if (span_is(key, "samples")) {
			samples_at = json_in_mark(json);
			firefox_samples_read(json, &firefox->samples);
		} else if (span_is(key, "name")) {
			thread.name = take_text(firefox);
		} else if (span_is(key, "processName")) {
			thread.process_name = take_text(firefox);
		} else if (span_is(key, "pid")) {
			read_pid(firefox, &thread);
		} else if (span_is(key, "tid")) {
			read_tid(firefox, &thread);
		} else if (!firefox_tables_read(json, firefox->profile, key, &own)) {
			json_in_skip(json);
		}
	}
	if (own.stack_frame.len && !own.strings.len) { /* strings were shared before tables were */
		own.strings = firefox->shared.strings;
		if (!json->bad)
			add_stacks(firefox, &own);
		own.strings = (struct firefox_strings){ 0 };
	} else if (!json->bad && own.stack_frame.len) {
		add_stacks(firefox, &own);
	}
	if (samples_at && !json->bad) {
		if (stack_type(&firefox->types, firefox->profile, unit_of(firefox)))
			add_samples(firefox, &thread);
		firefox->threads++;
	}
	firefox_tables_free(&own);
}

static void read_threads(struct firefox *firefox, uint64_t pid, uint32_t process_name)
{
	if (firefox->shared.stack_frame.len)
		add_stacks(firefox, &firefox->shared);
	for (json_in_begin(&firefox->json, '['); json_in_element(&firefox->json);)
		read_thread(firefox, pid, process_name);
}

/* ---- All of it ---- */

/* Kinds of frames by the names of their categories. */
static void read_categories(struct firefox *firefox)
{
	struct json_in *json = &firefox->json;
	struct span key;

	firefox->categories_len = 0;
	for (json_in_begin(json, '['); json_in_element(json);) {
		uint32_t kind = FRAME_USER;

		for (json_in_begin(json, '{'); json_in_key(json, &key);) {
			if (span_is(key, "name") && json_in_peek(json) == '"') {
				struct span name = json_in_text(json);

				kind = span_is(name, "Kernel") ? FRAME_KERNEL : span_is(name, "JIT") ? FRAME_JIT : kind;
			} else {
				json_in_skip(json);
			}
		}
		if (firefox->categories_len < CATEGORIES_MAX)
			firefox->categories[firefox->categories_len++] = kind;
	}
}

static uint64_t take_ms(struct json_in *json, double factor)
{
	double value = json_in_peek(json) == '0' ? json_in_double(json) * factor : (json_in_skip(json), 0.0);

	return value > 0 && value < 9e18 ? (uint64_t)value : 0;
}

static void read_meta(struct firefox *firefox)
{
	struct profile_meta *meta = profile_meta(firefox->profile);
	struct json_in *json = &firefox->json;
	struct span key;

	for (json_in_begin(json, '{'); json_in_key(json, &key);) {
		if (span_is(key, "categories"))
			read_categories(firefox);
		else if (span_is(key, "interval"))
			meta->period = take_ms(json, 1e6);
		else if (span_is(key, "startTime"))
			meta->wall_ns = take_ms(json, 1e6);
		else if (span_is(key, "logicalCPUs"))
			meta->cpus = take_ms(json, 1);
		else if (span_is(key, "device"))
			meta->host = take_text(firefox);
		else
			json_in_skip(json);
	}
}

/* Where the parts are: what threads refer to may stand behind them. */
struct parts {
	const char *meta, *shared, *threads, *processes, *pid, *process_name;
};

static struct parts find_parts(struct json_in *json)
{
	struct parts parts = { 0 };
	struct span key;

	for (json_in_begin(json, '{'); json_in_key(json, &key);) {
		const struct {
			const char *name, **mark;
		} known[] = { { "meta", &parts.meta },
			      { "shared", &parts.shared },
			      { "threads", &parts.threads },
			      { "processes", &parts.processes } };

		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (span_is(key, known[i].name))
				*known[i].mark = json_in_mark(json);
		json_in_skip(json);
	}
	return parts;
}

static void read_shared(struct firefox *firefox)
{
	struct span key;

	for (json_in_begin(&firefox->json, '{'); json_in_key(&firefox->json, &key);)
		if (!firefox_tables_read(&firefox->json, firefox->profile, key, &firefox->shared))
			json_in_skip(&firefox->json);
}

/* The object that comes next: a profile, or one process of it. */
static void read_process(struct firefox *firefox, unsigned nested)
{
	struct json_in *json = &firefox->json;
	struct parts parts = find_parts(json);
	const char *behind = json_in_mark(json), *cut = json->bad;
	unsigned depth = json->depth;

	if (cut && !firefox->request->salvage)
		return;
	json->bad = NULL;
	if (parts.meta) {
		json_in_goto(json, parts.meta);
		read_meta(firefox);
	}
	if (parts.shared && !json->bad) {
		json_in_goto(json, parts.shared);
		read_shared(firefox);
	}
	if (parts.threads && !json->bad) {
		json_in_goto(json, parts.threads);
		read_threads(firefox, 0, PROFILE_NONE);
	}
	if (parts.processes && !json->bad && nested < NESTED_MAX) {
		json_in_goto(json, parts.processes);
		for (json_in_begin(json, '['); json_in_element(json);)
			read_process(firefox, nested + 1);
	}
	if (json->bad)
		return;
	json->depth = depth;
	json_in_goto(json, behind);
	json->bad = cut;
}

static int read_all(struct firefox *firefox)
{
	struct json_in *json = &firefox->json;
	int err;

	read_process(firefox, 0);
	if (!json->bad) {
		json_in_peek(json);
		if (json->at < json->end)
			stop(firefox, "the end of the file was expected");
	}
	if (firefox->full)
		return out_of_memory();
	if (json->bad) {
		err = fail_plain(-EINVAL, "byte %zu: %s", json_in_place(json), json->bad);
		return in_salvage(firefox->request, err, firefox->count);
	}
	return firefox->threads ? 0 : fail_plain(-EINVAL, "JSON without threads: no profile of Firefox or speedscope");
}

static int finish(struct firefox *firefox)
{
	int err = stack_types_end(&firefox->types, firefox->profile, firefox->request);

	if (err)
		return err;
	profile_meta(firefox->profile)->unit =
		firefox->types.chosen ? firefox->types.chosen : profile_string(firefox->profile, "samples");
	return profile_add_counter(firefox->profile, "total", "counted", firefox->sum) ? out_of_memory() : 0;
}

int in_firefox(struct profile **ret, const void *data, size_t len, struct in_request *request)
{
	struct firefox firefox = { .request = request, .types.wanted = request->type };
	int err = profile_new(&firefox.profile);

	json_in_init(&firefox.json, data, len);
	err = err ? out_of_memory() : read_all(&firefox);
	err = err ? err : finish(&firefox);
	json_in_free(&firefox.json);
	firefox_tables_free(&firefox.shared);
	firefox_samples_free(&firefox.samples);
	buf_free(&firefox.text);
	free(firefox.nodes);
	if (err)
		profile_free(firefox.profile);
	else
		*ret = firefox.profile;
	return err;
}

/* Any object: what it is not, it says itself. */
bool in_is_firefox(const char *data, size_t len)
{
	return json_in_detect(data, len);
}
