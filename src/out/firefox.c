/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Firefox Profiler's processed format, version 70 (docs/formats.md; its own documentation is src/types/profile.ts
 * of that project): tables as columns, indexes from 0, -1 or null for none. In: any profile. Out: one JSON object with
 * a thread for each thread, or process, that was sampled.
 *
 * The model is a tree of stacks with parents before children, and so is the format: nodes become rows in their order.
 */
#include "out/out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/map.h"
#include "out/advice.h"
#include "out/timeline.h"
#include "profile/profile.h"

#define GECKO_VERSION 36
#define PROCESSED_VERSION 70
#define ADDRESS_MAX INT32_MAX /* what a column of addresses holds */

enum category { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL, CATEGORY_JIT, CATEGORIES };

/* A row of the table of functions. */
struct function {
	uint32_t name, resource, source; /* resource and source from 1 */
	uint32_t first_line;
};

/* A row of the table of frames. */
struct row {
	uint32_t number;        /* from 1; 0: not used */
	uint32_t function, lib; /* from 1 */
	uint32_t line, depth;
};

struct thread {
	uint64_t total;
	uint32_t process, tid, sample; /* sample: one of its */
	size_t first, len;             /* its records */
};

struct firefox {
	const struct profile *profile;
	struct json json;
	struct timeline timeline;
	struct intern *strings, *functions, *resources, *sources; /* all but strings begin with 1 */
	struct intern *paths; /* what resources are known by: two files may have one name */
	struct row *rows;     /* by frame */
	uint32_t rows_len;
	uint32_t *stacks; /* node → row from 1 */
	uint32_t *libs;   /* file → row from 1 */
	struct thread *threads;
	uint32_t threads_len;
	uint32_t *thread_of; /* sample → thread */
	uint32_t *order;     /* records, thread by thread */
	struct buf text;
	int err;
};

static uint32_t number_in(struct firefox *firefox, struct intern *table, const void *data, size_t len)
{
	uint32_t number = intern_bytes(table, data, len);

	if (number == UINT32_MAX)
		firefox->err = -ENOMEM;
	return number == UINT32_MAX ? 0 : number;
}

/* The text itself, as a value; it is empty again. */
static void put_text(struct firefox *firefox, const char *key)
{
	json_text(&firefox->json, key, firefox->text.data ? firefox->text.data : "", firefox->text.len);
	if (buf_error(&firefox->text))
		firefox->err = buf_error(&firefox->text);
	buf_clear(&firefox->text);
}

static void put_words(struct firefox *firefox, const char *key, const char *words)
{
	json_text(&firefox->json, key, words, strlen(words));
}

/* A number from 1, as an index from 0. */
static void put_index(struct firefox *firefox, uint32_t number, bool minus)
{
	if (number)
		json_u64(&firefox->json, NULL, number - 1);
	else if (minus)
		json_raw(&firefox->json, NULL, "-1");
	else
		json_null(&firefox->json, NULL);
}

/* A column in which all rows say the same. */
static void put_same(struct firefox *firefox, const char *key, size_t rows, const char *value)
{
	json_array(&firefox->json, key);
	for (size_t i = 0; i < rows; i++)
		json_raw(&firefox->json, NULL, value);
	json_end(&firefox->json, ']');
}

/* ---- Frames, functions, libraries ---- */

static enum category category_of(uint32_t kind)
{
	switch (kind) {
	case FRAME_KERNEL:
		return CATEGORY_KERNEL;
	case FRAME_JIT:
		return CATEGORY_JIT;
	case FRAME_CUT:
		return CATEGORY_OTHER;
	default:
		return CATEGORY_USER;
	}
}

static uint32_t function_of(struct firefox *firefox, uint32_t frame, uint32_t *ret_line)
{
	struct function function = { 0 };
	const struct profile_source *known = &profile_frame(firefox->profile, frame)->source;
	struct out_source source;
	struct buf *text = &firefox->text;

	out_module_path(firefox->profile, frame, text);
	if (text->len) {
		const char *slash = *text->data == '/' ? strrchr(text->data, '/') : NULL,
			   *name = slash ? slash + 1 : text->data;
		uint32_t resource[2] = { number_in(firefox, firefox->strings, name, strlen(name)), 0 };

		resource[1] = number_in(firefox, firefox->paths, text->data, text->len);
		function.resource = number_in(firefox, firefox->resources, resource, sizeof(resource));
		buf_clear(text);
	}
	out_name(firefox->profile, frame, text);
	buf_adds(text, ""); /* of what nothing is known, an empty name */
	if (buf_error(text))
		return 0;
	source = out_source(firefox->profile, frame, text->data, text->len);
	function.name = number_in(firefox, firefox->strings, text->data, source.name_len);
	if (source.line) {
		uint32_t file = number_in(firefox, firefox->strings, text->data + source.file, source.file_len);

		function.source = number_in(firefox, firefox->sources, &file, sizeof(file));
	}
	buf_clear(text);
	*ret_line = source.line ? source.line : known->line;
	function.first_line = known->first_line;
	if (known->file) {
		uint32_t file;

		out_string(firefox->profile, known->file, text);
		buf_adds(text, "");
		if (buf_error(text))
			return 0;
		file = number_in(firefox, firefox->strings, text->data, text->len);
		buf_clear(text);
		function.source = number_in(firefox, firefox->sources, &file, sizeof(file));
	}
	return number_in(firefox, firefox->functions, &function, sizeof(function));
}

static uint32_t inline_depth(const struct firefox *firefox, uint32_t node)
{
	const struct profile *profile = firefox->profile;
	uint32_t depth = 0;

	while (node && depth < UINT8_MAX &&
	       profile_frame(profile, profile_node(profile, node)->frame)->kind == FRAME_INLINE) {
		node = profile_node(profile, node)->parent;
		depth++;
	}
	return depth;
}

/* Marks the nodes that samples use, and numbers them and their frames in the order of the model. */
static void number_stacks(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	uint32_t nodes = profile_count(profile, PROFILE_NODES), stacks = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		if (profile_sample(profile, i)->value)
			firefox->stacks[profile_sample(profile, i)->stack] = 1;
	for (uint32_t i = nodes; i-- > 1;)
		if (firefox->stacks[i])
			firefox->stacks[profile_node(profile, i)->parent] = 1;
	firefox->stacks[0] = 0;
	for (uint32_t i = 1; i < nodes; i++) {
		struct row *row = &firefox->rows[profile_node(profile, i)->frame];

		if (!firefox->stacks[i])
			continue;
		firefox->stacks[i] = ++stacks;
		if (row->number)
			continue;
		row->number = 1;
		row->depth = inline_depth(firefox, i);
	}
}

static void number_frames(struct firefox *firefox)
{
	uint32_t libs = 0;

	for (uint32_t i = 1; i < profile_count(firefox->profile, PROFILE_FRAMES); i++) {
		const struct profile_frame *frame = profile_frame(firefox->profile, i);
		struct row *row = &firefox->rows[i];

		if (!row->number)
			continue;
		row->number = ++firefox->rows_len;
		row->function = function_of(firefox, i, &row->line);
		if (frame->kind == FRAME_KERNEL || !frame->file)
			continue;
		if (!firefox->libs[frame->file])
			firefox->libs[frame->file] = ++libs;
		row->lib = firefox->libs[frame->file];
	}
}

enum column {
	COLUMN_ADDRESS,
	COLUMN_LIB,
	COLUMN_DEPTH,
	COLUMN_CATEGORY,
	COLUMN_FUNCTION,
	COLUMN_LINE,
	COLUMN_COLUMN,
	COLUMNS
};

static void put_frame_value(struct firefox *firefox, uint32_t number, enum column column)
{
	const struct profile_frame *frame = profile_frame(firefox->profile, number);
	const struct row *row = &firefox->rows[number];
	bool address = row->lib && frame->address < ADDRESS_MAX;

	switch (column) {
	case COLUMN_ADDRESS:
		put_index(firefox, address ? (uint32_t)frame->address + 1 : 0, true);
		break;
	case COLUMN_LIB:
		put_index(firefox, row->lib, true);
		break;
	case COLUMN_DEPTH:
		json_u64(&firefox->json, NULL, row->depth);
		break;
	case COLUMN_CATEGORY:
		json_u64(&firefox->json, NULL, category_of(frame->kind));
		break;
	case COLUMN_FUNCTION:
		put_index(firefox, row->function, true);
		break;
	case COLUMN_LINE:
		put_index(firefox, row->line ? row->line + 1 : 0, false);
		break;
	default:
		put_index(firefox, frame->source.column ? frame->source.column + 1 : 0, false);
	}
}

static void put_frame_table(struct firefox *firefox)
{
	static const char *const names[COLUMNS] = { "address", "lib",  "inlineDepth", "category",
						    "func",    "line", "column" };

	json_object(&firefox->json, "frameTable");
	json_u64(&firefox->json, "length", firefox->rows_len);
	for (int column = 0; column < COLUMNS; column++) {
		json_array(&firefox->json, names[column]);
		for (uint32_t i = 1; i < profile_count(firefox->profile, PROFILE_FRAMES); i++)
			if (firefox->rows[i].number)
				put_frame_value(firefox, i, (enum column)column);
		json_end(&firefox->json, ']');
	}
	put_same(firefox, "subcategory", firefox->rows_len, "0");
	put_same(firefox, "nativeSymbol", firefox->rows_len, "null");
	put_same(firefox, "innerWindowID", firefox->rows_len, "0");
	put_same(firefox, "originalLocation", firefox->rows_len, "null");
	json_end(&firefox->json, '}');
}

static void put_stack_table(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	uint32_t nodes = profile_count(profile, PROFILE_NODES), rows = 0;

	json_object(&firefox->json, "stackTable");
	json_array(&firefox->json, "frame");
	for (uint32_t i = 1; i < nodes; i++)
		if (firefox->stacks[i]) {
			put_index(firefox, firefox->rows[profile_node(profile, i)->frame].number, true);
			rows++;
		}
	json_end(&firefox->json, ']');
	json_array(&firefox->json, "prefixOffset");
	for (uint32_t i = 1; i < nodes; i++) {
		uint32_t parent = firefox->stacks[profile_node(profile, i)->parent];

		if (firefox->stacks[i])
			json_u64(&firefox->json, NULL, parent ? firefox->stacks[i] - parent : 0);
	}
	json_end(&firefox->json, ']');
	json_u64(&firefox->json, "length", rows);
	json_end(&firefox->json, '}');
}

static struct function function_at(const struct firefox *firefox, uint32_t number)
{
	struct function function;

	memcpy(&function, intern_get(firefox->functions, number, NULL), sizeof(function));
	return function;
}

static void put_function_table(struct firefox *firefox)
{
	uint32_t count = intern_count(firefox->functions);

	json_object(&firefox->json, "funcTable");
	json_u64(&firefox->json, "length", count - 1);
	json_array(&firefox->json, "name");
	for (uint32_t i = 1; i < count; i++)
		json_u64(&firefox->json, NULL, function_at(firefox, i).name);
	json_end(&firefox->json, ']');
	json_array(&firefox->json, "resource");
	for (uint32_t i = 1; i < count; i++)
		put_index(firefox, function_at(firefox, i).resource, true);
	json_end(&firefox->json, ']');
	json_array(&firefox->json, "source");
	for (uint32_t i = 1; i < count; i++)
		put_index(firefox, function_at(firefox, i).source, false);
	json_end(&firefox->json, ']');
	put_same(firefox, "isJS", count - 1, "false");
	put_same(firefox, "relevantForJS", count - 1, "false");
	json_array(&firefox->json, "lineNumber");
	for (uint32_t i = 1; i < count; i++) {
		uint32_t line = function_at(firefox, i).first_line;

		put_index(firefox, line ? line + 1 : 0, false);
	}
	json_end(&firefox->json, ']');
	put_same(firefox, "columnNumber", count - 1, "null");
	put_same(firefox, "originalLocation", count - 1, "null");
	json_end(&firefox->json, '}');
}

/* The strings that a table of them holds, each a row. */
static void put_string_column(struct firefox *firefox, const char *key, const struct intern *table)
{
	json_array(&firefox->json, key);
	for (uint32_t i = 1; i < intern_count(table); i++) {
		uint32_t string;

		memcpy(&string, intern_get(table, i, NULL), sizeof(string));
		json_u64(&firefox->json, NULL, string);
	}
	json_end(&firefox->json, ']');
}

static void put_small_tables(struct firefox *firefox)
{
	uint32_t resources = intern_count(firefox->resources) - 1, sources = intern_count(firefox->sources) - 1;

	json_object(&firefox->json, "resourceTable");
	json_u64(&firefox->json, "length", resources);
	put_string_column(firefox, "name", firefox->resources);
	put_same(firefox, "host", resources, "null");
	put_same(firefox, "type", resources, "1"); /* a library */
	json_end(&firefox->json, '}');
	json_object(&firefox->json, "sources");
	json_u64(&firefox->json, "length", sources);
	put_string_column(firefox, "filename", firefox->sources);
	put_same(firefox, "id", sources, "null");
	put_same(firefox, "startLine", sources, "1");
	put_same(firefox, "startColumn", sources, "1");
	put_same(firefox, "sourceMapURL", sources, "null");
	put_same(firefox, "content", sources, "null");
	json_end(&firefox->json, '}');
	json_raw(&firefox->json, "nativeSymbols",
		 "{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0}");
	json_raw(&firefox->json, "sourceLocationTable", "{\"source\":[],\"line\":[],\"column\":[],\"length\":0}");
}

static void put_shared(struct firefox *firefox)
{
	json_object(&firefox->json, "shared");
	put_stack_table(firefox);
	put_frame_table(firefox);
	put_function_table(firefox);
	put_small_tables(firefox);
	json_array(&firefox->json, "stringArray");
	for (uint32_t i = 0; i < intern_count(firefox->strings); i++) {
		size_t len;
		const char *text = intern_get(firefox->strings, i, &len);

		json_text(&firefox->json, NULL, text, len);
	}
	json_end(&firefox->json, ']');
	json_end(&firefox->json, '}');
}

/* As Breakpad writes it: the first 16 bytes as a GUID of a little-endian machine, then an age of 0. */
static void add_breakpad_id(const struct profile *profile, uint32_t build_id, struct buf *out)
{
	static const uint8_t order[] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	size_t len;
	const char *bytes = profile_text(profile, build_id, &len);

	if (!len)
		return;
	for (size_t i = 0; i < sizeof(order); i++)
		buf_addf(out, "%02X", order[i] < len ? (unsigned char)bytes[order[i]] : 0);
	buf_addc(out, '0');
}

static void put_lib(struct firefox *firefox, const struct profile_file *file)
{
	const struct profile *profile = firefox->profile;
	static const char *const paths[] = { "path", "debugPath" }, *const names[] = { "name", "debugName" };

	json_object(&firefox->json, NULL);
	out_string(profile, profile_meta(profile)->arch, &firefox->text);
	put_text(firefox, "arch");
	for (int i = 0; i < 2; i++) {
		const char *slash;

		out_string(profile, file->path, &firefox->text);
		slash = firefox->text.len ? strrchr(firefox->text.data, '/') : NULL;
		put_words(firefox, names[i], slash ? slash + 1 : firefox->text.len ? firefox->text.data : "");
		put_text(firefox, paths[i]);
	}
	add_breakpad_id(profile, file->build_id, &firefox->text);
	put_text(firefox, "breakpadId");
	out_hex(profile, file->build_id, &firefox->text);
	if (file->build_id)
		put_text(firefox, "codeId");
	else
		json_null(&firefox->json, "codeId");
	json_end(&firefox->json, '}');
}

/* Rows are numbered in the order in which frames met them. */
static int put_libs(struct firefox *firefox)
{
	uint32_t files = profile_count(firefox->profile, PROFILE_FILES);
	autofree uint32_t *by_row = calloc(files, sizeof(*by_row));

	if (!by_row)
		return -ENOMEM;
	for (uint32_t i = 1; i < files; i++)
		if (firefox->libs[i])
			by_row[firefox->libs[i] - 1] = i;
	json_array(&firefox->json, "libs");
	for (uint32_t i = 0; i < files && by_row[i]; i++)
		put_lib(firefox, profile_file(firefox->profile, by_row[i]));
	json_end(&firefox->json, ']');
	return 0;
}

/* ---- Threads ---- */

static int find_threads(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	uint32_t samples = profile_count(profile, PROFILE_SAMPLES);
	struct map known = { 0 };
	int err = 0;

	for (uint32_t i = 1; i < samples && !err; i++) {
		const struct profile_sample *sample = profile_sample(profile, i);
		uint64_t *number;
		struct thread *thread;

		if (!sample->value)
			continue;
		number = map_put(&known, (uint64_t)sample->process << 32 | sample->tid);
		err = number ? 0 : -ENOMEM;
		if (err)
			break;
		if (!*number) {
			*number = ++firefox->threads_len;
			firefox->threads[*number - 1] =
				(struct thread){ .process = sample->process, .tid = sample->tid, .sample = i };
		}
		thread = &firefox->threads[*number - 1];
		thread->total += sample->value;
		firefox->thread_of[i] = (uint32_t)*number - 1;
	}
	map_free(&known);
	return err;
}

/* Which records are whose, each thread's in the order of time. */
static void sort_records(struct firefox *firefox)
{
	size_t at = 0;

	for (size_t i = 0; i < firefox->timeline.len; i++)
		firefox->threads[firefox->thread_of[firefox->timeline.list[i].sample]].len++;
	for (uint32_t i = 0; i < firefox->threads_len; i++) {
		firefox->threads[i].first = at;
		at += firefox->threads[i].len;
		firefox->threads[i].len = 0;
	}
	for (size_t i = 0; i < firefox->timeline.len; i++) {
		struct thread *thread = &firefox->threads[firefox->thread_of[firefox->timeline.list[i].sample]];

		firefox->order[thread->first + thread->len++] = (uint32_t)i;
	}
}

static const struct timeline_record *record_of(const struct firefox *firefox, const struct thread *thread, size_t i)
{
	return &firefox->timeline.list[firefox->order[thread->first + i]];
}

static void put_ms(struct firefox *firefox, const char *key, uint64_t ns)
{
	buf_addf(&firefox->text, "%llu.%06llu", (unsigned long long)(ns / 1000000), (unsigned long long)(ns % 1000000));
	if (buf_error(&firefox->text))
		return;
	json_raw(&firefox->json, key, firefox->text.data);
	buf_clear(&firefox->text);
}

/* The other unit that it knows of. */
static bool is_in_bytes(const struct profile *profile)
{
	return !strcmp(profile_text(profile, profile_meta(profile)->unit, NULL), "bytes");
}

static void put_samples(struct firefox *firefox, const struct thread *thread)
{
	json_object(&firefox->json, "samples");
	json_array(&firefox->json, "stack");
	for (size_t i = 0; i < thread->len; i++) {
		uint32_t sample = record_of(firefox, thread, i)->sample;

		put_index(firefox, firefox->stacks[profile_sample(firefox->profile, sample)->stack], false);
	}
	json_end(&firefox->json, ']');
	json_array(&firefox->json, "time");
	for (size_t i = 0; i < thread->len; i++)
		put_ms(firefox, NULL, record_of(firefox, thread, i)->time_ns);
	json_end(&firefox->json, ']');
	json_array(&firefox->json, "weight");
	for (size_t i = 0; i < thread->len; i++)
		json_u64(&firefox->json, NULL, record_of(firefox, thread, i)->count);
	json_end(&firefox->json, ']');
	put_words(firefox, "weightType", is_in_bytes(firefox->profile) ? "bytes" : "samples");
	json_u64(&firefox->json, "length", thread->len);
	json_end(&firefox->json, '}');
}

/* A pid may be there twice, and is not known of every process: what comes later has a number behind it. */
static int put_pid(struct firefox *firefox, const struct thread *thread, struct map *pids, struct map *seen)
{
	uint32_t pid = profile_process(firefox->profile, thread->process)->pid;
	uint64_t *again = map_put(seen, thread->process), *uses = map_put(pids, pid);

	if (!again || !uses)
		return -ENOMEM;
	if (!*again)
		*again = ++*uses;
	buf_addf(&firefox->text, "%u", pid);
	if (*again > 1)
		buf_addf(&firefox->text, ".%llu", (unsigned long long)*again - 1);
	put_text(firefox, "pid");
	return 0;
}

static int put_thread(struct firefox *firefox, const struct thread *thread, struct map *pids, struct map *seen)
{
	const struct profile_process *process = profile_process(firefox->profile, thread->process);
	int err;

	json_object(&firefox->json, NULL);
	put_words(firefox, "processType", "default");
	json_u64(&firefox->json, "processStartupTime", 0);
	json_null(&firefox->json, "processShutdownTime");
	json_u64(&firefox->json, "registerTime", 0);
	json_null(&firefox->json, "unregisterTime");
	json_raw(&firefox->json, "pausedRanges", "[]");
	if (!process->pid && !out_comm(firefox->profile, thread->sample) &&
	    out_has_comm(firefox->profile, thread->sample))
		buf_adds(&firefox->text, "[unnamed]");
	out_string(firefox->profile, out_comm(firefox->profile, thread->sample), &firefox->text);
	put_text(firefox, "name");
	json_bool(&firefox->json, "isMainThread", !thread->tid || thread->tid == process->pid);
	out_string(firefox->profile, process->comm, &firefox->text);
	put_text(firefox, "processName");
	err = put_pid(firefox, thread, pids, seen);
	json_u64(&firefox->json, "tid", thread->tid ? thread->tid : process->pid);
	put_samples(firefox, thread);
	json_raw(&firefox->json, "markers",
		 "{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],\"category\":[],\"length\":0}");
	json_end(&firefox->json, '}');
	return err;
}

static int by_total(const void *a, const void *b)
{
	const struct thread *left = a, *right = b;

	if (left->total != right->total)
		return left->total < right->total ? 1 : -1;
	return left->sample < right->sample ? -1 : left->sample > right->sample;
}

static int put_threads(struct firefox *firefox)
{
	struct map pids = { 0 }, seen = { 0 };
	int err = 0;

	sort_records(firefox);
	qsort(firefox->threads, firefox->threads_len, sizeof(*firefox->threads), by_total);
	json_array(&firefox->json, "threads");
	for (uint32_t i = 0; i < firefox->threads_len && !err; i++)
		err = put_thread(firefox, &firefox->threads[i], &pids, &seen);
	json_end(&firefox->json, ']');
	map_free(&pids);
	map_free(&seen);
	return err;
}

/* ---- What it is of ---- */

static void put_extra(struct firefox *firefox)
{
	json_array(&firefox->json, "extra");
	json_object(&firefox->json, NULL);
	put_words(firefox, "label", "What is missing");
	json_array(&firefox->json, "entries");
	for (uint32_t i = 1; i < profile_count(firefox->profile, PROFILE_COUNTERS); i++) {
		if (!advice_line(firefox->profile, i, true, &firefox->text))
			continue;
		json_object(&firefox->json, NULL);
		put_words(firefox, "label", "wick");
		put_words(firefox, "format", "string");
		put_text(firefox, "value");
		json_end(&firefox->json, '}');
	}
	json_end(&firefox->json, ']');
	json_end(&firefox->json, '}');
	json_end(&firefox->json, ']');
}

static void put_meta(struct firefox *firefox)
{
	static const char categories[] = "[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
					 "{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
					 "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
					 "{\"name\":\"JIT\",\"color\":\"blue\",\"subcategories\":[\"Other\"]}]";
	const struct profile_meta *meta = profile_meta(firefox->profile);

	json_object(&firefox->json, "meta");
	put_ms(firefox, "interval", meta->period ? meta->period : 1000000);
	put_ms(firefox, "startTime", meta->wall_ns);
	json_u64(&firefox->json, "processType", 0);
	json_raw(&firefox->json, "categories", categories);
	put_words(firefox, "product", "wick");
	json_u64(&firefox->json, "stackwalk", 1);
	json_u64(&firefox->json, "version", GECKO_VERSION);
	json_u64(&firefox->json, "preprocessedProfileVersion", PROCESSED_VERSION);
	json_raw(&firefox->json, "markerSchema", "[]");
	json_bool(&firefox->json, "symbolicated", true);
	json_bool(&firefox->json, "sourceCodeIsNotOnSearchfox", true);
	put_words(firefox, "importedFrom", "wick");
	out_string(firefox->profile, meta->command, &firefox->text);
	put_text(firefox, "arguments");
	buf_adds(&firefox->text, "Linux ");
	out_string(firefox->profile, meta->kernel, &firefox->text);
	put_text(firefox, "oscpu");
	out_string(firefox->profile, meta->host, &firefox->text);
	put_text(firefox, "device");
	json_u64(&firefox->json, "logicalCPUs", meta->cpus);
	put_extra(firefox);
	json_end(&firefox->json, '}');
}

static int put_all(struct firefox *firefox)
{
	int err = find_threads(firefox);

	if (err)
		return err;
	number_stacks(firefox);
	number_frames(firefox);
	json_object(&firefox->json, NULL);
	put_meta(firefox);
	err = put_libs(firefox);
	put_shared(firefox);
	err = err ? err : put_threads(firefox);
	json_end(&firefox->json, '}');
	buf_addc(firefox->json.out, '\n');
	return err ? err : firefox->err;
}

static int make_room(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	uint32_t samples = profile_count(profile, PROFILE_SAMPLES);
	int err = timeline_new(profile, 0, &firefox->timeline);

	firefox->rows = calloc(profile_count(profile, PROFILE_FRAMES), sizeof(*firefox->rows));
	firefox->stacks = calloc(profile_count(profile, PROFILE_NODES), sizeof(*firefox->stacks));
	firefox->libs = calloc(profile_count(profile, PROFILE_FILES), sizeof(*firefox->libs));
	firefox->threads = calloc(samples, sizeof(*firefox->threads));
	firefox->thread_of = calloc(samples, sizeof(*firefox->thread_of));
	firefox->order = calloc(firefox->timeline.len + 1, sizeof(*firefox->order));
	if (err || !firefox->rows || !firefox->stacks || !firefox->libs || !firefox->threads || !firefox->thread_of ||
	    !firefox->order || firefox->timeline.len > UINT32_MAX)
		return -ENOMEM;
	return intern_new(&firefox->strings) || intern_new(&firefox->functions) || intern_new(&firefox->resources) ||
			       intern_new(&firefox->sources) || intern_new(&firefox->paths)
		       ? -ENOMEM
		       : 0;
}

int out_firefox(const struct profile *profile, struct buf *out)
{
	struct firefox firefox = { .profile = profile, .json = { .out = out } };
	int err = make_room(&firefox);

	err = err ? err : put_all(&firefox);
	timeline_free(&firefox.timeline);
	intern_free(firefox.strings);
	intern_free(firefox.functions);
	intern_free(firefox.resources);
	intern_free(firefox.sources);
	intern_free(firefox.paths);
	free(firefox.rows);
	free(firefox.stacks);
	free(firefox.libs);
	free(firefox.threads);
	free(firefox.thread_of);
	free(firefox.order);
	buf_free(&firefox.text);
	return err ? err : buf_error(out);
}
