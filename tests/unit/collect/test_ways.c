/* SPDX-License-Identifier: Apache-2.0 */
/* How the frames of processes were found: by row where there is one, by frame pointer elsewhere, early ones apart. */
#include "collect/ways.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/map.h"
#include "profile/profile.h"
#include "unit/example.h"

/* Files have rows up to some place in them. */
static bool has_row(void *arg, const struct profile_frame *frame)
{
	return frame->kind == FRAME_USER && frame->address < *(uint64_t *)arg;
}

static void test_example(void **state)
{
	struct profile *profile;
	struct map early = { 0 };
	uint64_t end = 0x2000;

	(void)state;
	assert_int_equal(profile_new(&profile), 0);
	example_fill(profile);
	profile_process(profile, 1)->ways = (struct profile_ways){ 0 };
	*map_put(&early, 1) = 250; /* of 600 in main → 0x2f00 */
	assert_int_equal(ways_count(profile, &early, has_row, &end), 0);
	/* main has a row, 0x2f00 has none; the kernel's frame and the one next to the cut count for nothing */
	assert_int_equal(profile_process(profile, 1)->ways.row, 350 + 200);
	assert_int_equal(profile_process(profile, 1)->ways.fp, 350 + 200);
	assert_int_equal(profile_process(profile, 1)->ways.user, 2 * 250);
	/* JIT code and the vDSO; an inlined function is no frame, but here it was put in before */
	assert_int_equal(profile_process(profile, 2)->ways.row, 0);
	assert_int_equal(profile_process(profile, 2)->ways.fp, 3 * 100);
	map_free(&early);
	profile_free(profile);
}

static void test_of_nothing(void **state)
{
	struct profile *profile;
	struct map early = { 0 };
	uint64_t end = 0;

	(void)state;
	assert_int_equal(profile_new(&profile), 0);
	assert_int_equal(ways_count(profile, &early, has_row, &end), 0);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
