/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the values that commands have in common, and says what is wrong with them. */
#include "cmd/values.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/opt.h"
#include "base/text.h"

#define LIST_MAX 65536
#define PERIOD_MIN 10000 /* ns: the kernel does no less */

static int add_range(struct numbers *numbers, const char *option, uint64_t from, uint64_t to)
{
	uint32_t *grown;

	if (from > to || to > INT_MAX || to - from >= LIST_MAX || numbers->len + (to - from) >= LIST_MAX)
		return fail_plain(-EINVAL, "%s: %llu-%llu is not a range that can be", option, (unsigned long long)from,
				  (unsigned long long)to);
	grown = reallocarray(numbers->list, numbers->len + (size_t)(to - from) + 1, sizeof(*grown));
	if (!grown)
		return fail(-ENOMEM, "%s", option);
	numbers->list = grown;
	for (uint64_t i = from; i <= to; i++)
		numbers->list[numbers->len++] = (uint32_t)i;
	return 0;
}

int value_numbers(const struct opt_list *items, const char *option, bool ranges, struct numbers *ret)
{
	for (size_t i = 0; i < items->len; i++) {
		char *copy = strdup(items->items[i]), *rest = copy, *word;
		int err = copy ? 0 : fail(-ENOMEM, "%s", option);

		while (!err && (word = strsep(&rest, ","))) {
			char *dash = ranges ? strchr(word, '-') : NULL;
			uint64_t from, to;

			if (dash)
				*dash = 0;
			if (text_u64(word, &from) || text_u64(dash ? dash + 1 : word, &to))
				err = fail_plain(-EINVAL, "%s: '%s' is not a number", option, items->items[i]);
			else
				err = add_range(ret, option, from, to);
		}
		free(copy);
		if (err)
			return err;
	}
	return 0;
}

int value_whole(const char *text, const char *option, unsigned least, unsigned most, unsigned *value)
{
	uint64_t read;

	if (!text)
		return 0;
	if (text_u64(text, &read) || read < least || read > most)
		return fail_plain(-EINVAL, "--%s: '%s' is not a number from %u to %u", option, text, least, most);
	*value = (unsigned)read;
	return 0;
}

int value_number(const char *text, const char *option, const char *end, double least, double most, double *value)
{
	char *rest;
	double read;

	if (!text)
		return 0;
	read = strtod(text, &rest);
	if (rest == text || (*rest && strcmp(rest, end)) || !isfinite(read) || read < least || read > most)
		return fail_plain(-EINVAL, "--%s: '%s' is not a number from %g to %g", option, text, least, most);
	*value = read;
	return 0;
}

static uint64_t max_sample_rate(void)
{
	autobuf struct buf text = { 0 };
	uint64_t rate;

	if (file_read("/proc/sys/kernel/perf_event_max_sample_rate", 64, &text) || !text.len)
		return UINT64_MAX;
	text.data[strcspn(text.data, "\n")] = 0;
	return text_u64(text.data, &rate) ? UINT64_MAX : rate;
}

int value_frequency(const char *text, uint64_t *ret_hz)
{
	uint64_t limit = max_sample_rate();

	if (text_u64(text, ret_hz) || !*ret_hz)
		return fail_plain(-EINVAL, "-F: '%s' is not a number of samples a second", text);
	if (*ret_hz > limit) {
		fail_plain(-EINVAL, "-F: %llu is more than kernel.perf_event_max_sample_rate allows",
			   (unsigned long long)*ret_hz);
		return fail_hint(-EINVAL, "at most %llu", (unsigned long long)limit);
	}
	return 0;
}

int value_period(const char *text, uint64_t *ret)
{
	if (text_u64(text, ret) || *ret < PERIOD_MIN || *ret > INT64_MAX)
		return fail_plain(-EINVAL, "-c: '%s' is not a period: a number from %d up", text, PERIOD_MIN);
	return 0;
}

int value_limit(const char *text, const char *option, uint64_t least, uint64_t most, uint64_t *value)
{
	const struct opt opt = { .name = option };
	int err = text ? opt_bytes(&opt, text, value) : 0;

	if (err)
		return err;
	if (*value < least || *value > most)
		return fail_plain(-EINVAL, "--%s: from %llu to %llu", option, (unsigned long long)least,
				  (unsigned long long)most);
	return 0;
}
