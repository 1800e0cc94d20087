/* SPDX-License-Identifier: Apache-2.0 */
/* The worker may die at any moment of anything: each question is still answered once, and the next one is served. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include <cmocka.h>
#undef fail

#include "base/buf.h"
#include "base/file.h"
#include "worker/worker.h"

struct answers {
	unsigned int good, died, slow, over, other;
	size_t bytes;
	char last[64];
};

/* A worker whose requests say what to do. */
static void obey(void *arg, const void *request, size_t len, const int *fds, size_t fds_len, struct buf *reply,
		 int *ret_fd)
{
	const char *what = request;
	char byte = 0;

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
	case 'n': /* how often it was asked */
		buf_addf(reply, "%u", ++*(unsigned int *)arg);
		break;
	case 'g': /* gives a descriptor */
		*ret_fd = memfd_create("given", 0);
		if (write(*ret_fd, "G", 1) == 1)
			buf_addc(reply, 'g');
		break;
	case 'p': /* limits of another process */
		buf_addf(reply, "%d", prlimit(1, RLIMIT_NOFILE, NULL, &(struct rlimit){ 0 }));
		break;
	case 'o': /* a file of ours */
		buf_adds(reply, open("/etc/passwd", O_RDONLY) >= 0 ? "opened a file" : "could not");
		break;
	}
}

static unsigned int times_asked;

static void count(void *arg, int err, const void *reply, size_t len)
{
	struct answers *answers = arg;

	answers->good += !err;
	answers->died += err == -EPIPE;
	answers->slow += err == -ETIME;
	answers->over += err == -EDQUOT;
	answers->other += err && err != -EPIPE && err != -ETIME && err != -EDQUOT;
	answers->bytes += len;
	memset(answers->last, 0, sizeof(answers->last));
	if (reply)
		memcpy(answers->last, reply, len < sizeof(answers->last) ? len : sizeof(answers->last) - 1);
}

static struct worker *start(void)
{
	struct worker *worker = NULL;

	assert_int_equal(worker_start(&worker, &(struct worker_options){ .serve = obey,
									 .memory_bytes = 64 << 20,
									 .cpu_seconds = 1,
									 .limits = { .deaths = 2 },
									 .arg = &times_asked }),
			 0);
	return worker;
}

static void ask(struct worker *worker, const char *what, struct answers *answers)
{
	assert_int_equal(worker_ask(worker,
				    &(struct worker_request){
					    .bytes = what, .len = strlen(what), .done = count, .arg = answers }),
			 0);
}

static void ask_soon(struct worker *worker, const char *what, struct answers *answers)
{
	assert_int_equal(
		worker_ask(worker,
			   &(struct worker_request){
				   .bytes = what, .len = strlen(what), .soon = true, .done = count, .arg = answers }),
		0);
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
	ask_soon(worker, "e first", &soon);
	ask_soon(worker, "e second", &soon);
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
	assert_int_equal(
		worker_ask(worker,
			   &(struct worker_request){
				   .bytes = "f", .len = 1, .fds = &fd, .fds_len = 1, .done = count, .arg = &answers }),
		0);
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

static void ask_for(struct worker *worker, const char *what, uint64_t user, uint64_t maker, struct answers *answers)
{
	assert_int_equal(worker_ask(worker, &(struct worker_request){ .bytes = what,
								      .len = strlen(what),
								      .user = user,
								      .maker = maker,
								      .done = count,
								      .arg = answers }),
			 0);
}

/* Whoever wrote what it read may have taken it over: it serves nobody else after that. */
static void serves_one_maker(void **state)
{
	struct worker *worker = start();
	struct answers answers = { 0 };
	pid_t pid = worker_pid(worker);

	(void)state;
	for (int i = 1; i <= 2; i++) {
		ask_for(worker, "number", 0, 1000, &answers);
		assert_int_equal(worker_pump(worker, true), 0);
		assert_int_equal(atoi(answers.last), i);
		assert_int_equal(worker_pid(worker), pid);
	}
	ask_for(worker, "number", 0, 1001, &answers);
	assert_int_equal(worker_pump(worker, true), 0);
	assert_int_equal(atoi(answers.last), 1); /* it knows nothing of the others */
	assert_int_not_equal(worker_pid(worker), pid);
	assert_int_equal(worker_deaths(worker), 0);
	worker_free(worker);
}

/* Nobody else has its user, so that nobody but root can stop it. */
static void has_a_user_of_its_own(void **state)
{
	struct worker *worker = start();
	struct answers answers = { 0 };
	autobuf struct buf text = { 0 };
	char path[64];
	unsigned long uid;

	(void)state;
	ask(worker, "echo", &answers);
	assert_int_equal(worker_pump(worker, true), 0);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)worker_pid(worker));
	assert_int_equal(file_read(path, 1 << 16, &text), 0);
	uid = strtoul(strstr(text.data, "\nUid:") + 5, NULL, 10);
	if (geteuid())
		assert_int_equal(uid, getuid());
	else
		assert_int_equal(uid >> 28, 0xf);
	worker_free(worker);
}

static void asks_for_no_others_limits(void **state)
{
	struct worker *worker = start();
	struct answers answers = { 0 };

	(void)state;
	ask(worker, "prlimit", &answers);
	assert_int_equal(worker_pump(worker, true), 0);
	assert_int_equal(answers.died, 1);
	worker_free(worker);
}

static int given = -1;

static void take_given(void *arg, int err, const void *reply, size_t len)
{
	(void)reply, (void)len;
	given = err ? -1 : worker_take_fd(arg);
}

static int stay_free(int socket, uint64_t memory_bytes)
{
	(void)socket, (void)memory_bytes;
	return 0;
}

static void gives_a_descriptor(void **state)
{
	const struct worker_options options = { .serve = obey, .enter = stay_free, .cpu_seconds = 10 };
	unsigned int before = open_descriptors();
	struct worker *worker = NULL;
	char byte = 0;

	(void)state;
	assert_int_equal(worker_start(&worker, &options), 0);
	for (int i = 0; i < 2; i++) { /* the second is not taken: it is closed */
		assert_int_equal(worker_ask(worker, &(struct worker_request){ .bytes = "give",
									      .len = 4,
									      .done = i ? count : take_given,
									      .arg = i ? (void *)&(struct answers){ 0 }
										       : (void *)worker }),
				 0);
		assert_int_equal(worker_pump(worker, true), 0);
	}
	assert_true(given >= 0);
	assert_int_equal(pread(given, &byte, 1, 0), 1);
	assert_int_equal(byte, 'G');
	close(given);
	worker_free(worker);
	assert_int_equal(open_descriptors(), before);
}

/* What a user's requests do is his alone: after some deaths his are refused, and nobody else's. */
static void a_user_has_a_share(void **state)
{
	struct worker *worker = start();
	struct answers his = { 0 }, others = { 0 };

	(void)state;
	for (int i = 0; i < 5; i++)
		ask_for(worker, "crash", 1000, 1000, &his);
	ask_for(worker, "echo", 1001, 1001, &others);
	ask_for(worker, "echo", 0, 0, &others);
	assert_int_equal(worker_pump(worker, true), 0);
	assert_int_equal(his.died, 2);
	assert_int_equal(his.over, 3);
	assert_int_equal(others.good, 2);
	assert_int_equal(worker_refused(worker), 3);
	worker_free(worker);
}

/* Those who have had less come first. */
static void who_had_less_comes_first(void **state)
{
	struct worker *worker = start();
	struct answers first = { 0 }, second = { 0 };

	(void)state;
	ask_for(worker, "big", 1000, 0, &first);
	assert_int_equal(worker_pump(worker, true), 0);
	for (int i = 0; i < 10; i++)
		ask_for(worker, "big", 1000, 0, &first);
	ask_for(worker, "echo", 1001, 0, &second);
	while (!second.good)
		assert_int_equal(worker_pump(worker, false), 0);
	assert_true(first.good <= 2);
	worker_cancel(worker);
	assert_int_equal(first.good + first.other, 11);
	assert_true(worker_idle(worker));
	worker_free(worker);
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
		cmocka_unit_test(serves_one_maker),
		cmocka_unit_test(has_a_user_of_its_own),
		cmocka_unit_test(asks_for_no_others_limits),
		cmocka_unit_test(gives_a_descriptor),
		cmocka_unit_test(a_user_has_a_share),
		cmocka_unit_test(who_had_less_comes_first),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
