/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks: `comm;root;...;leaf count`, hottest first, equal counts by text. Kernel frames end in _[k], JIT's in
 * _[j], inlined ones in _[i].
 *
 * Invariant: one line is one stack, and the counts add up to the values of the profile's samples. Losses are therefore
 * not in here: whoever writes this shows them elsewhere.
 */
#include "out/out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "out/lines.h"
#include "profile/profile.h"

/* The longest stack of all samples. Walking up ends: each step goes to a smaller number. */
static size_t greatest_depth(const struct profile *profile)
{
	size_t greatest = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++) {
		size_t depth = 0;

		for (uint32_t node = profile_sample(profile, i)->stack; node;
		     node = profile_node(profile, node)->parent)
			depth++;
		if (depth > greatest)
			greatest = depth;
	}
	return greatest;
}

/* `nodes` has room for the greatest depth. */
static void add_stack(const struct profile *profile, uint32_t stack, uint32_t *nodes, struct buf *line)
{
	size_t depth = 0;

	for (uint32_t node = stack; node; node = profile_node(profile, node)->parent)
		nodes[depth++] = node;
	while (depth--) {
		uint32_t frame = profile_node(profile, nodes[depth])->frame;

		buf_addc(line, ';');
		out_frame_text(profile, frame, line);
		buf_adds(line, out_kind_suffix(profile_frame(profile, frame)->kind));
	}
}

/* Adds up the samples by the text of their line. */
static int fold(const struct profile *profile, struct lines *lines)
{
	autofree uint32_t *nodes = calloc(greatest_depth(profile) + 1, sizeof(*nodes));
	autobuf struct buf line = { 0 };
	int err = nodes ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES) && !err; i++) {
		const struct profile_sample *sample = profile_sample(profile, i);

		buf_clear(&line);
		out_comm_text(profile, i, &line);
		add_stack(profile, sample->stack, nodes, &line);
		err = buf_error(&line);
		err = err ? err : lines_add(lines, line.data, line.len, sample->value);
	}
	return err;
}

int out_folded(const struct profile *profile, struct buf *out)
{
	struct lines lines = { 0 };
	int err = fold(profile, &lines);

	if (!err) {
		lines_sort_hottest_first(&lines);
		for (size_t i = 0; i < lines.len; i++)
			buf_addf(out, "%s %" PRIu64 "\n", lines.list[i].text, lines.list[i].count);
		err = buf_error(out);
	}
	lines_free(&lines);
	return err;
}
