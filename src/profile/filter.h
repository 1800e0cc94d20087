/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing stacks by their frames, as pprof does: focus keeps the stacks that have a matching frame, ignore drops
 * those that have one, hide takes matching frames out (a stack of which nothing is left is dropped). And by process:
 * its pid, or its name. Patterns are POSIX extended regular expressions, matched anywhere in a text.
 */
#ifndef WICK_PROFILE_FILTER_H
#define WICK_PROFILE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct filter;
struct profile;

struct filter_options {
	const char *focus, *ignore, *hide; /* NULL: not asked for */
	const char *process;
};

/* Appends a text of a frame that patterns are matched with. */
typedef void filter_text(const struct profile *profile, unsigned int frame, struct buf *out);

static inline bool filter_asked(const struct filter_options *options)
{
	return options->focus || options->ignore || options->hide || options->process;
}

/* -EINVAL with fail() set if a pattern is not one. */
int filter_new(struct filter **ret, const struct filter_options *options);
void filter_free(struct filter *filter);

/*
 * A new profile with what passes: its samples and their events, and all that they refer to. Meta data and counters
 * are those of the whole, as they tell how it was recorded. `texts` ends with NULL; a frame matches if one of its
 * texts does.
 */
int filter_apply(const struct filter *filter, const struct profile *from, filter_text *const *texts,
		 struct profile **ret);

#endif
