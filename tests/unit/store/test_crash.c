/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that seals windows, and tends the store between, is killed at a random moment, over and over: each time the
 * store opens, at most the window in hand is missing, and every total is what it was.
 *
 * The environment's CRASHES says how often; what the killed one reports through a pipe was sealed for certain.
 */
#include "store/store.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "unit/store/history.h"

#define CRASHES 10
#define AT_LEAST 3     /* windows between crashes */
#define DEADLINE 30000 /* ms */

static void seal_for_ever(const char *folder, unsigned int n, int report)
{
	const struct store_options options = { .folder = folder, .event_bytes = 1 << 20 };
	struct store *store;

	if (store_open(&store, &options))
		_exit(2);
	for (;; n++) {
		if (history_seal(store, n) || store_tend(store) < 0)
			_exit(3);
		if (write(report, &n, sizeof(n)) != sizeof(n))
			_exit(4);
	}
}

/* The number of windows that it had sealed for certain when it was killed. */
static unsigned int run_and_kill(const char *folder, unsigned int n, long wait_ns)
{
	const struct timespec wait = { .tv_nsec = wait_ns };
	unsigned int got = 0, last = n;
	struct pollfd ready;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		seal_for_ever(folder, n, ends[1]);
	close(ends[1]);
	ready = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	for (; got < AT_LEAST && poll(&ready, 1, DEADLINE) > 0; got++)
		assert_int_equal(read(ends[0], &last, sizeof(last)), sizeof(last));
	nanosleep(&wait, NULL); /* the random moment */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while (read(ends[0], &last, sizeof(last)) == sizeof(last))
		got++;
	close(ends[0]);
	assert_true(got >= AT_LEAST);
	return last + 1;
}

/* Sealed for certain: `certain` windows. One more may be in it: that which the report was not written of. */
static unsigned int check(const char *folder, unsigned int certain)
{
	const struct store_options options = { .folder = folder, .read_only = true };
	struct store *store;
	uint64_t sum;

	assert_int_equal(store_open(&store, &options), 0);
	assert_int_equal(history_ask(store, 0, certain), history_expect(0, certain));
	for (unsigned int n = certain > 20 ? certain - 20 : 0; n < certain; n++)
		assert_int_equal(history_ask(store, n, n + 1), history_total(n));
	sum = history_ask(store, certain, certain + 1);
	assert_true(sum == 0 || sum == history_total(certain));
	assert_int_equal(history_ask(store, certain + 1, certain + 100), 0);
	store_free(store);
	return certain + (sum != 0);
}

static void test_killed(void **state)
{
	char *folder = history_folder();
	const char *asked = getenv("CRASHES");
	int crashes = asked ? atoi(asked) : CRASHES;
	unsigned int windows = 0;

	(void)state;
	assert_non_null(folder);
	assert_true(crashes > 0);
	srandom((unsigned int)getpid());
	for (int i = 0; i < crashes; i++)
		windows = check(folder, run_and_kill(folder, windows, random() % 20000000));
	history_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
