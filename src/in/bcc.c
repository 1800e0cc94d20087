/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what bcc's profile and offcputime print for people, of the Python and of the libbpf tools: frames, leaf first,
 * four blanks before each; `-  comm (pid)`; the count; an empty line. In: lines from anybody. Out: a profile, each
 * entry a sample.
 *
 * Kernel frames come first. Where they end is told by `--` (option -d), by their module, by their address, or by the
 * function through which the kernel is entered.
 */
#include "in/in.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fail.h"
#include "in/source.h"
#include "in/stack.h"
#include "profile/profile.h"

#define OFFCPU "Tracing off-CPU time (us)"
#define OWNER "    -  " /* comm (pid) */

struct line {
	struct span name, module;
	uint64_t address;
	bool kernel;
};

struct bcc {
	struct profile *profile;
	struct source *source;
	struct in_request *request;
	struct stack stack;
	struct buf text;     /* of the frames of this entry, a line each */
	size_t kernel_bytes; /* so much of it is known to be the kernel's */
	bool offcpu;
	bool owned; /* comm and pid were read: the count is next */
	struct profile_sample sample;
	uint64_t count, sum;
};

static int full(void)
{
	return fail(-ENOMEM, "reading a profile");
}

static int wrong(const struct bcc *bcc, const char *expected)
{
	return fail_plain(-EINVAL, "line %zu: %s", source_line_number(bcc->source), expected);
}

/* `#3  0x7f12 sym+0x1f [module]`, of which all but the symbol may be missing. */
static struct line split(struct span text)
{
	struct line line = { .module = { "", 0 } };
	struct span rest = text, word = span_word(&rest);
	const char *open, *plus;
	uint64_t offset;

	if (span_begins(word, "#") && rest.len) {
		text = rest;
		word = span_word(&rest);
	}
	if (span_begins(word, "0x") && span_hex(span_from(word, 2), &line.address) && rest.len)
		text = rest;
	open = memrchr(text.data, '[', text.len);
	if (!span_ends(text, "]"))
		open = NULL;
	if (!open && span_ends(text, ")"))
		open = memrchr(text.data, '(', text.len);
	if (open && open > text.data && open[-1] == ' ') {
		line.module = (struct span){ open + 1, (size_t)(text.data + text.len - 1 - (open + 1)) };
		text = span_trim((struct span){ text.data, (size_t)(open - text.data) });
	}
	plus = memrchr(text.data, '+', text.len);
	if (plus && span_begins(span_from(text, (size_t)(plus - text.data)), "+0x") &&
	    span_hex(span_from(text, (size_t)(plus + 3 - text.data)), &offset))
		text.len = (size_t)(plus - text.data);
	line.kernel = span_ends(text, "_[k]") || span_is(line.module, "kernel") ||
		      line.address >= STACK_KERNEL_ADDRESS || stack_is_kernel_root(text);
	if (span_ends(text, "_[k]"))
		text.len -= strlen("_[k]");
	line.name = text;
	return line;
}

static uint32_t add_frame(struct bcc *bcc, struct span text, bool kernel)
{
	struct line line = split(text);
	struct profile_frame frame = { .kind = kernel ? FRAME_KERNEL : FRAME_USER };
	const char *plus = memrchr(line.module.data, '+', line.module.len);

	if (plus) /* (/lib/libc.so.6+0x1234) */
		line.module.len = (size_t)(plus - line.module.data);
	if (!kernel && line.module.len && !span_is(line.module, "unknown")) {
		const struct profile_file file = { .path = profile_bytes(bcc->profile, line.module.data,
									 line.module.len) };

		frame.file = profile_add_file(bcc->profile, &file);
	}
	if (kernel)
		frame.address = line.address;
	if (!kernel || !frame.address || !span_is(line.name, "[unknown]"))
		frame.name = profile_bytes(bcc->profile, line.name.data, line.name.len);
	return profile_add_frame(bcc->profile, &frame);
}

static int push_frames(struct bcc *bcc)
{
	struct span rest = { bcc->text.data, bcc->text.len };

	bcc->stack.depth = 0;
	while (rest.len) {
		bool kernel = (size_t)(rest.data - bcc->text.data) < bcc->kernel_bytes;
		int err = stack_push(&bcc->stack, add_frame(bcc, span_line(&rest), kernel));

		if (err == -E2BIG)
			return wrong(bcc, "more than 65536 frames");
		if (err)
			return full();
	}
	return 0;
}

/* A frame, or the line between the kernel's and the others. */
static int read_frame(struct bcc *bcc, struct span text)
{
	if (span_is(text, "--") || span_is(text, "-")) {
		bcc->kernel_bytes = bcc->text.len;
		return 0;
	}
	buf_add(&bcc->text, text.data, text.len);
	buf_addc(&bcc->text, '\n');
	if (buf_error(&bcc->text))
		return full();
	if (bcc->text.len > STACK_DEPTH_MAX * 256u)
		return wrong(bcc, "a stack of more than 16 MiB");
	if (split(text).kernel)
		bcc->kernel_bytes = bcc->text.len;
	return 0;
}

static int read_owner(struct bcc *bcc, struct span text)
{
	const char *open = memrchr(text.data, '(', text.len);
	struct span comm;
	uint64_t pid;

	if (!open || !span_ends(text, ")") ||
	    !span_u64((struct span){ open + 1, (size_t)(text.data + text.len - 1 - (open + 1)) }, &pid) ||
	    pid > UINT32_MAX)
		return wrong(bcc, "comm (pid) was expected");
	comm = span_trim((struct span){ text.data, (size_t)(open - text.data) });
	bcc->sample = (struct profile_sample){ .comm = profile_bytes(bcc->profile, comm.data, comm.len) };
	if (bcc->offcpu) { /* there it is the thread's */
		bcc->sample.tid = (uint32_t)pid;
		bcc->sample.process = stack_process_named(bcc->profile, bcc->sample.comm);
	} else {
		bcc->sample.process = profile_add_process(bcc->profile, (uint32_t)pid, 0);
		if (bcc->sample.process != PROFILE_FULL)
			profile_process(bcc->profile, bcc->sample.process)->comm = bcc->sample.comm;
	}
	bcc->owned = true;
	return 0;
}

static int read_count(struct bcc *bcc, struct span text)
{
	int err;

	if (!span_u64(text, &bcc->sample.value))
		return wrong(bcc, "a count was expected");
	if (!span_add(&bcc->sum, bcc->sample.value))
		return wrong(bcc, "the counts add up to more than can be");
	err = push_frames(bcc);
	if (err)
		return err;
	bcc->sample.stack = stack_node(&bcc->stack, bcc->profile);
	if (profile_add_sample(bcc->profile, &bcc->sample) == PROFILE_FULL)
		return full();
	bcc->count++;
	bcc->owned = false;
	bcc->kernel_bytes = 0;
	buf_clear(&bcc->text);
	return 0;
}

static int read_line(struct bcc *bcc, struct span line)
{
	struct span text = span_trim(line);

	if (span_begins(line, OFFCPU))
		bcc->offcpu = true;
	if (!text.len || !span_begins(line, "    "))
		return bcc->owned && text.len ? wrong(bcc, "a count was expected") : 0;
	if (bcc->owned)
		return read_count(bcc, text);
	if (span_begins(line, OWNER))
		return read_owner(bcc, span_trim(span_from(line, strlen(OWNER))));
	return read_frame(bcc, text);
}

static int read_lines(struct bcc *bcc)
{
	struct span line;
	int err = 0, more;

	while (!err && (more = source_line(bcc->source, &line)) != 0)
		err = more < 0 ? more : read_line(bcc, line);
	if (!err && (bcc->owned || bcc->text.len))
		err = wrong(bcc, "cut off in the middle of a stack: comm (pid) and a count were expected");
	return err ? in_salvage(bcc->request, err, bcc->count) : 0;
}

static int finish(struct bcc *bcc)
{
	struct profile_meta *meta = profile_meta(bcc->profile);

	if (bcc->request->type)
		return fail_plain(-EINVAL, "--type: '%s' is not in it: it has one kind of values only",
				  bcc->request->type);
	meta->unit = profile_string(bcc->profile, bcc->offcpu ? "microseconds" : "samples");
	meta->event = bcc->offcpu ? profile_string(bcc->profile, "offcpu") : PROFILE_NONE;
	return profile_add_counter(bcc->profile, "total", "counted", bcc->sum) ? full() : 0;
}

int in_bcc(struct profile **ret, struct source *source, struct in_request *request)
{
	struct bcc bcc = { .source = source, .request = request };
	int err = profile_new(&bcc.profile);

	err = err ? err : stack_init(&bcc.stack);
	err = err ? full() : read_lines(&bcc);
	err = err ? err : finish(&bcc);
	stack_free(&bcc.stack);
	buf_free(&bcc.text);
	if (err)
		profile_free(bcc.profile);
	else
		*ret = bcc.profile;
	return err;
}

/* By its first line; without that, by the first owner of a stack. */
bool in_is_bcc(const char *data, size_t len)
{
	struct span rest = { data, len };

	for (int i = 0; i < 1000 && rest.len; i++) {
		struct span line = span_line(&rest);

		if (span_begins(line, "Sampling at ") || span_begins(line, OFFCPU))
			return true;
		if (span_begins(line, OWNER))
			return span_ends(line, ")");
		if (line.len && !span_begins(line, "    ") && line.data[0] != '^')
			return false;
	}
	return false;
}
