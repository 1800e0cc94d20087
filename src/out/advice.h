/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about each thing that can be missing in a profile. */
#ifndef WICK_OUT_ADVICE_H
#define WICK_OUT_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct profile;

struct advice {
	const char *group, *name; /* of the counter */
	const char *what;         /* what stands before its name: "cut: " */
	const char *words;
};

/* Does this counter, when it is not zero, tell of something missing? */
bool advice_is_problem(const char *group, const char *name);

/* Never NULL: a counter that is not known, from a newer wick, has general words. */
const struct advice *advice_find(const char *group, const char *name);

/* Appends "lost: ring 3" if that counter tells of something missing, with `words` the advice too; else false. */
bool advice_line(const struct profile *profile, uint32_t counter, bool words, struct buf *out);

/* Why frames of this kind (enum frame_kind) have no names where nothing else is known; may be empty. */
const char *advice_no_names(uint32_t kind);

#endif
