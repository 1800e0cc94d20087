/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame graph from end to end: the tree of paths, the layout, the picture. In: a finished profile, or two. Out: SVG.
 * What can be wrong with the options is found here, before anything is drawn.
 */
#include "out/svg.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/fail.h"
#include "out/out.h"
#include "out/svg_parts.h"

/* It goes into the style sheet as it is. */
static bool is_font(const char *text)
{
	const char *at = text;

	while (isalnum((unsigned char)*at) || (*at && strchr(" ,-_'", *at)))
		at++;
	return *text && !*at;
}

int svg_check(const struct svg_options *options)
{
	const char *background[2];

	if (!svg_has_palette(options->colors))
		return fail_hint(fail_plain(-EINVAL, "--colors: '%s': no such palette", options->colors),
				 "there are " SVG_PALETTES);
	if (svg_background(options, background))
		return fail_hint(fail_plain(-EINVAL, "--bgcolors: '%s': no such background", options->bgcolors),
				 "there are " SVG_BACKGROUNDS ", and #rrggbb");
	if (!is_font(options->fonttype))
		return fail_plain(-EINVAL, "--fonttype: '%s' is not the name of a font", options->fonttype);
	return 0;
}

int out_svg_diff(const struct profile *before, const struct profile *after, const struct svg_options *options,
		 struct buf *out)
{
	struct svg_tree tree = { 0 };
	struct svg_layout layout = { 0 };
	int err = svg_check(options);

	err = err ? err : svg_tree_build(&tree, before, after, options);
	err = err ? err : svg_layout_make(&layout, &tree, options);
	err = err ? err : svg_draw(&layout, &tree, after, options, out);
	svg_layout_free(&layout);
	svg_tree_free(&tree);
	return err == -ENOMEM ? fail(err, "drawing a flame graph") : err;
}

int svg_write(const struct profile *profile, const struct svg_options *options, struct buf *out)
{
	return out_svg_diff(NULL, profile, options, out);
}

int out_svg(const struct profile *profile, struct buf *out)
{
	return svg_write(profile, &SVG_DEFAULTS, out);
}
