/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that do what is put in, once, and never hold more than the bound. */
#include "http/work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MANY 20

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

struct job {
	struct work_item item;
	int runs;
};

static void run(struct work_item *item)
{
	pthread_mutex_lock(&gate);
	((struct job *)item)->runs++;
	pthread_mutex_unlock(&gate);
}

static struct work_item *wait_for_one(struct work *work, int fd)
{
	struct work_item *item;
	uint64_t count;

	while (!(item = work_done(work))) {
		assert_int_equal(poll(&(struct pollfd){ fd, POLLIN, 0 }, 1, 20000), 1);
		(void)!read(fd, &count, sizeof(count));
	}
	return item;
}

static void test_all_is_done_once(void **state)
{
	struct job jobs[MANY] = { 0 };
	struct work *work = NULL;
	int fd = eventfd(0, EFD_NONBLOCK);

	(void)state;
	assert_int_equal(work_new(&work, 3, MANY, fd), 0);
	for (int i = 0; i < MANY; i++) {
		jobs[i].item.run = run;
		assert_int_equal(work_put(work, &jobs[i].item), 0);
	}
	for (int i = 0; i < MANY; i++)
		wait_for_one(work, fd);
	assert_null(work_done(work));
	for (int i = 0; i < MANY; i++)
		assert_int_equal(jobs[i].runs, 1);
	work_free(work);
	work_free(NULL);
	close(fd);
}

static void test_bound(void **state)
{
	struct job jobs[3] = { { .item.run = run }, { .item.run = run }, { .item.run = run } };
	struct work *work = NULL;
	int fd = eventfd(0, EFD_NONBLOCK);

	(void)state;
	assert_int_equal(work_new(&work, 1, 2, fd), 0);
	pthread_mutex_lock(&gate); /* none can end */
	assert_int_equal(work_put(work, &jobs[0].item), 0);
	assert_int_equal(work_put(work, &jobs[1].item), 0);
	assert_int_equal(work_put(work, &jobs[2].item), -EBUSY);
	pthread_mutex_unlock(&gate);
	wait_for_one(work, fd);
	assert_int_equal(work_put(work, &jobs[2].item), 0);
	wait_for_one(work, fd);
	wait_for_one(work, fd);
	assert_int_equal(jobs[2].runs, 1);
	work_free(work);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_done_once),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
