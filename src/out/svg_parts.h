/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the flame graph share among themselves. Others use out/svg.h. */
#ifndef WICK_OUT_SVG_PARTS_H
#define WICK_OUT_SVG_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct intern;
struct profile;
struct svg_options;

#define SVG_XPAD 10    /* beside the frames */
#define SVG_RGB_LEN 24 /* "rgb(255,255,255)" and its NUL, with room */

/* A frame of a path, of all samples that share the path from the root. Node 0 is the root of all. */
struct svg_node {
	uint64_t value; /* of what passes here */
	uint32_t parent;
	uint32_t first, next; /* its children and the next of its parent's, in no order; 0: none */
	uint32_t label;
};

/*
 * All paths of a profile, or of two. Labels are texts as in folded lines, with _[k] and the like at their end, harmless
 * to show; label 0 is the root.
 */
struct svg_tree {
	struct intern *labels;
	struct svg_node *nodes;
	uint64_t *before; /* of a comparison: the value before, beside each node; else NULL */
	uint32_t len, cap;
	uint64_t hidden; /* frames that were left out, because they are too narrow and stand on one that is */
	bool summed;     /* while it is built: values are those of what passes already */
	bool merged;     /* no two children of a node have the same label: else the layout has to merge them */
};

#define SVG_HIDDEN UINT32_MAX /* the label of a node that stands for all that was left out on its parent */

/* The least value of a frame that is drawn. */
double svg_least(uint64_t total, const struct svg_options *options);

int svg_tree_build(struct svg_tree *tree, const struct profile *before, const struct profile *after,
		   const struct svg_options *options); /* of {0}; `before` NULL: no comparison */
void svg_tree_free(struct svg_tree *tree);

/* A rectangle. Where it begins and how wide it is are values of samples. */
struct svg_frame {
	uint64_t start, value;
	int64_t delta; /* of a comparison */
	uint32_t label;
	uint32_t depth; /* the root has 0 */
	bool waker;     /* palette chain: behind a -- */
};

/* What is drawn: a frame stands before those on it, and those from left to right. */
struct svg_layout {
	struct svg_frame *frames;
	size_t len, cap;
	uint64_t total;
	uint64_t narrow;    /* frames that are too narrow to draw */
	uint64_t max_delta; /* of all frames; at least 1 */
	uint32_t depth;     /* the greatest that is drawn */
};

/* Merges equal children of the tree while it goes. */
int svg_layout_make(struct svg_layout *layout, struct svg_tree *tree, const struct svg_options *options); /* of {0} */
void svg_layout_free(struct svg_layout *layout);

/* rgb(...) of a label: by its palette, by the map if there is one, grey for - and --. */
int svg_colour(const struct svg_options *options, const char *label, size_t len, bool waker, char ret[SVG_RGB_LEN]);
/* The same for a change of that size. */
void svg_colour_change(const struct svg_options *options, int64_t delta, uint64_t max_delta, char ret[SVG_RGB_LEN]);
/* The colours that the background blends from and to. -EINVAL if there is no such background. */
int svg_background(const struct svg_options *options, const char *ret[2]);
bool svg_has_palette(const char *name);

/* Appends text so that it is harmless to show: what is no UTF-8 and what steers becomes \xNN. */
void svg_harmless(struct buf *out, const char *text, size_t len);
/* Appends harmless text for XML, in an element or an attribute. */
void svg_escape(struct buf *out, const char *text, size_t len);

/* Draws it. */
int svg_draw(const struct svg_layout *layout, const struct svg_tree *tree, const struct profile *profile,
	     const struct svg_options *options, struct buf *out);

#endif
