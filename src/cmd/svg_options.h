/* SPDX-License-Identifier: Apache-2.0 */
/* The options that shape a flame graph, for every command that draws one: rows of its table, and how they are read. */
#ifndef WICK_CMD_SVG_OPTIONS_H
#define WICK_CMD_SVG_OPTIONS_H

#include <stdbool.h>

#include "base/opt.h"
#include "out/svg.h"

struct outputs;

/* As given. */
struct svg_arguments {
	const char *title, *subtitle, *width, *height, *minwidth, *fonttype, *fontsize, *fontwidth;
	const char *countname, *nametype, *colors, *bgcolors, *notes;
	bool hash, cp, inverted, reverse, negate;
};

/* Each option once, for the tables of commands: ROW(name, value, reader, field of struct svg_arguments, help, hint). */
#define SVG_OPTIONS(ROW)                                                                                               \
	ROW("title", "TEXT", opt_text, title, "flame graph: its title", NULL)                                          \
	ROW("subtitle", "TEXT", opt_text, subtitle, "flame graph: a second line under the title", NULL)                \
	ROW("height", "PIXELS", opt_text, height, "flame graph: of each frame (16)", NULL)                             \
	ROW("minwidth", "PIXELS", opt_text, minwidth, "flame graph: narrower frames are not drawn (0.1); or N%", NULL) \
	ROW("colors", "PALETTE", opt_text, colors, "flame graph: " SVG_PALETTES " (hot)", SVG_PALETTES)                \
	ROW("bgcolors", "COLOR", opt_text, bgcolors, "flame graph: behind it, " SVG_BACKGROUNDS " or #rrggbb",         \
	    SVG_BACKGROUNDS)                                                                                           \
	ROW("hash", NULL, opt_flag, hash, "flame graph: similar names, similar colors", NULL)                          \
	ROW("cp", NULL, opt_flag, cp, "flame graph: colors are kept in palette.map, for the next one", NULL)           \
	ROW("inverted", NULL, opt_flag, inverted, "flame graph: root on top", NULL)                                    \
	ROW("reverse", NULL, opt_flag, reverse, "flame graph: merge from the leaves", NULL)                            \
	ROW("fonttype", "FONT", opt_text, fonttype, "flame graph: font (monospace)", NULL)                             \
	ROW("fontsize", "PIXELS", opt_text, fontsize, "flame graph: size of text (12)", NULL)                          \
	ROW("fontwidth", "RATIO", opt_text, fontwidth, "flame graph: width of a character by that size (0.61)", NULL)  \
	ROW("countname", "TEXT", opt_text, countname, "flame graph: what is counted (samples)", NULL)                  \
	ROW("nametype", "TEXT", opt_text, nametype, "flame graph: what stands before a name (Function:)", NULL)        \
	ROW("notes", "TEXT", opt_text, notes, "flame graph: a description inside the file", NULL)

/* Where no report has that name. */
#define SVG_WIDTH_OPTION(ROW)                                                                                        \
	ROW("width", "PIXELS", opt_text, width, "flame graph: a fixed width (1200, and as the window in a browser)", \
	    NULL)

/* Where two profiles are compared. */
#define SVG_DIFF_OPTIONS(ROW) ROW("negate", NULL, opt_flag, negate, "flame graph: blue is what grew", NULL)

/* -EINVAL with fail() set for what makes no sense. Texts point into the arguments. Free it in any case. */
int svg_arguments_read(const struct svg_arguments *arguments, struct svg_options *ret);
void svg_options_free(struct svg_options *options);

/* How flame graphs among the outputs look. -EINVAL with fail() set also if there is none to shape. */
int svg_arguments_shape(const struct svg_arguments *arguments, struct svg_options *ret, struct outputs *outputs);

/* Writes the colours that were asked to be kept, if any were. */
int svg_options_keep(const struct svg_options *options);

#endif
