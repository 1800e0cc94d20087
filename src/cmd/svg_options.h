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
	const char *countname, *nametype, *colors, *bgcolors, *notes, *total, *factor;
	bool hash, cp, inverted, reverse, negate;
};

/* Each option once, for the tables of commands: ROW(name, value, reader, field of struct svg_arguments, help, hint). */
#define SVG_OPTIONS(ROW)                                                                                       \
	ROW("title", "TEXT", opt_text, title, "svg: its title", NULL)                                          \
	ROW("subtitle", "TEXT", opt_text, subtitle, "svg: a second line under the title", NULL)                \
	ROW("height", "PIXELS", opt_text, height, "svg: of each frame (16)", NULL)                             \
	ROW("minwidth", "PIXELS", opt_text, minwidth, "svg: narrower frames are not drawn (0.1); or N%", NULL) \
	ROW("colors", "PALETTE", opt_text, colors, "svg: " SVG_PALETTES " (hot)", SVG_PALETTES)                \
	ROW("bgcolors", "COLOR", opt_text, bgcolors, "svg: behind it, " SVG_BACKGROUNDS " or #rrggbb",         \
	    SVG_BACKGROUNDS)                                                                                   \
	ROW("hash", NULL, opt_flag, hash, "svg: similar names have similar colours", NULL)                     \
	ROW("cp", NULL, opt_flag, cp, "svg: colours are kept in palette.map, for the next one", NULL)          \
	ROW("inverted", NULL, opt_flag, inverted, "svg: root on top", NULL)                                    \
	ROW("reverse", NULL, opt_flag, reverse, "svg: merge from the leaves", NULL)                            \
	ROW("fonttype", "FONT", opt_text, fonttype, "svg: font (monospace)", NULL)                             \
	ROW("fontsize", "PIXELS", opt_text, fontsize, "svg: size of text (12)", NULL)                          \
	ROW("fontwidth", "RATIO", opt_text, fontwidth, "svg: width of a character by that size (0.61)", NULL)  \
	ROW("countname", "TEXT", opt_text, countname, "svg: what is counted (samples)", NULL)                  \
	ROW("nametype", "TEXT", opt_text, nametype, "svg: what stands before a name (Function:)", NULL)        \
	ROW("total", "COUNT", opt_text, total, "svg: what the whole width stands for (all there is)", NULL)    \
	ROW("factor", "NUMBER", opt_text, factor, "svg: show counts times this (1)", NULL)                     \
	ROW("notes", "TEXT", opt_text, notes, "svg: a description inside the file", NULL)

/* Where no report has that name. */
#define SVG_WIDTH_OPTION(ROW) \
	ROW("width", "PIXELS", opt_text, width, "svg: a fixed width (1200, and as the window in a browser)", NULL)

/* Where two profiles are compared. */
#define SVG_DIFF_OPTIONS(ROW) ROW("negate", NULL, opt_flag, negate, "svg: of a difference, blue is what grew", NULL)

/* -EINVAL with fail() set for what makes no sense. Texts point into the arguments. Free it in any case. */
int svg_arguments_read(const struct svg_arguments *arguments, struct svg_options *ret);
void svg_options_free(struct svg_options *options);

/* The same; -EINVAL with fail() set also for an option that was given although no graph is drawn. */
int svg_arguments_use(const struct svg_arguments *arguments, bool drawn, struct svg_options *ret);
/* How flame graphs among the outputs look. */
int svg_arguments_shape(const struct svg_arguments *arguments, struct svg_options *ret, struct outputs *outputs);

/* Writes the colours that were asked to be kept, if any were. */
int svg_options_keep(const struct svg_options *options);

#endif
