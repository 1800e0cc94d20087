/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what was asked of a report. In: words of the command line. Out: options for out/report.h, all checked,
 * patterns too, so that nothing is wrong with them after a recording.
 */
#include "cmd/report_options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fail.h"
#include "cmd/values.h"
#include "out/report.h"

#define WIDTH_MAX 10000

static int read_by(const char *text, enum tally_by *ret)
{
	static const char *const words[] = {
		[TALLY_PROCESS] = "process",     [TALLY_THREAD] = "thread", [TALLY_MODULE] = "module",
		[TALLY_CONTAINER] = "container", [TALLY_UNIT] = "unit",
	};

	if (!text)
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i] && !strcmp(words[i], text)) {
			*ret = (enum tally_by)i;
			return 0;
		}
	return fail_plain(-EINVAL, "--by: '%s' is not process, thread, module, container or unit", text);
}

const char *report_arguments_any(const struct report_arguments *arguments)
{
#define ROW(name, value, reader, field, help, hint) \
	if (arguments->field)                       \
		return name;
	REPORT_OPTIONS(ROW)
#undef ROW
	return NULL;
}

int report_arguments_read(const struct report_arguments *arguments, struct report_options *ret)
{
	int err;

	*ret = REPORT_DEFAULTS;
	ret->tree = arguments->tree;
	ret->quality = arguments->quality;
	ret->callers = arguments->callers;
	ret->filter = (struct filter_options){ .focus = arguments->focus,
					       .ignore = arguments->ignore,
					       .hide = arguments->hide,
					       .process = arguments->process };
	if (ret->quality && (ret->tree || ret->callers))
		return fail_plain(-EINVAL, "--quality: not together with --%s", ret->tree ? "tree" : "callers");
	err = value_whole(arguments->top, "top", 0, INT_MAX, &ret->top);
	err = err ? err : value_whole(arguments->width, "width", REPORT_WIDTH_MIN, WIDTH_MAX, &ret->width);
	err = err ? err : value_number(arguments->percent_limit, "percent-limit", "%", 0, 100, &ret->percent_limit);
	err = err ? err : read_by(arguments->by, &ret->by);
	return err ? err : report_check(ret);
}

void report_options_terminal(struct report_options *options)
{
	const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return;
	if (!options->width && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		options->width = size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
	options->colour = (!no_colour || !*no_colour) && terminal && strcmp(terminal, "dumb") != 0;
}
