/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every reader of profiles must keep, whatever the bytes: it ends with a profile or with words; values add up to
 * what it says was counted; what it read is fit for every writer, and comes back as the same from a .wick file. With
 * --salvage it may read more, never less.
 */
#ifndef WICK_TESTS_FUZZ_READER_H
#define WICK_TESTS_FUZZ_READER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "in/in.h"
#include "in/source.h"
#include "out/out.h"
#include "profile/profile.h"

#define READER_INPUT_MAX (64u << 10) /* longer ones find nothing new, and take long */
#define READER_TEXT_MAX (8u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static inline void must(int is_so)
{
	if (!is_so)
		abort();
}

/* A tree in which all stacks are long is small; its text is not. That is no fault, but takes too long here. */
static inline int has_short_text(const struct profile *profile)
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
			if (++frames * longest > READER_TEXT_MAX)
				return 0;
	return 1;
}

static inline void check_profile(const struct profile *profile)
{
	autobuf struct buf once = { 0 }, twice = { 0 }, folded = { 0 }, report = { 0 };
	struct in_request request = { 0 };
	struct profile *again;
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		sum += profile_sample(profile, i)->value;
	must(sum == profile_counter_value(profile, "total", "counted"));
	if (has_short_text(profile)) {
		must(out_folded(profile, &folded) == 0);
		must(out_report(profile, &report) == 0);
	}
	must(out_wick(profile, &once) == 0);
	must(in_wick(&again, once.data, once.len, &request) == 0);
	must(out_wick(again, &twice) == 0);
	must(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
	profile_free(again);
	buf_free(&request.notes);
}

static inline int read_as(struct profile **ret, const void *data, size_t len, in_bytes_reader *bytes,
			  in_stream_reader *stream, struct in_request *request)
{
	struct source *source = NULL;
	int err;

	if (bytes)
		return bytes(ret, data, len, request);
	must(source_open_bytes(&source, data, len) == 0);
	err = stream(ret, source, request);
	source_free(source);
	return err;
}

/* One of the two readers is there. */
static inline int check_reader(const void *data, size_t len, in_bytes_reader *bytes, in_stream_reader *stream)
{
	struct in_request plain = { 0 }, salvage = { .salvage = true };
	struct profile *profile = NULL, *saved = NULL;
	int err, salvage_err;

	if (len > READER_INPUT_MAX)
		return 0;
	err = read_as(&profile, data, len, bytes, stream, &plain);
	must(err == 0 || *fail_text());
	salvage_err = read_as(&saved, data, len, bytes, stream, &salvage);
	must(err || !salvage_err);
	if (!err)
		check_profile(profile);
	if (err && !salvage_err) {
		must(salvage.notes.len > 0);
		check_profile(saved);
	}
	profile_free(profile);
	profile_free(saved);
	buf_free(&plain.notes);
	buf_free(&salvage.notes);
	return 0;
}

#endif
