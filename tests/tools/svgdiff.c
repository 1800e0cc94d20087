/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the difference of two profiles, for tests of the writer: svgdiff BEFORE AFTER [negate] [normalize] */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "cmd/input.h"
#include "out/svg.h"
#include "profile/profile.h"

int main(int argc, char **argv)
{
	struct profile *before = NULL, *after = NULL;
	struct svg_options options = SVG_DEFAULTS;
	autobuf struct buf out = { 0 };
	int err;

	if (argc < 3) {
		fprintf(stderr, "usage: svgdiff BEFORE AFTER [negate] [normalize]\n");
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		options.negate |= !strcmp(argv[i], "negate");
		options.normalize |= !strcmp(argv[i], "normalize");
	}
	err = input_read(&before, argv[1], &(struct input_options){ 0 });
	err = err ? err : input_read(&after, argv[2], &(struct input_options){ 0 });
	err = err ? err : out_svg_diff(before, after, &options, &out);
	if (err)
		fprintf(stderr, "svgdiff: %s\n", fail_text());
	else
		fwrite(out.data, 1, out.len, stdout);
	profile_free(before);
	profile_free(after);
	return err != 0;
}
