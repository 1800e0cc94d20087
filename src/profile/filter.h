/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing samples, as pprof does: focus keeps the stacks that have a matching frame, hide takes matching frames out (a
 * stack of which nothing is left is dropped); by what was running, and by who ran it. A text is matched with a POSIX
 * extended regular expression, anywhere in it ((?i) in front: whatever the case), or has to be equal.
 */
#ifndef WICK_PROFILE_FILTER_H
#define WICK_PROFILE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct filter;
struct profile;

enum filter_key {
	FILTER_FOCUS,   /* a frame of the stack: its name, or its module where it is an expression */
	FILTER_HIDE,    /* likewise */
	FILTER_MODULE,  /* that of the frame that was running */
	FILTER_KIND,    /* likewise: native, kernel, JIT, vDSO, inlined, incomplete, unknown, no stack */
	FILTER_PROCESS, /* the name of the process or of its thread, NAME (PID), or the pid */
	FILTER_THREAD,  /* NAME (PID/TID), or the tid */
	FILTER_LABEL,   /* its value; of a container's id also the first 12 digits; [no LABEL] if it has none */
};

/*
 * Of those that choose by what was running or who ran it, the ones of one key are alternatives; everything else narrows
 * further.
 */
struct filter_term {
	enum filter_key key;
	bool except;       /* all but these; of all keys but FILTER_HIDE */
	bool exact;        /* the text, not an expression */
	const char *label; /* of FILTER_LABEL: which */
	const char *text;
};

#define FILTER_TERMS_MAX 24

struct filter_options {
	const char *focus, *ignore, *hide, *process; /* expressions; NULL: not asked for */
	size_t terms_len;
	struct filter_term terms[FILTER_TERMS_MAX - 4]; /* further ones */
};

/* Appends a text of a frame that terms are matched with. */
typedef void filter_text(const struct profile *profile, unsigned int frame, struct buf *out);
struct filter_texts {
	filter_text *name, *module;
};

static inline bool filter_asked(const struct filter_options *options)
{
	return options->focus || options->ignore || options->hide || options->process || options->terms_len;
}

/* -EINVAL with fail() set if a pattern is not one. The texts of its options have to stay. */
int filter_new(struct filter **ret, const struct filter_options *options, const struct filter_texts *texts);
void filter_free(struct filter *filter);
/* Whether it asks for anything of stacks, or of who ran. NULL: neither. */
bool filter_of_stacks(const struct filter *filter);
bool filter_of_tasks(const struct filter *filter);

/*
 * A new profile with what passes: its samples and their events, and all that they refer to. Meta data and counters
 * are those of the whole, as they tell how it was recorded.
 */
int filter_apply(const struct filter *filter, const struct profile *from, struct profile **ret);

#endif
