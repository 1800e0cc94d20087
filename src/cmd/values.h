/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options that more than one command takes. All return 0, or -EINVAL with fail() set. */
#ifndef WICK_CMD_VALUES_H
#define WICK_CMD_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct opt_list;

struct numbers {
	uint32_t *list; /* the caller frees it */
	size_t len;
};

/* "1,2" or, where ranges make sense, "0-3,8"; appended. `option` is how to call it in words. */
int value_numbers(const struct opt_list *items, const char *option, bool ranges, struct numbers *ret);

/* A number within bounds; NULL leaves *value as it is. `end` is what may stand behind one that may have a fraction. */
int value_whole(const char *text, const char *option, unsigned least, unsigned most, unsigned *value);
int value_number(const char *text, const char *option, const char *end, double least, double most, double *value);

/* Samples a second, as many as the kernel allows; a period between samples. */
int value_frequency(const char *text, uint64_t *ret_hz);
int value_period(const char *text, uint64_t *ret);

/* A number, or a size such as 4M, within bounds. NULL leaves *value as it is, which must be within them too. */
int value_limit(const char *text, const char *option, uint64_t least, uint64_t most, uint64_t *value);

#endif
