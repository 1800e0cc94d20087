/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the first lines of /proc/stat: "cpu3 user nice system idle iowait irq softirq …", one for each CPU that is
 * online. Bounded, and no number is believed that no machine could reach; so nothing that is made of the numbers here,
 * or of these in microseconds, overflows.
 */
#include "proc/cputimes.h"

#include <string.h>

#define FIELDS 7
#define MOST ((uint64_t)1 << 48) /* hundredths of a second: 89,000 years */

/* A decimal number. NULL if there is none, or a larger one than can be. */
static const char *take_number(const char *at, const char *end, uint64_t *ret)
{
	const char *begin = at;
	uint64_t value = 0;

	for (; at < end && *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (uint64_t)(*at - '0');
		if (value > MOST)
			return NULL;
	}
	*ret = value;
	return at > begin ? at : NULL;
}

/* What follows "cpu". */
static bool parse_line(const char *at, const char *end, struct cputimes *ret)
{
	uint64_t cpu = CPUTIMES_ALL, field[FIELDS];

	if (at < end && *at != ' ') {
		at = take_number(at, end, &cpu);
		if (!at || cpu >= CPUTIMES_ALL)
			return false;
	}
	for (int i = 0; i < FIELDS; i++) {
		if (at == end || *at != ' ')
			return false;
		while (at < end && *at == ' ')
			at++;
		at = take_number(at, end, &field[i]);
		if (!at)
			return false;
	}
	ret->cpu = (uint32_t)cpu;
	ret->user = field[0] + field[1];
	ret->kernel = field[2] + field[5] + field[6];
	ret->idle = field[3] + field[4];
	return true;
}

bool cputimes_next(const char *text, size_t len, size_t *at, struct cputimes *ret)
{
	while (*at < len && len - *at >= 3 && !memcmp(text + *at, "cpu", 3)) {
		const char *begin = text + *at, *newline = memchr(begin, '\n', len - *at);
		const char *end = newline ? newline : text + len;

		*at = (size_t)(end - text) + 1;
		if (parse_line(begin + 3, end, ret))
			return true;
	}
	return false;
}
