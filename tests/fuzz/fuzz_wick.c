/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads any bytes as a .wick file: as they are, then with right check sums, which chance would never find. What is
 * read must be fit for every writer, and what is written of it must be read back as the same.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buf.h"
#include "in/in.h"
#include "out/out.h"
#include "out/stats.h"
#include "profile/profile.h"
#include "profile/wick_format.h"

#define START_LEN (WICK_MAGIC_LEN + 4)
#define TEXT_MAX (8u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(int is_so)
{
	if (!is_so)
		abort();
}

static void repair_sums(uint8_t *data, size_t len)
{
	for (size_t at = START_LEN; at < len && len - at >= WICK_HEADER_LEN;) {
		struct cursor lengths = cursor_of(data + at + 16, 8);
		uint64_t stored = cursor_u64(&lengths);
		uint64_t sum;

		if (stored > len - at - WICK_HEADER_LEN)
			return;
		sum = WICK_SUM(data + at, data + at + WICK_HEADER_LEN, stored);
		for (unsigned int i = 0; i < 8; i++)
			data[at + WICK_SUMMED_LEN + i] = (uint8_t)(sum >> 8 * i);
		at += WICK_HEADER_LEN + stored;
	}
}

/* A tree in which all stacks are long is small; its text is not. That is no fault, but takes too long here. */
static int has_short_text(const struct profile *profile)
{
	uint64_t longest = 32, frames = 0;
	size_t len;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_STRINGS); i++) {
		profile_text(profile, i, &len);
		longest = len > longest ? len : longest;
	}
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		for (uint32_t node = profile_sample(profile, i)->stack; node;
		     node = profile_node(profile, node)->parent)
			if (++frames * longest > TEXT_MAX)
				return 0;
	return profile_count(profile, PROFILE_FRAMES) * longest < TEXT_MAX;
}

/* perf's text has a record for each time that a sample was counted. */
static int has_few_samples(const struct profile *profile)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		if (__builtin_add_overflow(sum, profile_sample(profile, i)->value, &sum))
			return 1; /* so many are written once */
	return sum < 1000 || sum > 1000000;
}

static void write_texts(const struct profile *profile)
{
	autobuf struct buf folded = { 0 }, stats = { 0 };
	size_t lines = 0;

	must(out_folded(profile, &folded) == 0);
	must(stats_write(profile, &stats) == 0);
	for (const struct out_format *format = out_formats; format->name; format++) {
		autobuf struct buf out = { 0 };

		if (format->write != out_wick && (format->write != out_perf || has_few_samples(profile)))
			must(format->write(profile, &out) == 0);
	}
	for (size_t i = 0; i < folded.len; i++)
		lines += folded.data[i] == '\n';
	must(lines < profile_count(profile, PROFILE_SAMPLES));
}

/* Each type in turn. What cannot be shown changes nothing. */
static void show_others(struct profile *profile)
{
	uint32_t len = profile_types(profile)->len;

	for (uint32_t i = 0; i < len; i++) {
		uint64_t value = types_value(profile, 1, i);
		int err = types_show(profile, i);

		must(err == 0 || err == -ERANGE);
		must(types_value(profile, 1, i) == value);
	}
}

static void read_and_write(const void *data, size_t len)
{
	autobuf struct buf once = { 0 }, twice = { 0 };
	struct in_request request = { 0 };
	struct profile *profile;

	if (in_wick(&profile, data, len, &request) != 0)
		return;
	show_others(profile);
	if (has_short_text(profile))
		write_texts(profile);
	must(out_wick(profile, &once) == 0);
	profile_free(profile);
	must(in_wick(&profile, once.data, once.len, &request) == 0);
	must(out_wick(profile, &twice) == 0);
	profile_free(profile);
	must(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
	buf_free(&request.notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *repaired = malloc(len + 1);

	must(repaired != NULL);
	read_and_write(data, len);
	if (len)
		memcpy(repaired, data, len);
	repair_sums(repaired, len);
	read_and_write(repaired, len);
	free(repaired);
	return 0;
}
