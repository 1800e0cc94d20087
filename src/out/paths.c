/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders paths as their texts would be ordered byte by byte. In: a profile. Out: a rank for each path that ends a
 * line.
 *
 * The texts of frames are sorted once; with their ranks the children of every node are put in order by two counting
 * sorts, and a walk in that order numbers the paths. So the time is that of the tree, not that of the text of all
 * lines; and of the tree only where lines part or end. A line that ends in `a` comes before one that goes on with `a!`,
 * and that before `a;b`: hence two ranks for each text.
 */
#include "out/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/index.h"
#include "base/intern.h"
#include "out/out.h"
#include "profile/profile.h"

#define SEPARATOR ';'

void paths_free(struct paths *paths)
{
	intern_free(paths->texts);
	free(paths->text_of);
	free(paths->made);
	free(paths->path_of);
	free(paths->places);
	free(paths->ranks);
	free(paths->text_ranks);
	*paths = (struct paths){ 0 };
}

uint32_t paths_text(struct paths *paths, const struct buf *text)
{
	return buf_error(text) ? UINT32_MAX : intern_bytes(paths->texts, text->data, text->len);
}

static int name_frames(struct paths *paths, const struct profile *profile)
{
	uint32_t count = profile_count(profile, PROFILE_FRAMES);
	autobuf struct buf text = { 0 };

	paths->text_of = calloc(count, sizeof(*paths->text_of));
	if (!paths->text_of || intern_new(&paths->texts))
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		buf_clear(&text);
		out_folded_frame(profile, i, &text);
		paths->text_of[i] = paths_text(paths, &text);
		if (paths->text_of[i] == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

/* Number 0 is the empty text, which one frame may have too. */
static bool texts_differ(const struct paths *paths, uint32_t frames)
{
	bool empty = false;

	for (uint32_t i = 1; i < frames; i++) {
		if (!paths->text_of[i] && empty)
			return false;
		empty |= !paths->text_of[i];
	}
	return intern_count(paths->texts) + empty == frames;
}

/* The tree anew, of texts instead of frames. */
static int merge(struct paths *paths, const struct profile *profile)
{
	uint32_t count = profile_count(profile, PROFILE_NODES);
	struct index index = { 0 };
	int err = 0;

	paths->made = calloc(count, sizeof(*paths->made));
	paths->path_of = calloc(count, sizeof(*paths->path_of));
	if (!paths->made || !paths->path_of)
		return -ENOMEM;
	paths->len = 1;
	for (uint32_t i = 1; i < count && !err; i++) {
		const struct profile_node *node = profile_node(profile, i);
		struct profile_node path = { paths->path_of[node->parent], paths->text_of[node->frame] };
		uint32_t hash = index_hash(index_mix((uint64_t)path.parent << 32 | path.frame, 0x9e3779b97f4a7c15ULL));
		size_t at = index_start(&index, hash);
		uint32_t found;

		while ((found = index_next(&index, hash, &at)))
			if (paths->made[found].parent == path.parent && paths->made[found].frame == path.frame)
				break;
		if (!found) {
			found = paths->len++;
			paths->made[found] = path;
			err = index_add(&index, hash, found);
		}
		paths->path_of[i] = found;
	}
	index_free(&index);
	paths->nodes = paths->made;
	return err;
}

int paths_init(struct paths *paths, const struct profile *profile)
{
	int err = name_frames(paths, profile);

	if (err)
		return err;
	if (profile_count(profile, PROFILE_NODES) > UINT32_MAX / 2) /* twice a path must be a number too */
		return -EFBIG;
	if (!texts_differ(paths, profile_count(profile, PROFILE_FRAMES)))
		return merge(paths, profile);
	paths->nodes = profile_node(profile, 0);
	paths->len = profile_count(profile, PROFILE_NODES);
	return 0;
}

static uint32_t text_at(const struct paths *paths, uint32_t path)
{
	uint32_t frame = paths->nodes[path].frame;

	return paths->made ? frame : paths->text_of[frame];
}

/* A text as the end of a line, or with a separator behind it. */
struct key {
	const char *data;
	size_t len;
	uint32_t number; /* in text_ranks: its lowest bit tells which of the two it is */
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *left = a, *right = b;
	size_t least = left->len < right->len ? left->len : right->len;
	int order = memcmp(left->data, right->data, least), left_next, right_next;

	if (order)
		return order;
	left_next = left->len > least ? (unsigned char)left->data[least] : left->number & 1 ? SEPARATOR : -1;
	right_next = right->len > least ? (unsigned char)right->data[least] : right->number & 1 ? SEPARATOR : -1;
	return left_next - right_next;
}

static int rank_texts(struct paths *paths)
{
	size_t count = (size_t)intern_count(paths->texts) * 2;
	autofree struct key *keys = calloc(count, sizeof(*keys));

	paths->text_ranks = calloc(count, sizeof(*paths->text_ranks));
	if (!keys || !paths->text_ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		keys[i].data = intern_get(paths->texts, i / 2, &keys[i].len);
		keys[i].number = i;
	}
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (uint32_t i = 0; i < count; i++)
		paths->text_ranks[keys[i].number] = i;
	return 0;
}

/*
 * The tree without what makes no difference to the order: left are paths that end a line and those where lines part,
 * each with all that leads to it from the one before. A path keeps one number, `places`: of one that is left its place
 * here, of another the first path of the way that it is on.
 */
struct fork {
	uint32_t head;   /* the first path of the way here */
	uint32_t parent; /* fork */
	bool alone;      /* the way is that path alone */
	bool ends, inner;
};

struct forks {
	struct fork *list;
	uint32_t len;
};

enum mark { MARK_END = 1, MARK_CHILD = 2, MARK_CHILDREN = 4 };

static bool is_fork(unsigned char mark)
{
	return mark & (MARK_END | MARK_CHILDREN);
}

static int find_forks(struct paths *paths, const unsigned char *marks, struct forks *forks)
{
	uint32_t count = 1;

	for (uint32_t i = 1; i < paths->len; i++)
		count += is_fork(marks[i]);
	forks->list = calloc(count, sizeof(*forks->list));
	paths->places = malloc(paths->len * sizeof(*paths->places));
	if (!forks->list || !paths->places)
		return -ENOMEM;
	paths->places[0] = 0;
	forks->list[0].inner = true;
	forks->len = 1;
	for (uint32_t i = 1; i < paths->len; i++) {
		uint32_t parent = paths->nodes[i].parent;
		uint32_t head = !parent || is_fork(marks[parent]) ? i : paths->places[parent];

		paths->places[i] = is_fork(marks[i]) ? forks->len : head;
		if (is_fork(marks[i]))
			forks->list[forks->len++] = (struct fork){ .head = head,
								   .parent = paths->places[paths->nodes[head].parent],
								   .alone = head == i,
								   .ends = marks[i] & MARK_END,
								   .inner = marks[i] & MARK_CHILD };
	}
	return 0;
}

/* What follows a fork in the order: lines that end at a child, and the children's own children. */
struct steps {
	uint32_t *list;   /* 2 * fork, one more if it stands for what is below it; by parent, then by rank */
	uint32_t *starts; /* by parent: where its steps begin; one more at the end */
	uint32_t *next;   /* by parent: where the walk is in them */
	uint32_t len;
};

/* Behind a longer way the text is followed by more in both steps of a fork, which stay in order: the end first. */
static uint32_t step_rank(const struct paths *paths, const struct fork *fork, uint32_t step)
{
	return paths->text_ranks[2 * text_at(paths, fork->head) + (!fork->alone || (step & 1))];
}

/* Sums that lead to places: starts[i] becomes where those of i begin. */
static void add_up(uint32_t *starts, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i++) {
		uint32_t count = starts[i];

		starts[i] = sum;
		sum += count;
	}
}

/* All steps, in order of their ranks. */
static int list_steps(const struct paths *paths, const struct forks *forks, struct steps *steps)
{
	size_t ranks = (size_t)intern_count(paths->texts) * 2;
	autofree uint32_t *places = calloc(ranks + 1, sizeof(*places));

	steps->list = NULL;
	if (!places)
		return -ENOMEM;
	for (uint32_t i = 1; i < forks->len; i++) {
		const struct fork *fork = &forks->list[i];

		if (fork->ends)
			places[step_rank(paths, fork, 0)]++;
		if (fork->inner)
			places[step_rank(paths, fork, 1)]++;
	}
	add_up(places, ranks + 1);
	steps->len = places[ranks];
	steps->list = calloc((size_t)steps->len + 1, sizeof(*steps->list));
	if (!steps->list)
		return -ENOMEM;
	for (uint32_t i = 1; i < forks->len; i++) {
		const struct fork *fork = &forks->list[i];

		if (fork->ends)
			steps->list[places[step_rank(paths, fork, 0)]++] = 2 * i;
		if (fork->inner)
			steps->list[places[step_rank(paths, fork, 1)]++] = 2 * i + 1;
	}
	return 0;
}

/* Puts the steps of each parent together; their order stays. */
static int group_steps(const struct forks *forks, struct steps *steps)
{
	uint32_t *grouped = calloc((size_t)steps->len + 1, sizeof(*grouped));

	steps->starts = calloc((size_t)forks->len + 2, sizeof(*steps->starts));
	if (!grouped || !steps->starts) {
		free(grouped);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < steps->len; i++)
		steps->starts[forks->list[steps->list[i] / 2].parent + 1]++;
	add_up(steps->starts + 1, forks->len + 1);
	/* Placing moves each start on to the next one's: hence they are counted one place further up. */
	for (uint32_t i = 0; i < steps->len; i++)
		grouped[steps->starts[forks->list[steps->list[i] / 2].parent + 1]++] = steps->list[i];
	free(steps->list);
	steps->list = grouped;
	steps->next = malloc(((size_t)forks->len + 1) * sizeof(*steps->next));
	if (!steps->next)
		return -ENOMEM;
	memcpy(steps->next, steps->starts, ((size_t)forks->len + 1) * sizeof(*steps->next));
	return 0;
}

/* Numbers the ends in the order of the walk. */
static void walk(const struct forks *forks, struct steps *steps, uint32_t *ranks)
{
	uint32_t at = 0, rank = 0;

	for (;;) {
		if (steps->next[at] == steps->starts[at + 1]) { /* this one is done: up */
			if (!at)
				return;
			at = forks->list[at].parent;
		} else {
			uint32_t step = steps->list[steps->next[at]++];

			if (step & 1)
				at = step / 2;
			else
				ranks[step / 2] = rank++;
		}
	}
}

int paths_rank(struct paths *paths, unsigned char *ends)
{
	struct forks forks = { 0 };
	struct steps steps = { 0 };
	int err;

	for (uint32_t i = 1; i < paths->len; i++) {
		unsigned char *mark = &ends[paths->nodes[i].parent];

		*mark |= *mark & MARK_CHILD ? MARK_CHILDREN : MARK_CHILD;
	}
	err = find_forks(paths, ends, &forks);
	paths->ranks = err ? NULL : calloc(forks.len, sizeof(*paths->ranks));
	err = err || paths->ranks ? err : -ENOMEM;
	err = err ? err : rank_texts(paths);
	err = err ? err : list_steps(paths, &forks, &steps);
	err = err ? err : group_steps(&forks, &steps);
	if (!err)
		walk(&forks, &steps, paths->ranks);
	free(forks.list);
	free(steps.list);
	free(steps.starts);
	free(steps.next);
	return err;
}

void paths_fetch(const struct paths *paths, uint32_t path)
{
	/* Nodes of a stack were added one after the other: it lies before its leaf, in few lines of the cache. */
	__builtin_prefetch(&paths->nodes[path]);
	__builtin_prefetch(&paths->nodes[path > 8 ? path - 8 : 0]);
	__builtin_prefetch(&paths->nodes[path > 16 ? path - 16 : 0]);
}

int paths_add(const struct paths *paths, uint32_t path, struct buf *out)
{
	size_t len = 0, one;
	char *end;

	for (uint32_t at = path; at; at = paths->nodes[at].parent) {
		intern_get(paths->texts, text_at(paths, at), &one);
		len += one + 1;
	}
	len -= len > 0; /* none before the first */
	end = buf_space(out, len);
	if (!end)
		return buf_error(out);
	for (end += len; path; path = paths->nodes[path].parent) {
		const char *text = intern_get(paths->texts, text_at(paths, path), &one);

		end -= one;
		memcpy(end, text, one);
		if (paths->nodes[path].parent)
			*--end = SEPARATOR;
	}
	return 0;
}
