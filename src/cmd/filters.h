/* SPDX-License-Identifier: Apache-2.0 */
/* The options that choose samples, for every command that reads profiles: rows of its table, and how they are used. */
#ifndef WICK_CMD_FILTERS_H
#define WICK_CMD_FILTERS_H

#include "base/opt.h"
#include "profile/filter.h"

struct input_options;
struct kept_options;
struct profile;
struct store_range;

/* Each option once: ROW(name, value, reader, field of struct filter_options, help, hint). */
#define FILTER_OPTIONS(ROW)                                                               \
	ROW("focus", "REGEX", opt_text, focus, "only stacks with a matching frame", NULL) \
	ROW("ignore", "REGEX", opt_text, ignore, "no stacks with a matching frame", NULL) \
	ROW("hide", "REGEX", opt_text, hide, "take matching frames out of stacks", NULL)  \
	ROW("process", "PID|REGEX", opt_text, process, "only processes with this pid or a matching name", NULL)

/* -EINVAL with fail() set for a pattern that is none. */
int filters_check(const struct filter_options *options);

/* Replaces the profile by what the options leave of it; if they ask for nothing it stays. */
int filters_apply(const struct filter_options *options, struct profile **profile);

/* Reads a profile and filters it. */
int filters_read(const struct filter_options *options, const struct input_options *input, const char *path,
		 struct profile **ret);
/* The same as input_read_both does it. */
int filters_read_both(const struct filter_options *options, const struct input_options *input, const char *path,
		      struct profile **ret, struct profile **ret_before);
/* Of what is kept. */
int filters_kept(const struct filter_options *options, const struct kept_options *kept, const struct store_range *range,
		 struct profile **ret);

#endif
