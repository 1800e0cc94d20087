/* SPDX-License-Identifier: Apache-2.0 */
/* The live stream: what is sent once, what who comes later gets, and eras. */
#include "http/live.h"

#include "base/fail.h" /* before cmocka has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "profile/profile.h"

static const struct live_options options = { .host = "h\"ost", .hz = 49, .cpus = 2, .window_ms = 10000 };

/* A second in which each of these functions, called by main, was seen `count` times. */
static struct profile *make(uint64_t at_s, const char *const *names, uint64_t count)
{
	struct profile *profile = NULL;
	struct profile_frame frame = { .kind = FRAME_USER, .address = 1 };
	uint32_t root;

	assert_int_equal(profile_new(&profile), 0);
	*profile_meta(profile) =
		(struct profile_meta){ .hz = 49, .wall_ns = at_s * NS_PER_SEC, .duration_ns = NS_PER_SEC };
	frame.name = profile_string(profile, "main");
	root = profile_add_node(profile, 0, profile_add_frame(profile, &frame));
	for (unsigned i = 0; names[i]; i++) {
		struct profile_sample sample = { .value = count, .comm = profile_string(profile, "job") };

		frame.address = 2 + i;
		frame.name = profile_string(profile, names[i]);
		sample.stack = profile_add_node(profile, root, profile_add_frame(profile, &frame));
		sample.process = profile_add_process(profile, 7, 1);
		sample.labels = profile_add_label(profile, 0, profile_string(profile, "unit"),
						  profile_string(profile, "a.service"));
		assert_true(profile_add_sample(profile, &sample) != PROFILE_FULL);
	}
	assert_int_equal(profile_add_counter(profile, "lost", "ring", 2), 0);
	return profile;
}

static void add(struct live *live, uint64_t at_s, const char *const *names, uint64_t count, const char *event,
		struct buf *out)
{
	struct profile *profile = make(at_s, names, count);
	const char *got = NULL;

	buf_clear(out);
	assert_int_equal(live_add(live, profile, out, &got), 0);
	assert_string_equal(got, event);
	profile_free(profile);
}

/* The text behind a key, as far as the next key. */
static void check_has(const struct buf *out, const char *text)
{
	if (!strstr(out->data, text))
		fail_msg("'%s' is not in %s", text, out->data);
}

static void test_a_name_is_sent_once(void **state)
{
	static const char *const first[] = { "work", NULL }, *const second[] = { "work", "rest", NULL };
	autobuf struct buf out = { 0 };
	struct live *live = NULL;

	(void)state;
	assert_int_equal(live_new(&live, &options), 0);
	add(live, 100, first, 3, "second", &out);
	check_has(&out, "\"at_ms\":100000,\"ms\":1000,");
	check_has(&out, "\"frames\":[[\"main\",\"-\",0],[\"work\",\"-\",0]]");
	check_has(&out, "\"who\":[[7,\"job\",\"job\",{\"unit\":\"a.service\"}]]");
	check_has(&out, "\"nodes\":[0,0,1,1],\"samples\":[2,0,3],\"lost\":2,\"missed\":0");
	add(live, 101, second, 1, "second", &out);
	check_has(&out, "\"frames\":[[\"rest\",\"-\",0]],\"who\":[],\"nodes\":[1,2],\"samples\":[2,0,1,3,0,1]");
	add(live, 102, second, 1, "second", &out);
	check_has(&out, "\"frames\":[],\"who\":[],\"nodes\":[],");
	live_free(live);
}

struct seen {
	unsigned seconds, tens;
	uint64_t samples, ms, frames;
};

/* Adds up the seconds of a greeting. */
static struct seen read_all(const struct buf *out)
{
	struct seen seen = { 0 };
	struct json_in json;
	struct span key;

	json_in_init(&json, out->data, out->len);
	for (json_in_begin(&json, '{'); json_in_key(&json, &key);) {
		if (span_is(key, "frames")) {
			for (json_in_begin(&json, '['); json_in_element(&json); seen.frames++)
				json_in_skip(&json);
			continue;
		}
		if (!span_is(key, "seconds")) {
			json_in_skip(&json);
			continue;
		}
		for (json_in_begin(&json, '['); json_in_element(&json); seen.seconds++) {
			for (json_in_begin(&json, '{'); json_in_key(&json, &key);) {
				unsigned at = 0;

				if (span_is(key, "ms")) {
					uint64_t ms = json_in_u64(&json);

					seen.ms += ms;
					seen.tens += ms == 10000;
				} else if (span_is(key, "samples")) {
					for (json_in_begin(&json, '['); json_in_element(&json); at++) {
						uint64_t number = json_in_u64(&json);

						seen.samples += at % 3 == 2 ? number : 0;
					}
				} else {
					json_in_skip(&json);
				}
			}
		}
	}
	assert_null(json.bad);
	json_in_free(&json);
	return seen;
}

static void test_old_seconds_become_tens_and_go(void **state)
{
	static const char *const names[] = { "work", "rest", NULL };
	autobuf struct buf out = { 0 };
	struct live *live = NULL;
	struct seen seen;
	char head[128];

	(void)state;
	assert_int_equal(live_new(&live, &options), 0);
	for (unsigned i = 1; i <= 1200; i++) {
		add(live, 100 + i, names, 5, "second", &out);
		buf_clear(&out);
		assert_int_equal(live_all(live, 5000 * NS_PER_SEC, &out), 0);
		seen = read_all(&out);
		assert_int_equal(seen.samples * 1000, seen.ms * 10); /* ten in each second */
		if (i <= 900)
			assert_int_equal(seen.ms, i * 1000);
		assert_true(seen.seconds - seen.tens >= (i < LIVE_SINGLE ? i : LIVE_SINGLE));
	}
	assert_true(seen.ms >= 900000 && seen.tens == LIVE_TENS);
	snprintf(head, sizeof(head), "\"host\":\"h\\\"ost\",\"hz\":49,\"cpus\":2,\"window_ms\":10000,\"first_ms\":%u,",
		 1301000 - (unsigned)seen.ms); /* nothing is in a store: the oldest second */
	check_has(&out, head);
	live_free(live);
}

static void test_an_era_begins_with_what_is_kept(void **state)
{
	struct live_options small = options;
	autobuf struct buf out = { 0 };
	struct live *live = NULL;
	unsigned eras = 0;

	(void)state;
	small.era_bytes = 2000;
	assert_int_equal(live_new(&live, &small), 0);
	for (unsigned i = 0; i < 200; i++) {
		char name[32];
		const char *names[] = { name, NULL }, *event = NULL;
		struct profile *profile;
		struct seen seen;

		snprintf(name, sizeof(name), "function_%u", i);
		profile = make(100 + i, names, 1);
		buf_clear(&out);
		assert_int_equal(live_add(live, profile, &out, &event), 0);
		profile_free(profile);
		buf_clear(&out);
		assert_int_equal(live_all(live, 0, &out), 0);
		seen = read_all(&out);
		assert_true(seen.seconds > 0);
		if (!strcmp(event, "all")) {
			eras++;
			assert_int_equal(seen.frames, seen.seconds + 1); /* main, and one for each that is kept */
		}
	}
	assert_true(eras > 1 && eras < 100);
	live_free(live);
}

static void test_the_greeting_has_a_bound(void **state)
{
	char text[700][300];
	const char *names[701];
	autobuf struct buf out = { 0 };
	struct live *live = NULL;

	(void)state;
	assert_int_equal(live_new(&live, &options), 0);
	for (unsigned round = 0; round < 40; round++) {
		for (unsigned i = 0; i < 700; i++) {
			snprintf(text[i], sizeof(text[i]), "%u_%0280u", round, i);
			names[i] = text[i];
		}
		names[700] = NULL;
		struct profile *profile = make(100 + round, names, 1);
		const char *event = NULL;

		buf_clear(&out);
		assert_int_equal(live_add(live, profile, &out, &event), 0);
		profile_free(profile);
		buf_clear(&out);
		assert_int_equal(live_all(live, 0, &out), 0);
		assert_true(out.len <= LIVE_GREETING_BYTES);
	}
	live_free(live);
}

static void test_other_events(void **state)
{
	struct live_health health = { .lost = 1, .missed = 2, .whole_percent = 99.5, .note = "disk full" };
	autobuf struct buf out = { 0 };
	struct live *live = NULL;

	(void)state;
	assert_int_equal(live_new(&live, &options), 0);
	assert_int_equal(live_set_health(live, &health, &out), 0);
	check_has(&out, "{\"lost\":1,\"missed\":2,\"whole_percent\":99.5,");
	check_has(&out, "\"note\":\"disk full\"}");
	buf_clear(&out);
	assert_int_equal(live_sealed(NS_PER_SEC, 2 * NS_PER_SEC, 3, NULL, &out), 0);
	assert_string_equal(out.data, "{\"from_ms\":1000,\"to_ms\":2000,\"samples\":3,\"gap\":null}");
	buf_clear(&out);
	assert_int_equal(live_all(live, 0, &out), 0);
	check_has(&out, "\"health\":{\"lost\":1,");
	live_free(live);
	live_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name_is_sent_once),
		cmocka_unit_test(test_old_seconds_become_tens_and_go),
		cmocka_unit_test(test_an_era_begins_with_what_is_kept),
		cmocka_unit_test(test_the_greeting_has_a_bound),
		cmocka_unit_test(test_other_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
