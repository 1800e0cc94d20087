/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of the page, in columns. In: a profile, or two to compare. Out: gzip of a head in JSON and of columns of
 * variable-length numbers (docs/format-page.md). Addresses of one function become one frame, so that the tree is that
 * of names; it is written from the root down, and all that is said of a node is how far up its parent is.
 */
#include "out/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/intern.h"
#include "base/map.h"
#include "out/gzip.h"
#include "out/out.h"
#include "out/page_parts.h"
#include "profile/profile.h"

#define NO_STACK "[no stack]"
#define CONTAINER "container"
#define UNIT "unit"

static int grow(void *list, size_t *cap, size_t len, size_t size)
{
	size_t wanted = len < 512 ? 1024 : 2 * len;
	void *grown;

	if (len < *cap)
		return 0;
	grown = reallocarray(*(void **)list, wanted, size);
	if (!grown)
		return -ENOMEM;
	*(void **)list = grown;
	*cap = wanted;
	return 0;
}

/* The number of the text in scratch from there on, which is emptied; UINT32_MAX if memory is out. */
static uint32_t string_from(struct page_data *data, size_t from)
{
	uint32_t number = buf_error(&data->scratch)
				  ? UINT32_MAX
				  : intern_bytes(data->strings, data->scratch.data + from, data->scratch.len - from);

	data->scratch.len = from;
	return number;
}

static void describe_frame(struct page_data *data, const struct profile *profile, uint32_t number,
			   struct page_frame *frame)
{
	const struct profile_frame *from = profile_frame(profile, number);
	struct out_source source;
	const char *name;
	size_t len;

	buf_clear(&data->scratch);
	out_module_path(profile, number, &data->scratch);
	frame->path = string_from(data, 0);
	if (from->kind == FRAME_KERNEL)
		out_hex(profile, profile_meta(profile)->kernel_build_id, &data->scratch);
	else
		out_hex(profile, profile_file(profile, from->file)->build_id, &data->scratch);
	frame->build_id = string_from(data, 0);
	name = intern_get(data->strings, frame->name, &len);
	source = out_source(profile, number, name, len);
	buf_add(&data->scratch, name + source.file, source.file_len);
	frame->line = source.line;
	if (from->source.file) { /* of all frames of the function, so its first line if that is known */
		out_string(profile, from->source.file, &data->scratch);
		frame->line = from->source.first_line ? from->source.first_line : from->source.line;
	}
	frame->source = string_from(data, 0);
}

/* The page's number of a frame: one for each name, module and kind. */
static uint32_t add_frame(struct page_data *data, const struct profile *profile, uint32_t number)
{
	const struct profile_frame *from = profile_frame(profile, number);
	struct page_frame frame = { 0 };
	uint32_t key[3], found;

	buf_clear(&data->scratch);
	if (number)
		out_frame_text(profile, number, &data->scratch);
	else
		buf_adds(&data->scratch, NO_STACK);
	frame.name = string_from(data, 0);
	if (number)
		out_function_module(profile, number, &data->scratch);
	else
		buf_addc(&data->scratch, '-');
	frame.module = string_from(data, 0);
	frame.kind = !number ? PAGE_NO_STACK : from->kind | (from->name ? 0 : PAGE_NAMELESS);
	if (frame.name == UINT32_MAX || frame.module == UINT32_MAX)
		return UINT32_MAX;
	memcpy(key, (const uint32_t[]){ frame.name, frame.module, frame.kind }, sizeof(key));
	found = intern_bytes(data->frame_keys, key, sizeof(key));
	if (found == UINT32_MAX || found < data->frames_len)
		return found;
	describe_frame(data, profile, number, &frame);
	if (grow(&data->frames, &data->frames_cap, data->frames_len, sizeof(*data->frames)))
		return UINT32_MAX;
	data->frames[data->frames_len++] = frame;
	return found;
}

static uint32_t add_node(struct page_data *data, uint32_t parent, uint32_t frame)
{
	uint64_t *slot = map_put(&data->places, (uint64_t)parent << 32 | frame);

	if (!slot || grow(&data->nodes, &data->nodes_cap, data->nodes_len, sizeof(*data->nodes)))
		return UINT32_MAX;
	if (!*slot) {
		*slot = data->nodes_len;
		data->nodes[data->nodes_len++] = (struct page_node){ parent, frame };
	}
	return (uint32_t)*slot;
}

static uint32_t add_label(struct page_data *data, const struct profile *profile, uint32_t set, const char *key)
{
	buf_clear(&data->scratch);
	while (set) {
		uint32_t rest, name, value;

		profile_label(profile, set, &rest, &name, &value);
		if (!strcmp(profile_text(profile, name, NULL), key)) {
			out_string(profile, value, &data->scratch);
			break;
		}
		set = rest;
	}
	return string_from(data, 0);
}

static uint32_t add_task(struct page_data *data, const struct profile *profile, uint32_t number)
{
	const struct profile_sample *sample = profile_sample(profile, number);
	const struct profile_process *process = profile_process(profile, sample->process);
	struct page_task task = { .pid = process->pid, .tid = sample->tid };
	uint32_t found;

	buf_clear(&data->scratch);
	if (out_has_comm(profile, number))
		out_comm_text(profile, number, &data->scratch);
	task.comm = string_from(data, 0);
	out_string(profile, process->comm, &data->scratch);
	task.process = string_from(data, 0);
	task.container = add_label(data, profile, sample->labels, CONTAINER);
	task.unit = add_label(data, profile, sample->labels, UNIT);
	if (task.comm == UINT32_MAX || task.process == UINT32_MAX || task.container == UINT32_MAX ||
	    task.unit == UINT32_MAX)
		return UINT32_MAX;
	found = intern_bytes(data->task_keys, &task, sizeof(task));
	if (found == UINT32_MAX || found < data->tasks_len)
		return found;
	if (grow(&data->tasks, &data->tasks_cap, data->tasks_len, sizeof(*data->tasks)))
		return UINT32_MAX;
	data->tasks[data->tasks_len++] = task;
	return found;
}

static int add_rows(struct page_data *data, const struct profile *profile, const uint32_t *node_of, uint32_t no_stack,
		    struct page_rows *rows)
{
	uint32_t count = profile_count(profile, PROFILE_SAMPLES);

	rows->list = calloc(count, sizeof(*rows->list));
	if (!rows->list)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		const struct profile_sample *sample = profile_sample(profile, i);
		struct page_row row = { .value = sample->value };

		if (!sample->value)
			continue;
		row.task = add_task(data, profile, i);
		row.node = sample->stack ? node_of[sample->stack] : add_node(data, 0, no_stack);
		if (row.task == UINT32_MAX || row.node == UINT32_MAX)
			return -ENOMEM;
		rows->list[rows->len++] = row;
	}
	return 0;
}

static int add_profile(struct page_data *data, const struct profile *profile, struct page_rows *rows)
{
	uint32_t frames = profile_count(profile, PROFILE_FRAMES), nodes = profile_count(profile, PROFILE_NODES);
	autofree uint32_t *frame_of = calloc(frames, sizeof(*frame_of));
	autofree uint32_t *node_of = calloc(nodes, sizeof(*node_of));

	if (!frame_of || !node_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < frames; i++) {
		frame_of[i] = add_frame(data, profile, i);
		if (frame_of[i] == UINT32_MAX)
			return -ENOMEM;
	}
	/* A parent's number is smaller than its node's. */
	for (uint32_t i = 1; i < nodes; i++) {
		const struct profile_node *node = profile_node(profile, i);

		node_of[i] = add_node(data, node_of[node->parent], frame_of[node->frame]);
		if (node_of[i] == UINT32_MAX)
			return -ENOMEM;
	}
	return add_rows(data, profile, node_of, frame_of[0], rows);
}

static int compare_rows(const void *a, const void *b)
{
	const struct page_row *left = a, *right = b;

	if (left->node != right->node)
		return left->node < right->node ? -1 : 1;
	return left->task < right->task ? -1 : left->task > right->task;
}

/* In the order of the tree, each node and task once. */
static void settle_rows(struct page_rows *rows, const uint32_t *numbers)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < rows->len; i++)
		rows->list[i].node = numbers[rows->list[i].node];
	if (rows->len)
		qsort(rows->list, rows->len, sizeof(*rows->list), compare_rows);
	for (uint32_t i = 0; i < rows->len; i++)
		if (kept && !compare_rows(&rows->list[kept - 1], &rows->list[i]))
			rows->list[kept - 1].value += rows->list[i].value;
		else
			rows->list[kept++] = rows->list[i];
	rows->len = kept;
}

/*
 * Numbers the nodes from the root down, children in the order in which they came, and writes their columns: how many
 * levels up from the node before it a node hangs, and its frame.
 */
static int put_nodes(struct page_data *data)
{
	uint32_t count = data->nodes_len, at, depth = 0, last = 0, number = 0;
	autofree uint32_t *first = calloc(count, sizeof(*first)), *next = calloc(count, sizeof(*next));
	autofree uint32_t *numbers = calloc(count, sizeof(*numbers));

	if (!first || !next || !numbers)
		return -ENOMEM;
	for (uint32_t i = count - 1; i; i--) {
		next[i] = first[data->nodes[i].parent];
		first[data->nodes[i].parent] = i;
	}
	for (at = first[0], depth = 1; at;) {
		numbers[at] = ++number;
		buf_varint(&data->columns[PAGE_NODE_UP], last + 1 - depth);
		buf_varint(&data->columns[PAGE_NODE_FRAME], data->nodes[at].frame);
		last = depth;
		if (first[at]) {
			at = first[at];
			depth++;
			continue;
		}
		while (at && !next[at]) {
			at = data->nodes[at].parent;
			depth--;
		}
		at = at ? next[at] : 0;
	}
	for (int side = 0; side < 2; side++)
		settle_rows(&data->rows[side], numbers);
	return 0;
}

static void put_frames(struct page_data *data)
{
	for (uint32_t i = 1; i < data->frames_len; i++) {
		const struct page_frame *frame = &data->frames[i];
		const uint32_t values[] = { frame->name,     frame->module, frame->kind, frame->path,
					    frame->build_id, frame->source, frame->line };

		for (unsigned int c = 0; c < sizeof(values) / sizeof(*values); c++)
			buf_varint(&data->columns[PAGE_FRAME_NAME + c], values[c]);
	}
}

static void put_tasks(struct page_data *data)
{
	for (uint32_t i = 1; i < data->tasks_len; i++) {
		const struct page_task *task = &data->tasks[i];
		const uint32_t values[] = {
			task->comm, task->pid, task->tid, task->process, task->container, task->unit
		};

		for (unsigned int c = 0; c < sizeof(values) / sizeof(*values); c++)
			buf_varint(&data->columns[PAGE_TASK_COMM + c], values[c]);
	}
}

static void put_rows(struct page_data *data)
{
	for (int side = 0; side < 2; side++) {
		const struct page_rows *rows = &data->rows[side];
		struct buf *columns = &data->columns[side ? PAGE_BEFORE_NODE : PAGE_ROW_NODE];
		uint32_t last = 0;

		for (uint32_t i = 0; i < rows->len; i++) {
			buf_varint(&columns[0], rows->list[i].node - last);
			buf_varint(&columns[1], rows->list[i].task);
			buf_varint(&columns[2], rows->list[i].value);
			last = rows->list[i].node;
		}
	}
}

/* No text of the model has a line feed any more. */
static void put_strings(struct page_data *data)
{
	struct buf *out = &data->columns[PAGE_STRINGS];

	for (uint32_t i = 1; i < intern_count(data->strings); i++) {
		size_t len;
		const char *text = intern_get(data->strings, i, &len);

		buf_addc(out, '\n');
		buf_add(out, text, len);
	}
}

static int put_all(struct page_data *data, const struct page *page, struct buf *raw)
{
	autobuf struct buf head = { 0 };
	int err = put_nodes(data);

	if (err)
		return err;
	put_frames(data);
	put_tasks(data);
	put_rows(data);
	put_strings(data);
	err = page_head(data, page, &head);
	err = err ? err : buf_error(&head);
	if (err)
		return err;
	buf_add(raw, PAGE_MAGIC, strlen(PAGE_MAGIC));
	buf_u32(raw, (uint32_t)head.len);
	buf_add(raw, head.data, head.len);
	for (int i = 0; i < PAGE_COLUMNS; i++) {
		if (buf_error(&data->columns[i]))
			return buf_error(&data->columns[i]);
		if (data->columns[i].len > UINT32_MAX)
			return fail_plain(-EFBIG, "the page: more than it can hold: choose with --focus or --process");
		buf_u32(raw, (uint32_t)data->columns[i].len);
		buf_add(raw, data->columns[i].data, data->columns[i].len);
		buf_free(&data->columns[i]);
	}
	return buf_error(raw);
}

static void data_free(struct page_data *data)
{
	intern_free(data->strings);
	intern_free(data->frame_keys);
	intern_free(data->task_keys);
	map_free(&data->places);
	free(data->frames);
	free(data->tasks);
	free(data->nodes);
	free(data->rows[0].list);
	free(data->rows[1].list);
	for (int i = 0; i < PAGE_COLUMNS; i++)
		buf_free(&data->columns[i]);
	buf_free(&data->scratch);
}

int page_data(const struct page *page, struct buf *out)
{
	/* Number 0 of every table means none. */
	struct page_data data = { .frames_len = 1, .tasks_len = 1, .nodes_len = 1 };
	autobuf struct buf raw = { 0 };
	int err = intern_new(&data.strings);

	err = err ? err : intern_new(&data.frame_keys);
	err = err ? err : intern_new(&data.task_keys);
	err = err ? err : grow(&data.nodes, &data.nodes_cap, 0, sizeof(*data.nodes));
	err = err ? err : add_profile(&data, page->profile, &data.rows[0]);
	if (!err && page->before)
		err = add_profile(&data, page->before, &data.rows[1]);
	map_free(&data.places);
	data.places = (struct map){ 0 };
	err = err ? err : put_all(&data, page, &raw);
	data_free(&data);
	err = err ? err : gzip_add(out, &raw, GZIP_SMALL);
	return err == -ENOMEM ? fail(err, "making the page") : err;
}
