/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of other tools may count several things at once: objects and bytes, allocated and in use. One of these types
 * is shown: its values are those of the samples themselves, and all that reads a profile reads them. The others stand
 * here, beside the samples, and are carried along. What wick records has one type and no list: `len` is 0.
 */
#ifndef WICK_PROFILE_TYPES_H
#define WICK_PROFILE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

#define TYPES_MAX 64

struct type {
	uint32_t name, unit; /* strings */
};

struct types {
	struct type list[TYPES_MAX]; /* in the order of the file that had them */
	uint32_t len;                /* 0: what is counted is in the profile's meta alone */
	uint32_t shown;
	uint64_t *values; /* sample × len + type; those of `shown` are not kept here */
	size_t values_len, values_cap;
};

struct types *profile_types(const struct profile *profile);

/* What samples will have, before the first is added. -EINVAL if there are too many, or strings that do not exist. */
int types_set(struct profile *profile, const struct type *list, uint32_t len, uint32_t shown);
/* The values that are shown stay; it is not known any more that there were others. */
void types_drop(struct profile *profile);

/* Adds to the values of a sample that was added: one for each type, in order; that of `shown` is passed over. */
int types_add(struct profile *profile, uint32_t sample, const uint64_t *values);
uint64_t types_value(const struct profile *profile, uint32_t sample, uint32_t type);
/* Whether it counts for anything, in any type. */
bool types_counts(const struct profile *profile, uint32_t sample);

/* The type of that name; `len` of the list if there is none. */
uint32_t types_find(const struct profile *profile, const char *name);
/* Shows another one: samples, unit, event and what was counted become its own. */
int types_show(struct profile *profile, uint32_t type);
/* What meta says of it: samples/count is the unit `samples`. */
void types_name(struct profile *profile, uint32_t type);

/* Whether both have the same types and show the same one; also if neither has a list. */
bool types_equal(const struct profile *a, const struct profile *b);

/* Whether strings of two profiles say the same. */
bool types_same_text(const struct profile *a, uint32_t left, const struct profile *b, uint32_t right);

void types_free(struct types *types);

#endif
