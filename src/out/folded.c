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
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "profile/profile.h"

struct line {
	const char *text;
	uint64_t count;
};

static const char *const suffixes[FRAME_KINDS] = {
	[FRAME_KERNEL] = "_[k]",
	[FRAME_JIT] = "_[j]",
	[FRAME_INLINE] = "_[i]",
};

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
		const char *suffix = suffixes[profile_frame(profile, frame)->kind];

		buf_addc(line, ';');
		out_frame_text(profile, frame, line);
		if (suffix)
			buf_adds(line, suffix);
	}
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *left = a, *right = b;

	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return strcmp(left->text, right->text);
}

/* Adds up the samples by the text of their line; the lines are as many as `texts` has numbers. */
static int fold(const struct profile *profile, struct intern *texts, struct line *lines)
{
	autofree uint32_t *nodes = calloc(greatest_depth(profile) + 1, sizeof(*nodes));
	autobuf struct buf line = { 0 };

	if (!nodes)
		return -ENOMEM;
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++) {
		const struct profile_sample *sample = profile_sample(profile, i);
		uint32_t number;

		buf_clear(&line);
		out_comm_text(profile, i, &line);
		add_stack(profile, sample->stack, nodes, &line);
		if (buf_error(&line))
			return buf_error(&line);
		number = intern_bytes(texts, line.data, line.len);
		if (number == UINT32_MAX)
			return -ENOMEM;
		lines[number].text = intern_get(texts, number, NULL);
		lines[number].count += sample->value;
	}
	return 0;
}

int out_folded(const struct profile *profile, struct buf *out)
{
	/* Numbers of texts begin at 1 too, and there are at most as many as samples. */
	autofree struct line *lines = calloc(profile_count(profile, PROFILE_SAMPLES), sizeof(*lines));
	struct intern *texts = NULL;
	int err = lines ? intern_new(&texts) : -ENOMEM;

	if (!err)
		err = fold(profile, texts, lines);
	if (!err) {
		uint32_t count = intern_count(texts);

		qsort(lines + 1, count - 1, sizeof(*lines), compare_lines);
		for (uint32_t i = 1; i < count && lines[i].count; i++)
			buf_addf(out, "%s %" PRIu64 "\n", lines[i].text, lines[i].count);
		err = buf_error(out);
	}
	intern_free(texts);
	return err;
}
