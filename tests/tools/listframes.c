/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the frames of a profile, one a line: kind, path of the file, position in it or address, name, why the file has
 * no names; separated by tabs, - where there is none. For tests that ask others about the same places: listframes
 * FILE.wick
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/text.h"
#include "cmd/input.h"
#include "profile/profile.h"

static const char *const kinds[FRAME_KINDS] = {
	[FRAME_USER] = "user", [FRAME_KERNEL] = "kernel", [FRAME_JIT] = "jit",
	[FRAME_VDSO] = "vdso", [FRAME_INLINE] = "inline", [FRAME_CUT] = "cut",
};

/* On one line, without tabs. */
static void add_text(struct buf *out, const struct profile *profile, uint32_t string)
{
	size_t len;
	const char *text = profile_text(profile, string, &len);

	if (len)
		text_escape(out, text, len, "\t");
	else
		buf_addc(out, '-');
}

static void add_frame(struct buf *out, const struct profile *profile, const struct profile_frame *frame)
{
	buf_addf(out, "%s\t", frame->kind < FRAME_KINDS ? kinds[frame->kind] : "?");
	add_text(out, profile, profile_file(profile, frame->file)->path);
	buf_addf(out, "\t0x%" PRIx64 "\t", frame->address);
	add_text(out, profile, frame->name);
	buf_addc(out, '\t');
	add_text(out, profile, profile_file(profile, frame->file)->reason);
	buf_addc(out, '\n');
}

int main(int argc, char **argv)
{
	struct profile *profile = NULL;
	autobuf struct buf out = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: listframes FILE\n");
		return 2;
	}
	if (input_read(&profile, argv[1], &(struct input_options){ 0 })) {
		fprintf(stderr, "listframes: %s\n", fail_text());
		return 1;
	}
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_FRAMES); i++)
		add_frame(&out, profile, profile_frame(profile, i));
	profile_free(profile);
	if (buf_error(&out))
		return 1;
	return fwrite(out.data, 1, out.len, stdout) == out.len ? 0 : 1;
}
