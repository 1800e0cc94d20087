/* SPDX-License-Identifier: Apache-2.0 */
/* The one list of formats that wick writes, found by the name given to -f or by the suffix of a file. */
#include "out/out.h"

#include <string.h>

const struct out_format out_formats[] = {
	{ "svg", ".svg", "a flame graph, for browsers", out_svg },
	{ "folded", ".folded", "one line a stack, for flame graphs", out_folded },
	{ "report", ".txt", "a summary for people", out_report },
	{ "wick", ".wick", "wick's own format: everything, for later and for elsewhere", out_wick },
	{ 0 },
};

const struct out_format *out_by_name(const char *name)
{
	for (const struct out_format *format = out_formats; format->name; format++)
		if (strcmp(format->name, name) == 0)
			return format;
	return NULL;
}

const struct out_format *out_by_path(const char *path)
{
	const struct out_format *best = NULL;
	size_t len = strlen(path);
	size_t best_len = 0;

	for (const struct out_format *format = out_formats; format->name; format++) {
		size_t suffix = strlen(format->suffix);

		/* A name that is nothing but the suffix is a hidden file, not one of that kind. */
		if (suffix <= best_len || len <= suffix || path[len - suffix - 1] == '/')
			continue;
		if (strcmp(path + len - suffix, format->suffix) == 0) {
			best = format;
			best_len = suffix;
		}
	}
	return best;
}
