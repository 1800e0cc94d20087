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
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/index.h"
#include "base/intern.h"
#include "base/text.h"
#include "out/lines.h"
#include "out/paths.h"
#include "profile/profile.h"

#define AHEAD 8 /* lines whose frames are fetched while others are written */

/* A line to be: samples that look alike. */
struct one {
	uint64_t count;
	uint64_t rank; /* among all lines */
	uint32_t comm; /* text; NONE: it has none */
	uint32_t path;
};

struct folded {
	const struct profile *profile;
	struct paths paths;
	struct one *list;
	struct index index;
	uint32_t len; /* from 1 on */
};

static uint32_t hash_line(uint32_t comm, uint32_t path)
{
	return index_hash(index_mix((uint64_t)comm << 32 | path, 0x9e3779b97f4a7c15ULL));
}

static int add_line(struct folded *folded, uint32_t comm, uint32_t path, uint64_t count)
{
	uint32_t hash = hash_line(comm, path), number;
	size_t at = index_start(&folded->index, hash);

	if (!count) /* it says nothing */
		return 0;
	while ((number = index_next(&folded->index, hash, &at)))
		if (folded->list[number].comm == comm && folded->list[number].path == path) {
			folded->list[number].count += count;
			return 0;
		}
	folded->list[folded->len] = (struct one){ .count = count, .comm = comm, .path = path };
	return index_add(&folded->index, hash, folded->len++);
}

/* Samples of one process come one after the other: its name is not looked up for each. */
static int add_samples(struct folded *folded)
{
	uint32_t count = profile_count(folded->profile, PROFILE_SAMPLES), comm = PROFILE_NONE;
	const struct profile_sample *before = profile_sample(folded->profile, 0);
	autobuf struct buf text = { 0 };
	int err = 0;

	folded->len = 1;
	folded->list = calloc(count, sizeof(*folded->list));
	if (!folded->list)
		return -ENOMEM;
	for (uint32_t i = 1; i < count && !err; i++) {
		const struct profile_sample *sample = profile_sample(folded->profile, i);

		if (!out_has_comm(folded->profile, i)) {
			comm = PROFILE_NONE;
		} else if (i == 1 || sample->process != before->process || sample->comm != before->comm || !comm) {
			buf_clear(&text);
			out_comm_text(folded->profile, i, &text);
			comm = paths_text(&folded->paths, &text);
			if (comm == UINT32_MAX)
				return -ENOMEM;
		}
		err = add_line(folded, comm, paths_of(&folded->paths, sample->stack), sample->value);
		before = sample;
	}
	return err;
}

/* The text of the root-most frame. */
static uint32_t first_text(const struct paths *paths, uint32_t path)
{
	while (paths->nodes[path].parent)
		path = paths->nodes[path].parent;
	return paths->made ? paths->nodes[path].frame : paths->text_of[paths->nodes[path].frame];
}

static int rank_lines(struct folded *folded)
{
	autofree unsigned char *ends = calloc(folded->paths.len, 1);
	int err;

	if (!ends)
		return -ENOMEM;
	for (uint32_t i = 1; i < folded->len; i++)
		ends[folded->list[i].path] = 1;
	err = paths_rank(&folded->paths, ends);
	for (uint32_t i = 1; i < folded->len && !err; i++) {
		struct one *line = &folded->list[i];
		uint32_t first = line->comm ? line->comm : first_text(&folded->paths, line->path);
		bool more = line->comm ? line->path : folded->paths.nodes[line->path].parent;

		line->rank = (uint64_t)paths_text_rank(&folded->paths, first, more) << 32 |
			     paths_path_rank(&folded->paths, line->path);
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct one *left = a, *right = b;

	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return (left->rank > right->rank) - (left->rank < right->rank);
}

static int write_lines(struct folded *folded, struct buf *out)
{
	int err = 0;

	qsort(folded->list + 1, folded->len - 1, sizeof(*folded->list), compare);
	for (uint32_t i = 1; i < folded->len && !err; i++) {
		const struct one *line = &folded->list[i];

		if (i + AHEAD < folded->len)
			paths_fetch(&folded->paths, folded->list[i + AHEAD].path);
		if (line->comm) {
			size_t len;
			const char *comm = intern_get(folded->paths.texts, line->comm, &len);

			buf_add(out, comm, len);
			if (line->path)
				buf_addc(out, ';');
		}
		err = paths_add(&folded->paths, line->path, out);
		buf_addc(out, ' ');
		text_number(out, line->count);
		buf_addc(out, '\n');
	}
	return err ? err : buf_error(out);
}

static int write_ranked(const struct profile *profile, struct buf *out)
{
	struct folded folded = { .profile = profile };
	int err = paths_init(&folded.paths, profile);

	err = err ? err : add_samples(&folded);
	err = err ? err : rank_lines(&folded);
	index_free(&folded.index);
	err = err ? err : write_lines(&folded, out);
	paths_free(&folded.paths);
	free(folded.list);
	return err;
}

/*
 * Where some samples are somebody's and others nobody's, a name and a root-most frame may be the same text: such lines
 * are told apart by their text alone.
 */
static int write_mixed(const struct profile *profile, struct buf *out)
{
	autobuf struct buf text = { 0 };
	struct lines lines = { 0 };
	struct paths paths = { 0 };
	int err = paths_init(&paths, profile);

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES) && !err; i++) {
		const struct profile_sample *sample = profile_sample(profile, i);

		buf_clear(&text);
		if (out_has_comm(profile, i)) {
			out_comm_text(profile, i, &text);
			if (sample->stack)
				buf_addc(&text, ';');
		}
		err = paths_add(&paths, paths_of(&paths, sample->stack), &text);
		err = err ? err : buf_error(&text);
		err = err ? err : lines_add(&lines, text.data, text.len, sample->value);
	}
	lines_sort_hottest_first(&lines);
	for (size_t i = 0; i < lines.len && !err; i++) {
		buf_adds(out, lines.list[i].text);
		buf_addc(out, ' ');
		text_number(out, lines.list[i].count);
		buf_addc(out, '\n');
		err = buf_error(out);
	}
	paths_free(&paths);
	lines_free(&lines);
	return err;
}

int out_folded(const struct profile *profile, struct buf *out)
{
	bool somebodys = false, nobodys = false;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++) {
		bool has = out_has_comm(profile, i);

		somebodys |= has;
		nobodys |= !has;
	}
	return somebodys && nobodys ? write_mixed(profile, out) : write_ranked(profile, out);
}
