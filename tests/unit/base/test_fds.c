/* SPDX-License-Identifier: Apache-2.0 */
/* If this breaks: a worker gets another file than was meant, or descriptors pile up in a process. */
#include "base/fds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int pair[2];

static int open_pair(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
}

static int close_pair(void **state)
{
	(void)state;
	close(pair[0]);
	return close(pair[1]);
}

/* The number that the next descriptor will have */
static int next_fd(void)
{
	int fd = dup(pair[0]);

	close(fd);
	return fd;
}

static void test_bytes_alone(void **state)
{
	int fds[FDS_MAX];
	size_t fds_len = 7;
	char into[8];

	(void)state;
	assert_int_equal(fds_send(pair[0], "abc", 3, NULL, 0), 3);
	assert_int_equal(fds_receive(pair[1], into, sizeof(into), fds, FDS_MAX, &fds_len), 3);
	assert_memory_equal(into, "abc", 3);
	assert_int_equal(fds_len, 0);
}

static void test_with_descriptors(void **state)
{
	int pipes[2][2], fds[FDS_MAX] = { 0 };
	size_t fds_len = 0;
	char into[8];

	(void)state;
	assert_int_equal(pipe(pipes[0]) | pipe(pipes[1]), 0);
	assert_int_equal(fds_send(pair[0], "x", 1, (int[]){ pipes[0][0], pipes[1][0] }, 2), 1);
	assert_int_equal(fds_receive(pair[1], into, sizeof(into), fds, FDS_MAX, &fds_len), 1);
	assert_int_equal(fds_len, 2);
	assert_int_equal(write(pipes[1][1], "second", 6), 6);
	assert_int_equal(read(fds[1], into, sizeof(into)), 6); /* it is that one, and in that place */
	assert_memory_equal(into, "second", 6);
	for (int i = 0; i < 2; i++) {
		close(fds[i]);
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
}

static void test_more_than_were_asked_for(void **state)
{
	int fds[FDS_MAX], before = next_fd();
	size_t fds_len = 0;
	char into[8];

	(void)state;
	assert_int_equal(fds_send(pair[0], "x", 1, (int[]){ pair[0], pair[1], pair[0] }, 3), 1);
	assert_int_equal(fds_receive(pair[1], into, sizeof(into), fds, 1, &fds_len), 1);
	assert_int_equal(fds_len, 1);
	close(fds[0]);
	assert_int_equal(next_fd(), before); /* none of the others is left open */
	assert_int_equal(fds_send(pair[0], "x", 1, fds, FDS_MAX + 1), -1);
}

static void test_the_other_end_is_closed(void **state)
{
	int fds[FDS_MAX];
	size_t fds_len = 7;
	char into[8];

	(void)state;
	close(pair[0]);
	assert_int_equal(fds_receive(pair[1], into, sizeof(into), fds, FDS_MAX, &fds_len), 0);
	assert_int_equal(fds_len, 0);
	assert_int_equal(fds_send(pair[1], "x", 1, NULL, 0), -1); /* and no signal */
	pair[0] = dup(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bytes_alone, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_with_descriptors, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_more_than_were_asked_for, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_the_other_end_is_closed, open_pair, close_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
