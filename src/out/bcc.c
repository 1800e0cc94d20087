/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of bcc's profile.py, so that what reads it can read this. Entries stand in ascending order of their count;
 * several lines each, kernel frames before user frames and the leaf first, or folded into one line, root first.
 *
 * Where it differs: the leaf is there once, equal entries are added up, ties stand in order of their text, and a stack
 * that is not whole says so at its root. Of a caller, the place in its function is that of the call.
 */
#include "out/bcc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "out/lines.h"
#include "out/out.h"
#include "profile/profile.h"

/* One stack, leaf first, in its parts. */
struct stack {
	uint32_t *frames;
	size_t len, cap;
	size_t kernel; /* so many of them come first */
	size_t user;   /* then so many */
	uint32_t cut;  /* then this one, if it is not 0 */
};

static int gather(const struct profile *profile, uint32_t leaf, struct stack *stack)
{
	stack->len = 0;
	for (uint32_t node = leaf; node; node = profile_node(profile, node)->parent) {
		if (stack->len == stack->cap) {
			size_t cap = stack->cap ? stack->cap * 2 : 128;
			uint32_t *grown = reallocarray(stack->frames, cap, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			stack->frames = grown;
			stack->cap = cap;
		}
		stack->frames[stack->len++] = profile_node(profile, node)->frame;
	}
	return 0;
}

static uint32_t kind_of(const struct profile *profile, const struct stack *stack, size_t at)
{
	return profile_frame(profile, stack->frames[at])->kind;
}

static void split(const struct profile *profile, struct stack *stack)
{
	stack->kernel = 0;
	while (stack->kernel < stack->len && kind_of(profile, stack, stack->kernel) == FRAME_KERNEL)
		stack->kernel++;
	stack->user = stack->len - stack->kernel;
	stack->cut = 0;
	if (stack->user && kind_of(profile, stack, stack->len - 1) == FRAME_CUT) {
		stack->user--;
		stack->cut = stack->frames[stack->len - 1];
	}
}

/* The name and, as +0x1f, where in the function. */
static void add_place(const struct profile *profile, uint32_t number, struct buf *out)
{
	const struct profile_frame *frame = profile_frame(profile, number);

	out_frame_text(profile, number, out);
	if (frame->start && frame->start <= frame->address)
		buf_addf(out, "+0x%" PRIx64, frame->address - frame->start);
}

/* What -v says of a place: its address, its name, the file and the offset in it. */
static void add_verbose(const struct profile *profile, uint32_t number, struct buf *out)
{
	const struct profile_frame *frame = profile_frame(profile, number);

	if (frame->kind == FRAME_KERNEL)
		buf_addf(out, "0x%" PRIx64 " ", frame->address);
	else
		buf_addf(out, "0x%016" PRIx64 "%s", frame->address, frame->name ? " " : "");
	if (frame->name)
		add_place(profile, number, out);
	else if (frame->kind == FRAME_KERNEL)
		buf_adds(out, "[unknown]");
	if (frame->kind == FRAME_KERNEL || frame->kind == FRAME_JIT)
		return;
	buf_adds(out, " (");
	if (profile_file(profile, frame->file)->path) {
		size_t len;
		const char *path = profile_text(profile, profile_file(profile, frame->file)->path, &len);

		text_escape(out, path, len, ";");
	} else {
		out_module_text(profile, number, out);
	}
	buf_addf(out, "+0x%" PRIx64 ")", frame->address);
}

/* " [libc.so.6]"; nothing for code that no name and no file is known of. */
static void add_module(const struct profile *profile, uint32_t number, struct buf *out)
{
	const struct profile_frame *frame = profile_frame(profile, number);
	autobuf struct buf module = { 0 };

	if (!frame->name && (frame->kind == FRAME_KERNEL || frame->kind == FRAME_JIT))
		return;
	out_module_text(profile, number, &module);
	if (buf_error(&module))
		out->err = buf_error(&module);
	else if (module.data[0] == '[')
		buf_addf(out, " %s", module.data);
	else
		buf_addf(out, " [%s]", module.data);
}

/* One frame on a line of its own. */
static void add_line(const struct profile *profile, const struct bcc_options *options, uint32_t number, struct buf *out)
{
	const struct profile_frame *frame = profile_frame(profile, number);

	buf_adds(out, "    ");
	if (options->verbose) {
		add_verbose(profile, number, out);
	} else {
		if (options->addresses && frame->kind == FRAME_KERNEL)
			buf_addf(out, "0x%-16" PRIx64 " ", frame->address);
		else if (options->addresses)
			buf_addf(out, "0x%016" PRIx64 " ", frame->address);
		if (frame->name)
			add_place(profile, number, out);
		else
			buf_adds(out, "[unknown]");
		add_module(profile, number, out);
	}
	buf_addc(out, '\n');
}

/* One frame of a folded line. */
static void add_folded(const struct profile *profile, const struct bcc_options *options, uint32_t number,
		       struct buf *out)
{
	buf_addc(out, ';');
	if (options->verbose)
		add_verbose(profile, number, out);
	else if (profile_frame(profile, number)->name)
		out_frame_text(profile, number, out);
	else
		buf_adds(out, "[unknown]");
	if (options->annotations && profile_frame(profile, number)->kind == FRAME_KERNEL)
		buf_adds(out, "_[k]");
}

static size_t limited(const struct bcc_options *options, size_t frames)
{
	return options->depth && options->depth < frames ? (size_t)options->depth : frames;
}

/* What stands at the root of a stack that is not shown whole. */
static void add_cut(const struct profile *profile, const struct bcc_options *options, const struct stack *stack,
		    const char *before, const char *after, struct buf *out)
{
	bool short_user = limited(options, stack->user) < stack->user;
	bool short_kernel = limited(options, stack->kernel) < stack->kernel;

	if (!stack->cut && !short_user && !short_kernel)
		return;
	buf_adds(out, before);
	if (short_user || !stack->cut)
		buf_adds(out, "[incomplete: depth]");
	else
		out_frame_text(profile, stack->cut, out);
	buf_adds(out, after);
}

static bool has_both(const struct stack *stack)
{
	return stack->kernel && (stack->user || stack->cut);
}

static void add_entry_lines(const struct profile *profile, const struct bcc_options *options, uint32_t sample,
			    const struct stack *stack, struct buf *out)
{
	for (size_t i = 0; i < limited(options, stack->kernel); i++)
		add_line(profile, options, stack->frames[i], out);
	if (options->delimiter && has_both(stack))
		buf_adds(out, "    --\n");
	for (size_t i = 0; i < limited(options, stack->user); i++)
		add_line(profile, options, stack->frames[stack->kernel + i], out);
	add_cut(profile, options, stack, "    ", "\n", out);
	buf_addf(out, "    %-16s ", "-");
	out_comm_text(profile, sample, out);
	buf_addf(out, " (%" PRIu32 ")\n", profile_process(profile, profile_sample(profile, sample)->process)->pid);
}

static void add_entry_folded(const struct profile *profile, const struct bcc_options *options, uint32_t sample,
			     const struct stack *stack, struct buf *out)
{
	out_comm_text(profile, sample, out);
	add_cut(profile, options, stack, ";", "", out);
	for (size_t i = limited(options, stack->user); i--;)
		add_folded(profile, options, stack->frames[stack->kernel + i], out);
	if (options->delimiter && has_both(stack))
		buf_adds(out, ";-");
	for (size_t i = limited(options, stack->kernel); i--;)
		add_folded(profile, options, stack->frames[i], out);
}

static int add_up(const struct profile *profile, const struct bcc_options *options, struct lines *lines)
{
	autobuf struct buf text = { 0 };
	struct stack stack = { 0 };
	int err = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES) && !err; i++) {
		err = gather(profile, profile_sample(profile, i)->stack, &stack);
		if (err)
			break;
		split(profile, &stack);
		buf_clear(&text);
		if (options->folded)
			add_entry_folded(profile, options, i, &stack, &text);
		else
			add_entry_lines(profile, options, i, &stack, &text);
		err = buf_error(&text);
		err = err ? err : lines_add(lines, text.data, text.len, profile_sample(profile, i)->value);
	}
	free(stack.frames);
	return err;
}

int bcc_stacks(const struct profile *profile, const struct bcc_options *options, struct buf *out)
{
	struct lines lines = { 0 };
	int err = add_up(profile, options, &lines);

	if (!err) {
		lines_sort_hottest_last(&lines);
		for (size_t i = 0; i < lines.len; i++)
			buf_addf(out, options->folded ? "%s %" PRIu64 "\n" : "%s        %" PRIu64 "\n\n",
				 lines.list[i].text, lines.list[i].count);
		err = buf_error(out);
	}
	lines_free(&lines);
	return err;
}

/* "PID [1, 2]" */
static void add_numbers(const char *what, const uint32_t *list, size_t len, struct buf *out)
{
	buf_addf(out, "%s [", what);
	for (size_t i = 0; i < len; i++)
		buf_addf(out, "%s%" PRIu32, i ? ", " : "", list[i]);
	buf_addc(out, ']');
}

void bcc_header(const struct bcc_scope *scope, struct buf *out)
{
	if (scope->hz)
		buf_addf(out, "Sampling at %" PRIu64 " Hertz of ", scope->hz);
	else
		buf_addf(out, "Sampling at every %" PRIu64 " events of ", scope->period);
	if (scope->pids_len)
		add_numbers("PID", scope->pids, scope->pids_len, out);
	else if (scope->tids_len)
		add_numbers("TID", scope->tids, scope->tids_len, out);
	else
		buf_adds(out, "all threads");
	buf_addf(out, " by %s stack", !scope->kernel ? "user" : !scope->user ? "kernel" : "user + kernel");
	if (scope->cpu >= 0)
		buf_addf(out, " on CPU#%" PRId64, scope->cpu);
	if (scope->seconds)
		buf_addf(out, " for %" PRIu64 " secs.\n", scope->seconds);
	else
		buf_adds(out, "... Hit Ctrl-C to end.\n");
}

void bcc_warnings(const struct profile *profile, struct buf *out)
{
	uint64_t lost = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_COUNTERS); i++) {
		const struct profile_counter *counter = profile_counter(profile, i);

		if (!strcmp(profile_text(profile, counter->group, NULL), "lost"))
			lost += counter->value;
	}
	if (lost)
		buf_addf(out, "WARNING: %" PRIu64 " stack traces could not be displayed.%s\n", lost,
			 profile_counter_value(profile, "lost", "stacks") ? " Consider increasing --stack-storage-size."
									  : "");
	if (profile_counter_value(profile, "lost", "counts"))
		buf_adds(out, "WARNING: hash table full. Consider increasing --hash-storage-size.\n");
}
