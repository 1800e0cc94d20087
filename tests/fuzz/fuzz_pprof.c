/* SPDX-License-Identifier: Apache-2.0 */
/* Reads any bytes as pprof's protocol buffer. What is written of it again has the same types and sums of each. */
#include "fuzz/reader.h"

static uint64_t sum_of(const struct profile *profile, uint32_t type)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		sum += types_value(profile, i, type);
	return sum;
}

static void check_again(const struct profile *profile)
{
	struct in_request request = { 0 };
	autobuf struct buf file = { 0 };
	struct profile *again = NULL;

	must(out_pprof(profile, &file) == 0);
	must(in_read_bytes(&again, file.data, file.len, &request) == 0);
	for (uint32_t i = 0; i < profile_types(profile)->len; i++)
		must(sum_of(again, i) == sum_of(profile, i));
	must(types_equal(profile, again));
	buf_free(&request.notes);
	profile_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct in_request request = { 0 };
	struct profile *profile = NULL;

	check_reader(data, len, in_pprof, NULL);
	/* What cannot be a number in the file is written as the largest that can. */
	if (len <= READER_INPUT_MAX && !in_pprof(&profile, data, len, &request) &&
	    profile_counter_value(profile, "total", "counted") <= INT64_MAX)
		check_again(profile);
	buf_free(&request.notes);
	profile_free(profile);
	return 0;
}
