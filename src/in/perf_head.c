/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes heads of samples apart. Names of tasks may hold blanks and numbers, and every other field may be missing, so a
 * number is taken for the task's only if all that follows it is what may follow: that is tried word by word from the
 * left. In: a line. Out: its fields, pointing into it.
 */
#include "in/perf_head.h"

#include "profile/profile.h"

#define COMM_WORDS 8 /* a name has 15 bytes: more than seven blanks would leave nothing between them */

static bool parse_u32(struct span text, uint32_t *ret)
{
	uint64_t value;

	if (!span_u64(text, &value) || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* `TID` or `PID/TID`; -1 is nobody. */
static bool parse_task(struct span word, struct perf_head *ret)
{
	const char *slash = memchr(word.data, '/', word.len);
	struct span first = { word.data, slash ? (size_t)(slash - word.data) : word.len };

	ret->pid = ret->tid = 0;
	ret->has_pid = slash != NULL;
	if (slash && !span_is(first, "-1") && !parse_u32(first, &ret->pid))
		return false;
	if (slash)
		first = span_from(word, first.len + 1);
	return span_is(first, "-1") || parse_u32(first, &ret->tid);
}

static bool parse_cpu(struct span word, struct perf_head *ret)
{
	if (word.len < 3 || word.data[0] != '[' || word.data[word.len - 1] != ']')
		return false;
	ret->has_cpu = parse_u32((struct span){ word.data + 1, word.len - 2 }, &ret->cpu);
	return ret->has_cpu;
}

/* SECONDS.FRACTION: */
static bool parse_time(struct span word, struct perf_head *ret)
{
	const char *dot = memchr(word.data, '.', word.len);
	uint64_t seconds, micro = 0;
	struct span fraction;

	if (!dot || word.data[word.len - 1] != ':')
		return false;
	fraction = (struct span){ dot + 1, (size_t)(word.data + word.len - 1 - (dot + 1)) };
	if (!span_u64((struct span){ word.data, (size_t)(dot - word.data) }, &seconds) || !fraction.len ||
	    fraction.len > 9 || seconds > UINT32_MAX * 100ULL)
		return false;
	for (size_t i = 0; i < 6; i++) {
		char digit = i < fraction.len ? fraction.data[i] : '0';

		if (digit < '0' || digit > '9')
			return false;
		micro = micro * 10 + (uint64_t)(digit - '0');
	}
	ret->time_us = seconds * 1000000 + micro;
	ret->has_time = true;
	return true;
}

/* The fields after the task's numbers: true if the words are such fields, up to an event. */
static bool parse_fields(struct span rest, struct perf_head *ret)
{
	struct span word;
	uint64_t period;

	ret->has_cpu = ret->has_time = ret->is_record = false;
	ret->period = 0;
	word = span_word(&rest);
	if (parse_cpu(word, ret)) {
		word = span_word(&rest);
	}
	if (parse_time(word, ret)) {
		word = span_word(&rest);
	}
	if (span_begins(word, "PERF_RECORD_")) {
		ret->is_record = true;
		return true;
	}
	if (span_u64(word, &period)) {
		ret->period = period;
		word = span_word(&rest);
	}
	if (word.len < 2 || word.data[word.len - 1] != ':' || word.data[0] == ':' || memchr(word.data, ';', word.len))
		return false;
	ret->event = (struct span){ word.data, word.len - 1 };
	ret->rest = rest;
	return true;
}

bool perf_head_parse(struct span line, struct perf_head *ret)
{
	struct span rest = span_trim(line), start = rest;

	span_word(&rest);
	for (int i = 0; i < COMM_WORDS && rest.len; i++) {
		struct span comm = { start.data, (size_t)(rest.data - start.data) };
		struct span word = span_word(&rest);

		if (parse_task(word, ret) && parse_fields(rest, ret)) {
			ret->comm = span_trim(comm);
			return true;
		}
	}
	return false;
}

void perf_comment(struct profile *profile, struct span line)
{
	struct profile_meta *meta = profile_meta(profile);
	const struct {
		const char *key;
		uint32_t *string;
		uint64_t *number;
	} known[] = {
		{ "hostname", &meta->host, NULL },      { "os release", &meta->kernel, NULL },
		{ "arch", &meta->arch, NULL },          { "cmdline", &meta->command, NULL },
		{ "nrcpus online", NULL, &meta->cpus },
	};
	const char *colon = memchr(line.data, ':', line.len);
	struct span key, value;
	uint64_t number;

	if (!colon)
		return;
	key = span_trim((struct span){ line.data + 1, (size_t)(colon - line.data - 1) });
	value = span_trim(span_from(line, (size_t)(colon + 1 - line.data)));
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!span_is(key, known[i].key))
			continue;
		if (known[i].string)
			*known[i].string = profile_bytes(profile, value.data, value.len);
		else if (span_u64(value, &number))
			*known[i].number = number;
	}
}
