/* SPDX-License-Identifier: Apache-2.0 */
/* Saved profiles as a source: which of them a range has, and what is said of them. */
#include "http/replay.h"

#include "base/fail.h" /* before cmocka has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "http/metrics.h"
#include "http/query.h"
#include "out/out.h"
#include "profile/profile.h"

/* One stack of one process, so many times, recorded from `wall_ns` on for ten. */
static struct profile *make(const char *comm, const char *unit, uint64_t wall_ns, uint64_t value)
{
	struct profile *profile = NULL;
	struct profile_frame frame = { .kind = FRAME_KERNEL, .address = 1 };
	struct profile_sample sample = { .value = value };

	assert_int_equal(profile_new(&profile), 0);
	*profile_meta(profile) = (struct profile_meta){ .hz = 10, .wall_ns = wall_ns, .duration_ns = 10 };
	profile_meta(profile)->unit = profile_string(profile, unit);
	frame.name = profile_string(profile, "work");
	sample.stack = profile_add_node(profile, 0, profile_add_frame(profile, &frame));
	sample.comm = profile_string(profile, comm);
	sample.process = profile_add_process(profile, 7, 1);
	assert_true(profile_add_sample(profile, &sample) != PROFILE_FULL);
	assert_int_equal(profile_add_counter(profile, "lost", "ring", 1), 0);
	return profile;
}

static struct replay *make_replay(void)
{
	struct replay *replay = NULL;

	assert_int_equal(replay_new(&replay), 0);
	assert_int_equal(replay_add(replay, make("a", "samples", 100, 30)), 0);
	assert_int_equal(replay_add(replay, make("b", "samples", 200, 20)), 0);
	return replay;
}

static void check_range(const struct http_source *source, uint64_t from_ns, uint64_t to_ns, const char *expected)
{
	struct profile *profile = NULL;
	autobuf struct buf out = { 0 };

	assert_int_equal(source->profile(source->context, from_ns, to_ns, &profile), 0);
	assert_int_equal(out_folded(profile, &out), 0);
	assert_string_equal(out.data, expected);
	profile_free(profile);
}

static void test_a_range_has_what_it_meets(void **state)
{
	struct replay *replay = make_replay();
	struct http_source source = replay_source(replay);
	struct profile *none = NULL;

	(void)state;
	check_range(&source, 0, UINT64_MAX, "a;work_[k] 30\nb;work_[k] 20\n");
	check_range(&source, 0, 200, "a;work_[k] 30\n");
	check_range(&source, 109, 200, "a;work_[k] 30\n");
	check_range(&source, 110, 201, "b;work_[k] 20\n");
	assert_int_equal(source.profile(source.context, 0, 100, &none), -ENODATA);
	assert_int_equal(source.profile(source.context, 110, 200, &none), -ENODATA);
	assert_int_equal(source.profile(source.context, 210, 300, &none), -ENODATA);
	assert_null(none);
	replay_free(replay);
}

static void test_without_a_time_it_is_in_every_range(void **state)
{
	struct replay *replay = make_replay();
	struct http_source source = replay_source(replay);

	(void)state;
	assert_int_equal(replay_add(replay, make("c", "samples", 0, 1)), 0);
	check_range(&source, 300, 400, "c;work_[k] 1\n");
	replay_free(replay);
}

/* Ten seconds, one sample in each: five times one stack, then five times another. */
static struct profile *make_timed(void)
{
	struct profile *profile = make("a", "samples", 1000 * NS_PER_SEC, 5);
	struct profile_sample other = *profile_sample(profile, 1);
	struct profile_frame frame = { .kind = FRAME_KERNEL, .address = 2 };

	profile_meta(profile)->duration_ns = 10 * NS_PER_SEC;
	frame.name = profile_string(profile, "rest");
	other.stack = profile_add_node(profile, 0, profile_add_frame(profile, &frame));
	assert_int_equal(profile_add_sample(profile, &other), 2);
	for (uint32_t i = 0; i < 10; i++)
		profile_add_event(profile, &(struct profile_event){ .time_us = i * 1000000, .sample = 1 + i / 5 });
	return profile;
}

static void test_a_range_has_exactly_its_moments(void **state)
{
	const uint64_t start = 1000 * NS_PER_SEC;
	struct replay *replay = NULL;
	struct http_source source;
	struct profile *part = NULL;

	(void)state;
	assert_int_equal(replay_new(&replay), 0);
	assert_int_equal(replay_add(replay, make_timed()), 0);
	source = replay_source(replay);
	check_range(&source, 0, UINT64_MAX, "a;rest_[k] 5\na;work_[k] 5\n");
	check_range(&source, start, start + 10 * NS_PER_SEC, "a;rest_[k] 5\na;work_[k] 5\n");
	check_range(&source, start, start + 5 * NS_PER_SEC, "a;work_[k] 5\n");
	check_range(&source, start + 5 * NS_PER_SEC, start + 60 * NS_PER_SEC, "a;rest_[k] 5\n");
	check_range(&source, start + 4 * NS_PER_SEC, start + 7 * NS_PER_SEC, "a;rest_[k] 2\na;work_[k] 1\n");
	assert_int_equal(source.profile(source.context, start + NS_PER_SEC, start + 3 * NS_PER_SEC, &part), 0);
	assert_int_equal(profile_meta(part)->duration_ns, 2 * NS_PER_SEC);
	assert_int_equal(profile_count(part, PROFILE_EVENTS), 3);
	profile_free(part);
	replay_free(replay);
}

static void test_curves_and_heat(void **state)
{
	struct query query = { .to_ns = UINT64_MAX, .cells = 2, .filter.focus = "work" };
	autobuf struct buf series = { 0 }, heat = { 0 };
	struct replay *replay = NULL;
	struct http_source source;

	(void)state;
	assert_int_equal(replay_new(&replay), 0);
	assert_int_equal(replay_add(replay, make_timed()), 0);
	source = replay_source(replay);
	assert_int_equal(source.series(source.context, &query, &series), 0);
	/* The range is that of all samples, so that curves of some lie over those of all. */
	assert_string_equal(series.data, "{\"from_ms\":1000000,\"to_ms\":1009000,\"cells\":2,\"curves\":["
					 "{\"name\":\"a\",\"total\":5,\"values\":[5,0]}]}\n");
	assert_int_equal(source.heat(source.context, &query, &heat), 0);
	assert_non_null(
		strstr(heat.data, "{\"from_ms\":1000000,\"columns\":10,\"rows\":50,\"most\":1,\"counts\":[1,0,"));
	replay_free(replay);
	replay = make_replay(); /* of which nothing says when in its window */
	source = replay_source(replay);
	assert_int_equal(source.series(source.context, &query, &series), -ENODATA);
	assert_int_equal(source.heat(source.context, &query, &heat), -ENODATA);
	assert_true(source.untimed);
	replay_free(replay);
}

static void test_the_curve_of_a_function(void **state)
{
	struct query query = { 0 };
	autobuf struct buf series = { 0 }, none = { 0 };
	struct replay *replay = NULL;
	struct http_source source;

	(void)state;
	assert_int_equal(replay_new(&replay), 0);
	assert_int_equal(replay_add(replay, make_timed()), 0);
	source = replay_source(replay);
	assert_false(source.untimed);
	assert_int_equal(query_parse(&query, "cells=2&fn=rest&to=2100-01-01", UINT_MAX, NS_PER_SEC), 0);
	assert_int_equal(source.series(source.context, &query, &series), 0);
	query_free(&query);
	assert_non_null(strstr(series.data, "{\"name\":\"rest\",\"total\":5,\"values\":[0,5]}]}"));
	/* names are whole */
	assert_int_equal(query_parse(&query, "cells=2&fn=res&to=2100-01-01", UINT_MAX, NS_PER_SEC), 0);
	assert_int_equal(source.series(source.context, &query, &none), 0);
	query_free(&query);
	assert_non_null(strstr(none.data, "\"curves\":[]"));
	replay_free(replay);
}

/* Two samples in each of four seconds: at 100 ms one stack, at 600 ms another. */
static struct profile *make_rhythm(void)
{
	struct profile *profile = make("a", "samples", 1000 * NS_PER_SEC, 4);
	struct profile_sample other = *profile_sample(profile, 1);
	struct profile_frame frame = { .kind = FRAME_KERNEL, .address = 2 };

	profile_meta(profile)->duration_ns = 4 * NS_PER_SEC;
	frame.name = profile_string(profile, "rest");
	other.stack = profile_add_node(profile, 0, profile_add_frame(profile, &frame));
	assert_int_equal(profile_add_sample(profile, &other), 2);
	for (uint32_t i = 0; i < 8; i++)
		profile_add_event(profile,
				  &(struct profile_event){ .time_us = 100000 + i * 500000, .sample = 1 + i % 2 });
	return profile;
}

static void check_moments(const struct http_source *source, const struct query *query, const char *expected,
			  uint64_t duration_ms)
{
	struct profile *profile = NULL;
	autobuf struct buf out = { 0 };

	assert_int_equal(source->moments(source->context, query, &profile), 0);
	assert_int_equal(out_folded(profile, &out), 0);
	assert_string_equal(out.data ? out.data : "", expected);
	assert_int_equal(profile_meta(profile)->duration_ns / NS_PER_MS, duration_ms);
	profile_free(profile);
}

static void test_moments_of_every_second(void **state)
{
	struct query query = { .to_ns = UINT64_MAX, .offset_from = 100, .offset_to = 101 };
	struct profile *none = NULL;
	struct replay *replay = NULL;
	struct http_source source;

	(void)state;
	assert_int_equal(replay_new(&replay), 0);
	assert_int_equal(replay_add(replay, make_rhythm()), 0);
	source = replay_source(replay);
	check_moments(&source, &query, "a;work_[k] 4\n", 4);
	query.offset_to = 700;
	check_moments(&source, &query, "a;rest_[k] 4\na;work_[k] 4\n", 2400);
	query.offset_from = 500;
	check_moments(&source, &query, "a;rest_[k] 4\n", 800);
	query.from_ns = 1001 * NS_PER_SEC + 600 * NS_PER_MS;
	query.to_ns = 1003 * NS_PER_SEC + 600 * NS_PER_MS;
	check_moments(&source, &query, "a;rest_[k] 2\n", 400);
	query.offset_from = 601;
	check_moments(&source, &query, "", 198);
	replay_free(replay);
	replay = make_replay(); /* of which nothing says when in its window */
	source = replay_source(replay);
	query = (struct query){ .to_ns = UINT64_MAX, .offset_to = 1000 };
	assert_int_equal(source.moments(source.context, &query, &none), -ENODATA);
	replay_free(replay);
}

static void test_gaps_are_between_files(void **state)
{
	struct query query = { .to_ns = UINT64_MAX };
	autobuf struct buf all = { 0 }, none = { 0 };
	struct replay *replay = NULL;
	struct http_source source;
	struct profile *later = make_timed();

	(void)state;
	profile_meta(later)->wall_ns += 15 * NS_PER_SEC;
	assert_int_equal(replay_new(&replay), 0);
	assert_int_equal(replay_add(replay, later), 0);
	assert_int_equal(replay_add(replay, make_timed()), 0);
	source = replay_source(replay);
	assert_int_equal(source.gaps(source.context, &query, &all), 0);
	assert_string_equal(all.data, "[{\"from_ms\":1010000,\"to_ms\":1015000,\"why\":\"no file is of this time\","
				      "\"windows\":0}]\n");
	query.to_ns = 1010 * NS_PER_SEC;
	assert_int_equal(source.gaps(source.context, &query, &none), 0);
	assert_string_equal(none.data, "[]\n");
	replay_free(replay);
}

static void test_what_has_no_moments_is_not_cut(void **state)
{
	struct profile *profile = make_timed();
	struct profile_sample more = *profile_sample(profile, 1);
	struct replay *replay = NULL;
	struct http_source source;

	(void)state;
	profile_add_sample(profile, &more); /* of which nothing says when */
	assert_int_equal(replay_new(&replay), 0);
	assert_int_equal(replay_add(replay, profile), 0);
	source = replay_source(replay);
	check_range(&source, 0, 1001 * NS_PER_SEC, "a;work_[k] 10\na;rest_[k] 5\n");
	replay_free(replay);
}

static void test_other_units_are_refused(void **state)
{
	struct replay *replay = make_replay();
	struct profile *other = make("c", "bytes", 1, 1);

	(void)state;
	assert_int_equal(replay_add(replay, other), -EINVAL);
	assert_non_null(strstr(fail_text(), "bytes"));
	profile_free(other);
	replay_free(replay);
}

static void test_processes(void **state)
{
	struct replay *replay = make_replay();
	struct http_source source = replay_source(replay);
	struct query query = { .to_ns = UINT64_MAX, .filter.process = "^b$" };
	autobuf struct buf out = { 0 };

	(void)state;
	assert_int_equal(source.processes(source.context, &query, &out), 0);
	assert_string_equal(out.data, "{\"processes\":[{\"pid\":7,\"name\":\"b\",\"samples\":20,\"cpu_seconds\":2}],"
				      "\"all\":true}\n");
	replay_free(replay);
}

static void test_metrics(void **state)
{
	struct replay *replay = make_replay();
	struct http_source source = replay_source(replay);
	autobuf struct buf out = { 0 };
	struct metrics metrics = { .out = &out };

	(void)state;
	assert_int_equal(source.metrics(source.context, &metrics), 0);
	assert_non_null(strstr(out.data, "\nwick_cpu_seconds_total{process=\"a\"} 3\n"));
	assert_non_null(strstr(out.data, "\nwick_cpu_seconds_total{process=\"b\"} 2\n"));
	assert_non_null(strstr(out.data, "\nwick_samples_lost_total{reason=\"ring\"} 2\n"));
	replay_free(replay);
}

static void test_ready_when_there_is_something(void **state)
{
	struct replay *replay = NULL;
	struct http_source source;
	autobuf struct buf note = { 0 };

	(void)state;
	assert_int_equal(replay_new(&replay), 0);
	source = replay_source(replay);
	assert_int_equal(source.ready(source.context, &note), -EAGAIN);
	assert_int_equal(replay_add(replay, make("a", "samples", 1, 1)), 0);
	assert_int_equal(source.ready(source.context, &note), 0);
	replay_free(replay);
	replay_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_range_has_what_it_meets),
		cmocka_unit_test(test_without_a_time_it_is_in_every_range),
		cmocka_unit_test(test_a_range_has_exactly_its_moments),
		cmocka_unit_test(test_curves_and_heat),
		cmocka_unit_test(test_the_curve_of_a_function),
		cmocka_unit_test(test_moments_of_every_second),
		cmocka_unit_test(test_gaps_are_between_files),
		cmocka_unit_test(test_what_has_no_moments_is_not_cut),
		cmocka_unit_test(test_other_units_are_refused),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_ready_when_there_is_something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
