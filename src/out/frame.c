/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame, the module it is in, and whose it is, as people see them. In: what the model holds, named or not. Out: text
 * that is never empty, is valid UTF-8 on one line and holds no semicolon, so that it can stand in a folded stack.
 */
#include "out/out.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "profile/profile.h"

static void add_escaped(const struct profile *profile, uint32_t string, struct buf *out)
{
	size_t len;
	const char *text = profile_text(profile, string, &len);

	text_escape(out, text, len, ";");
}

static void add_file(const struct profile *profile, uint32_t number, struct buf *out)
{
	size_t len;
	const char *path = profile_text(profile, profile_file(profile, number)->path, &len);
	const char *slash = memrchr(path, '/', len);
	const char *name = slash ? slash + 1 : path;

	if (name == path + len)
		buf_adds(out, "[file]");
	else
		text_escape(out, name, (size_t)(path + len - name), ";");
}

void out_module_text(const struct profile *profile, unsigned int number, struct buf *out)
{
	const struct profile_frame *frame = profile_frame(profile, number);

	switch (frame->kind) {
	case FRAME_KERNEL:
		buf_adds(out, "[kernel]");
		break;
	case FRAME_JIT:
		buf_adds(out, "[jit]");
		break;
	case FRAME_VDSO:
		buf_adds(out, "[vdso]");
		break;
	case FRAME_CUT:
		buf_adds(out, "-");
		break;
	default:
		add_file(profile, frame->file, out);
	}
}

void out_function_module(const struct profile *profile, unsigned int number, struct buf *out)
{
	const struct profile_frame *frame = profile_frame(profile, number);

	if ((frame->kind == FRAME_USER || frame->kind == FRAME_INLINE) && !frame->file &&
	    (frame->name || !frame->address))
		buf_addc(out, '-');
	else
		out_module_text(profile, number, out);
}

/* Not even where it is: an empty name of folded stacks. */
static bool is_unknown(const struct profile_frame *frame)
{
	return frame->kind == FRAME_USER && !frame->name && !frame->file && !frame->address;
}

void out_frame_text(const struct profile *profile, unsigned int number, struct buf *out)
{
	const struct profile_frame *frame = profile_frame(profile, number);

	if (frame->kind == FRAME_CUT) {
		buf_adds(out, "[incomplete: ");
		add_escaped(profile, frame->name, out);
		buf_addc(out, ']');
		return;
	}
	if (frame->name) {
		add_escaped(profile, frame->name, out);
		return;
	}
	if (is_unknown(frame)) {
		buf_adds(out, "[unknown]");
		return;
	}
	out_module_text(profile, number, out);
	/* The addresses of one JIT's code say nothing, and each would be a function of its own. */
	if (frame->kind != FRAME_JIT)
		buf_addf(out, "+0x%" PRIx64, frame->address);
}

void out_folded_frame(const struct profile *profile, unsigned int number, struct buf *out)
{
	static const char *const suffixes[FRAME_KINDS] = {
		[FRAME_KERNEL] = "_[k]",
		[FRAME_JIT] = "_[j]",
		[FRAME_INLINE] = "_[i]",
	};
	const struct profile_frame *frame = profile_frame(profile, number);

	if (is_unknown(frame))
		return;
	out_frame_text(profile, number, out);
	if (suffixes[frame->kind])
		buf_adds(out, suffixes[frame->kind]);
}

bool out_has_comm(const struct profile *profile, unsigned int number)
{
	const struct profile_sample *sample = profile_sample(profile, number);

	return sample->process || sample->comm || !sample->stack;
}

void out_comm_text(const struct profile *profile, unsigned int number, struct buf *out)
{
	const struct profile_sample *sample = profile_sample(profile, number);
	uint32_t comm = sample->comm ? sample->comm : profile_process(profile, sample->process)->comm;

	if (comm)
		add_escaped(profile, comm, out);
	else
		buf_adds(out, "[unnamed]");
}
