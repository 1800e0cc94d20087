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
#include "profile/filter.h"
#include "profile/profile.h"

static void add_escaped(const struct profile *profile, uint32_t string, const char *also, struct buf *out)
{
	size_t len;
	const char *text = profile_text(profile, string, &len);

	text_escape(out, text, len, also);
}

static void add_file(const struct profile *profile, uint32_t number, const char *also, struct buf *out)
{
	size_t len;
	const char *path = profile_text(profile, profile_file(profile, number)->path, &len);
	const char *slash = memrchr(path, '/', len);
	const char *name = slash ? slash + 1 : path;

	if (name == path + len)
		buf_adds(out, "[file]");
	else
		text_escape(out, name, (size_t)(path + len - name), also);
}

static void add_module(const struct profile *profile, uint32_t number, const char *also, struct buf *out)
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
		add_file(profile, frame->file, also, out);
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

/* Bytes of `also` are escaped as well. */
static void add_frame(const struct profile *profile, uint32_t number, const char *also, struct buf *out)
{
	const struct profile_frame *frame = profile_frame(profile, number);

	if (frame->kind == FRAME_CUT) {
		buf_adds(out, "[incomplete: ");
		add_escaped(profile, frame->name, also, out);
		buf_addc(out, ']');
		return;
	}
	if (frame->name) {
		add_escaped(profile, frame->name, also, out);
		return;
	}
	if (is_unknown(frame)) {
		buf_adds(out, "[unknown]");
		return;
	}
	add_module(profile, number, also, out);
	/* The addresses of one JIT's code say nothing, and each would be a function of its own. */
	if (frame->kind != FRAME_JIT)
		buf_addf(out, "+0x%" PRIx64, frame->address);
}

void out_frame_text(const struct profile *profile, unsigned int number, struct buf *out)
{
	add_frame(profile, number, ";", out);
}

void out_module_text(const struct profile *profile, unsigned int number, struct buf *out)
{
	add_module(profile, number, ";", out);
}

const struct filter_texts out_texts = { out_frame_text, out_function_module };

void out_folded_frame(const struct profile *profile, unsigned int number, struct buf *out)
{
	const struct profile_frame *frame = profile_frame(profile, number);

	if (is_unknown(frame))
		return;
	out_frame_text(profile, number, out);
	buf_adds(out, out_kind_suffix(frame->kind));
}

bool out_has_comm(const struct profile *profile, unsigned int number)
{
	const struct profile_sample *sample = profile_sample(profile, number);

	return sample->process || sample->comm || !sample->stack;
}

unsigned int out_comm(const struct profile *profile, unsigned int number)
{
	const struct profile_sample *sample = profile_sample(profile, number);

	return sample->comm ? sample->comm : profile_process(profile, sample->process)->comm;
}

void out_comm_text(const struct profile *profile, unsigned int number, struct buf *out)
{
	uint32_t comm = out_comm(profile, number);

	if (comm)
		add_escaped(profile, comm, ";", out);
	else
		buf_adds(out, "[unnamed]");
}

const char *out_kind_suffix(unsigned int kind)
{
	switch (kind) {
	case FRAME_KERNEL:
		return "_[k]";
	case FRAME_JIT:
		return "_[j]";
	case FRAME_INLINE:
		return "_[i]";
	default:
		return "";
	}
}

void out_name(const struct profile *profile, unsigned int number, struct buf *out)
{
	if (is_unknown(profile_frame(profile, number)))
		return;
	add_frame(profile, number, NULL, out);
}

void out_string(const struct profile *profile, unsigned int string, struct buf *out)
{
	add_escaped(profile, string, NULL, out);
}

void out_module_path(const struct profile *profile, unsigned int number, struct buf *out)
{
	const struct profile_frame *frame = profile_frame(profile, number);
	uint32_t path = profile_file(profile, frame->file)->path;

	if (frame->kind == FRAME_KERNEL && path) {
		buf_addc(out, '[');
		out_string(profile, path, out);
		buf_addc(out, ']');
	} else if (frame->kind == FRAME_KERNEL) {
		buf_adds(out, "[kernel.kallsyms]");
	} else if (frame->kind == FRAME_JIT || frame->kind == FRAME_VDSO) {
		add_module(profile, number, NULL, out);
	} else {
		out_string(profile, path, out);
	}
}

void out_hex(const struct profile *profile, unsigned int string, struct buf *out)
{
	size_t len;
	const char *bytes = profile_text(profile, string, &len);

	for (size_t i = 0; i < len; i++)
		buf_addf(out, "%02x", (unsigned char)bytes[i]);
}

#define LINE_DIGITS 9

struct out_source out_source(const struct profile *profile, unsigned int frame, const char *name, size_t len)
{
	struct out_source source = { .name_len = len };
	uint32_t kind = profile_frame(profile, frame)->kind, line = 0;
	const char *space = memrchr(name, ' ', len), *colon = memrchr(name, ':', len);

	if (profile_has_source(&profile_frame(profile, frame)->source))
		return source;
	/* Names of run-time code may look alike, but say where a function begins. */
	if ((kind != FRAME_USER && kind != FRAME_INLINE) || !profile_frame(profile, frame)->name || !space ||
	    space == name || !colon || colon <= space + 1 || memchr(space, '/', (size_t)(colon - space)))
		return source;
	for (const char *at = colon + 1; at < name + len; at++) {
		if (*at < '0' || *at > '9' || at - colon > LINE_DIGITS || (at == colon + 1 && *at == '0'))
			return source;
		line = line * 10 + (uint32_t)(*at - '0');
	}
	if (line)
		source = (struct out_source){ (size_t)(space - name), (size_t)(space + 1 - name),
					      (size_t)(colon - space - 1), line };
	return source;
}
