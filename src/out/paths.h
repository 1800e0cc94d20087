/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a profile as texts: which of them look alike, and the order of their bytes, without writing any of them
 * out. A path is a node of the profile; where different frames have one text, their nodes become one path.
 */
#ifndef WICK_OUT_PATHS_H
#define WICK_OUT_PATHS_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct intern;
struct profile;
struct profile_node;

struct paths {
	struct intern *texts;             /* of frames, and what else is given to paths_text */
	uint32_t *text_of;                /* by frame */
	const struct profile_node *nodes; /* the tree of paths; its frames are texts if it is made anew */
	struct profile_node *made;        /* NULL: every frame has a text of its own, paths are the profile's nodes */
	uint32_t *path_of;                /* by node, if they are made anew */
	uint32_t *places;                 /* by path: of those that were asked for, their place in ranks */
	uint32_t *ranks;
	uint32_t *text_ranks; /* two for each text: as the end of a line, and with a separator behind it */
	uint32_t len;
};

int paths_init(struct paths *paths, const struct profile *profile); /* of {0} */
void paths_free(struct paths *paths);

static inline uint32_t paths_of(const struct paths *paths, uint32_t node)
{
	return paths->made ? paths->path_of[node] : node;
}

/* The number of another text, before paths_rank; UINT32_MAX if memory is out. */
uint32_t paths_text(struct paths *paths, const struct buf *text);

/* Finds the ranks of all texts, and of the paths of which ends[path] is 1, the others 0; it is used up. */
int paths_rank(struct paths *paths, unsigned char *ends);

static inline uint32_t paths_path_rank(const struct paths *paths, uint32_t path)
{
	return paths->ranks[paths->places[path]];
}

/* The text's place among all; `more`: a separator and other texts follow it. */
static inline uint32_t paths_text_rank(const struct paths *paths, uint32_t text, bool more)
{
	return paths->text_ranks[2 * text + more];
}

/* Begins to fetch what paths_add of this path will read. */
void paths_fetch(const struct paths *paths, uint32_t path);
/* Appends the frames from root to leaf with semicolons between them. */
int paths_add(const struct paths *paths, uint32_t path, struct buf *out);

#endif
