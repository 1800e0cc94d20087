/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flame graphs: a profile, or two to compare, becomes one SVG file with everything in it. Rectangles, titles and
 * colours are those that flamegraph.pl gives the folded form of the profile. The same profile and options give the same
 * bytes.
 */
#ifndef WICK_OUT_SVG_H
#define WICK_OUT_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct profile;
struct svg_map;

#define SVG_WIDTH 1200
#define SVG_PALETTES "hot mem io wakeup chain java js perl red green blue aqua yellow purple orange"
#define SVG_BACKGROUNDS "yellow blue green grey"

struct svg_options {
	const char *title, *subtitle, *notes; /* NULL: the usual title; no such text */
	const char *countname;                /* what is counted: "samples"; NULL: the profile's unit */
	const char *nametype;                 /* what stands before a name in the line of details: "Function:" */
	const char *fonttype;
	double fontsize;
	double fontwidth;     /* of a character, relative to fontsize */
	unsigned width;       /* 0: SVG_WIDTH, and in a browser as wide as the window */
	unsigned height;      /* of a frame */
	double minwidth;      /* narrower frames are not drawn: pixels, */
	bool minwidth_share;  /* or percent of the whole */
	const char *colors;   /* one of SVG_PALETTES */
	const char *bgcolors; /* one of SVG_BACKGROUNDS, #rrggbb; NULL: of the palette, or dark as the browser is */
	uint64_t total;       /* what the whole width stands for, if that is more than there is */
	double factor;        /* that counts are shown times */
	bool hash;            /* colours by the beginning and the end of names */
	bool inverted;        /* root on top */
	bool reverse;         /* merged from the leaves */
	bool negate;          /* of a comparison: what grew is blue */
	bool normalize;       /* of a comparison: as if both had been equally long */
	struct svg_map *map;  /* colours to keep; NULL: none */
};

#define SVG_DEFAULTS                                    \
	((struct svg_options){ .nametype = "Function:", \
			       .fonttype = "monospace", \
			       .fontsize = 12,          \
			       .fontwidth = 0.61,       \
			       .height = 16,            \
			       .minwidth = 0.1,         \
			       .factor = 1,             \
			       .colors = "hot" })

/* -EINVAL with fail() set for an option that makes no sense, so that it is known before sampling. */
int svg_check(const struct svg_options *options);

int svg_write(const struct profile *profile, const struct svg_options *options, struct buf *out);

/* `before` NULL: as svg_write. Widths are those of `after`; a frame is red if it grew of itself, blue if it shrank. */
int out_svg_diff(const struct profile *before, const struct profile *after, const struct svg_options *options,
		 struct buf *out);

/*
 * Colours that names keep from one graph to the next, as text `name->rgb(r,g,b)` a line. What is drawn with a map is
 * in it afterwards.
 */
int svg_map_new(struct svg_map **ret);
void svg_map_free(struct svg_map *map);
int svg_map_read(struct svg_map *map, const char *data,
		 size_t len); /* -EINVAL with fail() set: the line that is none */
int svg_map_write(const struct svg_map *map, struct buf *out);

#endif
