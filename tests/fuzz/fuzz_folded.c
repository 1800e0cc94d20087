/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads any bytes as folded stacks. What is read must be fit for every writer and filter, to be compared and added; and
 * what is written of it must be read back with the same sum, and from then on as the same text. (Not at once: an escape
 * in a foreign file may stand for what means something to this format.)
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "in/in.h"
#include "in/source.h"
#include "out/diff.h"
#include "out/out.h"
#include "out/report.h"
#include "out/stats.h"
#include "profile/diff.h"
#include "profile/filter.h"
#include "profile/merge.h"
#include "profile/profile.h"

#define INPUT_MAX (64u << 10) /* longer ones find nothing new, and take long */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(int is_so)
{
	if (!is_so)
		abort();
}

static int read_folded(struct profile **ret, const void *data, size_t len, struct in_request *request)
{
	struct source *source = NULL;
	int err;

	must(source_open_bytes(&source, data, len) == 0);
	err = in_folded(ret, source, request);
	source_free(source);
	return err;
}

static uint64_t sum_of(const struct profile *profile)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		sum += profile_sample(profile, i)->value;
	return sum;
}

static void write_reports(const struct profile *profile, uint8_t choice)
{
	autobuf struct buf report = { 0 }, stats = { 0 }, wick = { 0 };
	struct report_options options = REPORT_DEFAULTS;

	options.width = 40 + choice;
	options.colour = choice & 1;
	options.tree = choice & 2;
	options.quality = (choice & 6) == 4;
	options.percent_limit = choice & 8 ? 0 : -1;
	options.by = choice % (TALLY_UNIT + 1);
	options.callers = choice & 16 ? "a" : NULL;
	options.filter.focus = choice & 32 ? "[a-m]" : NULL;
	options.filter.ignore = choice & 64 ? "^x" : NULL;
	options.filter.hide = choice & 128 ? "k|z$" : NULL;
	must(report_write(profile, &options, &report) == 0 || options.callers);
	must(stats_write(profile, &stats) == 0);
	must(out_wick(profile, &wick) == 0);
}

/* With itself: nothing differs, and twice of it is twice the sum. */
static void compare(const struct profile *profile, uint8_t choice)
{
	autobuf struct buf wick = { 0 }, table = { 0 }, folded = { 0 };
	const struct diff_options options = { .width = 40 + choice, .top = choice, .normalize = choice & 1 };
	struct in_request request = { 0 };
	struct profile *other = NULL;
	struct diff diff;

	must(out_wick(profile, &wick) == 0 && in_wick(&other, wick.data, wick.len, &request) == 0);
	must(out_diff(&diff, profile, other) == 0);
	for (uint32_t i = 1; i < diff.len; i++) {
		must(diff.functions[i].self[DIFF_BEFORE] == diff.functions[i].self[DIFF_AFTER]);
		must(diff.functions[i].total[DIFF_BEFORE] == diff.functions[i].total[DIFF_AFTER]);
		must(diff.functions[i].self[DIFF_BEFORE] <= diff.functions[i].total[DIFF_BEFORE]);
	}
	must(out_diff_table(&(struct diff_input){ profile, other, &diff }, &options, &table) == 0);
	must(out_diff_folded(&(struct diff_input){ profile, other, &diff }, &options, &folded) == 0);
	diff_free(&diff);
	must(merge_into(other, profile) == 0);
	must(sum_of(other) == 2 * sum_of(profile));
	profile_free(other);
}

/* Reads the text, writes it again into `ret`; the sum of its counts. Where lines seem to have two, names lose one. */
static uint64_t again(const struct buf *text, struct buf *ret, bool *ret_pairs)
{
	struct in_request request = { 0 };
	struct profile *profile;
	uint64_t sum;

	must(read_folded(&profile, text->data, text->len, &request) == 0);
	must(out_folded(profile, ret) == 0);
	sum = sum_of(profile);
	*ret_pairs |= request.notes.len > 0;
	buf_free(&request.notes);
	profile_free(profile);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	autobuf struct buf first = { 0 }, second = { 0 }, third = { 0 };
	struct in_request request = { 0 };
	struct profile *profile;
	bool pairs = false;
	uint64_t sum;
	int err;

	if (len > INPUT_MAX)
		return 0;
	err = read_folded(&profile, data, len, &request);
	buf_free(&request.notes);
	if (err)
		return 0;
	write_reports(profile, data[len / 2]);
	compare(profile, data[len / 2]);
	must(out_folded(profile, &first) == 0);
	sum = sum_of(profile);
	profile_free(profile);
	must(again(&first, &second, &pairs) == sum);
	must(again(&second, &third, &pairs) == sum);
	must(pairs || (second.len == third.len && (!second.len || memcmp(second.data, third.data, second.len) == 0)));
	return 0;
}
