/* SPDX-License-Identifier: Apache-2.0 */
/* The worker may die at any moment of anything: each question is still answered once, and the next one is served. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include <cmocka.h>
#undef fail

#include "base/buf.h"
#include "worker/worker.h"

struct answers {
	unsigned int good, died, slow, other;
	size_t bytes;
	char last[64];
};

/* A worker whose requests say what to do. */
static void obey(void *arg, const void *request, size_t len, const int *fds, size_t fds_len, struct buf *reply)
{
	const char *what = request;
	char byte = 0;

	(void)arg;
	if (!len)
		return;
	switch (*what) {
	case 'e': /* echo */
		buf_add(reply, what, len);
		break;
	case 'f': /* what the descriptor says */
		if (fds_len == 1 && pread(fds[0], &byte, 1, 0) == 1)
			buf_addc(reply, byte);
		break;
	case 'b': /* a large answer */
		for (int i = 0; i < 1 << 20; i++)
			buf_addc(reply, 'x');
		break;
	case 'c': /* crash */
		raise(SIGSEGV);
		abort();
	case 'l': /* loop */
		for (volatile int i = 0;; i++)
			;
	case 'm': /* memory without end */
		for (;;)
			if (!memset(malloc(1 << 20), 1, 1 << 20))
				abort();
	case 's': /* something that is not allowed */
		socket(AF_INET, SOCK_STREAM, 0);
		buf_adds(reply, "opened a socket");
		break;
	case 'o': /* a file of ours */
		buf_adds(reply, open("/etc/passwd", O_RDONLY) >= 0 ? "opened a file" : "could not");
		break;
	}
}

static void count(void *arg, int err, const void *reply, size_t len)
{
	struct answers *answers = arg;

	answers->good += !err;
	answers->died += err == -EPIPE;
	answers->slow += err == -ETIME;
	answers->other += err && err != -EPIPE && err != -ETIME;
	answers->bytes += len;
	memset(answers->last, 0, sizeof(answers->last));
	if (reply)
		memcpy(answers->last, reply, len < sizeof(answers->last) ? len : sizeof(answers->last) - 1);
}

static struct worker *start(void)
{
	struct worker *worker = NULL;

	assert_int_equal(
		worker_start(&worker,
			     &(struct worker_options){ .serve = obey, .memory_bytes = 64 << 20, .cpu_seconds = 1 }),
		0);
	return worker;
}

static void ask(struct worker *worker, const char *what, struct answers *answers)
{
	assert_int_equal(worker_ask(worker, what, strlen(what), NULL, 0, count, answers), 0);
}

static void answers_in_order(void **state)
{
	struct worker *worker = start();
	struct answers answers = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++)
		ask(worker, "echo", &answers);
	ask(worker, "end", &answers);
	assert_int_equal(worker_pump(worker, true), 0);
	assert_int_equal(answers.good, 101);
	assert_string_equal(answers.last, "end");
	worker_free(worker);
}

/* What is wanted soon is answered first, in its own order, but for the one under way. */
static void some_come_first(void **state)
{
	struct worker *worker = start();
	struct answers late = { 0 }, soon = { 0 };

	(void)state;
	ask(worker, "big", &late); /* is sent at once */
	assert_int_equal(worker_pump(worker, false), 0);
	ask(worker, "e late", &late);
	assert_int_equal(worker_ask_soon(worker, "e first", 7, NULL, 0, count, &soon), 0);
	assert_int_equal(worker_ask_soon(worker, "e second", 8, NULL, 0, count, &soon), 0);
	while (soon.good < 2) {
		assert_true(late.good <= 1);
		assert_true(soon.good == 0 || !strcmp(soon.last, "e first"));
		assert_int_equal(worker_pump(worker, false), 0);
	}
	assert_string_equal(soon.last, "e second");
	ask(worker, "e last", &late);
	assert_int_equal(worker_pump(worker, true), 0);
	assert_int_equal(late.good, 3);
	assert_string_equal(late.last, "e last");
	worker_free(worker);
}

static void reads_descriptors_it_is_given(void **state)
{
	struct worker *worker = start();
	struct answers answers = { 0 };
	int fd = memfd_create("test", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(write(fd, "Q", 1), 1);
	assert_int_equal(worker_ask(worker, "f", 1, &fd, 1, count, &answers), 0);
	close(fd); /* it has its own */
	assert_int_equal(worker_pump(worker, true), 0);
	assert_string_equal(answers.last, "Q");
	worker_free(worker);
}

static void carries_large_answers(void **state)
{
	struct worker *worker = start();
	struct answers answers = { 0 };

	(void)state;
	ask(worker, "big", &answers);
	assert_int_equal(worker_pump(worker, true), 0);
	assert_int_equal(answers.bytes, 1 << 20);
	worker_free(worker);
}

/* Only the request that kills it goes unanswered. */
static void death_costs_one_request(void **state)
{
	static const char *const deadly[] = { "crash", "socket" };
	struct worker *worker = start();
	struct answers answers = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++) {
		ask(worker, "echo", &answers);
		ask(worker, deadly[i], &answers);
		ask(worker, "echo", &answers);
	}
	assert_int_equal(worker_pump(worker, true), 0);
	assert_int_equal(answers.good, 4);
	assert_int_equal(answers.died, 2);
	assert_int_equal(worker_deaths(worker), 2);
	worker_free(worker);
}

static void time_and_memory_are_limited(void **state)
{
	struct worker *worker = start();
	struct answers answers = { 0 };

	(void)state;
	ask(worker, "loop", &answers);
	ask(worker, "memory", &answers);
	ask(worker, "echo", &answers);
	assert_int_equal(worker_pump(worker, true), 0);
	assert_int_equal(answers.good, 1);
	assert_int_equal(answers.died + answers.slow, 2);
	worker_free(worker);
}

static void opens_no_files(void **state)
{
	struct worker *worker = start();
	struct answers answers = { 0 };

	(void)state;
	ask(worker, "open", &answers);
	assert_int_equal(worker_pump(worker, true), 0);
	assert_string_equal(answers.last, "could not"); /* and lives on */
	worker_free(worker);
}

static unsigned int open_descriptors(void)
{
	unsigned int sum = 0;

	for (int fd = 0; fd < 1024; fd++)
		sum += fcntl(fd, F_GETFD) >= 0;
	return sum;
}

/* Killed a hundred times from outside, between and within requests: each is answered, nothing leaks, no zombie. */
static void survives_being_killed(void **state)
{
	unsigned int before = open_descriptors();
	struct worker *worker = start();
	struct answers answers = { 0 };
	unsigned int asked = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		for (int j = 0; j < 5; j++, asked++)
			ask(worker, "echo", &answers);
		if (i % 2)
			assert_int_equal(worker_pump(worker, false), 0);
		kill(worker_pid(worker), SIGKILL);
		assert_int_equal(worker_pump(worker, i % 3 == 0), 0);
	}
	assert_int_equal(worker_pump(worker, true), 0);
	assert_int_equal(answers.good + answers.died, asked);
	assert_true(answers.died <= 100);
	assert_int_equal(answers.slow + answers.other, 0);
	worker_free(worker);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_in_order),
		cmocka_unit_test(some_come_first),
		cmocka_unit_test(reads_descriptors_it_is_given),
		cmocka_unit_test(carries_large_answers),
		cmocka_unit_test(death_costs_one_request),
		cmocka_unit_test(time_and_memory_are_limited),
		cmocka_unit_test(opens_no_files),
		cmocka_unit_test(survives_being_killed),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
