/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spends 70, 20 and 10 percent of its time in hot70, hot20 and hot10, each reached by a path of its own:
 * main (or thread), run, then a b hot70, c d hot20, e hot10. Exact by construction: every hundred turns of equal cost
 * hold 70, 20 and 10 of them, in a shuffled order so that no sampler can march in step.
 *
 *   shares [-s CPU-SECONDS] [-j THREADS] [-f] [-n COMM] [-x STATUS]
 *
 * Runs until killed, or for so much CPU time, then prints "cpu SECONDS", and "seconds SECONDS" that it took. -j gives
 * the work to threads named shares-tN. -f gives it to a row of children, each a tenth of a second long.
 */
#include "prog.h"
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#ifdef PAD
/* Other offsets for the same functions: what stands here is never run. */
__attribute__((used)) static NOINLINE void decoy(void)
{
	__asm__ volatile(".fill 3072, 1, 0x90");
}
#endif

static NOINLINE void hot70(void)
{
	PROG_WORK(PROG_UNIT);
}

static NOINLINE void hot20(void)
{
	PROG_WORK(PROG_UNIT);
}

static NOINLINE void hot10(void)
{
	PROG_WORK(PROG_UNIT);
}

static NOINLINE void b(void)
{
	hot70();
	PROG_STAYS();
}

static NOINLINE void a(void)
{
	b();
	PROG_STAYS();
}

static NOINLINE void d(void)
{
	hot20();
	PROG_STAYS();
}

static NOINLINE void c(void)
{
	d();
	PROG_STAYS();
}

static NOINLINE void e(void)
{
	hot10();
	PROG_STAYS();
}

static NOINLINE void shuffle(unsigned char *turns, uint64_t *state)
{
	for (unsigned int i = 0; i < 100; i++)
		turns[i] = i < 70 ? 0 : i < 90 ? 1 : 2;
	for (unsigned int i = 99; i > 0; i--) {
		unsigned int other = prog_random(state) % (i + 1);
		unsigned char kept = turns[i];

		turns[i] = turns[other];
		turns[other] = kept;
	}
}

static NOINLINE void run(double seconds)
{
	static void (*const paths[])(void) = { a, c, e };
	uint64_t state = (uint64_t)getpid() * 7919 + (uint64_t)time(NULL);
	double until = prog_clock(CLOCK_THREAD_CPUTIME_ID) + seconds;
	unsigned char turns[100];

	while (seconds <= 0 || prog_clock(CLOCK_THREAD_CPUTIME_ID) < until) {
		shuffle(turns, &state);
		for (unsigned int i = 0; i < 100; i++)
			paths[turns[i]]();
	}
	PROG_STAYS();
}

struct job {
	pthread_t id;
	unsigned int number;
	double seconds;
};

static NOINLINE void *thread(void *arg)
{
	struct job *job = arg;
	char name[16];

	snprintf(name, sizeof(name), "shares-t%u", job->number);
	prctl(PR_SET_NAME, name);
	run(job->seconds);
	return NULL;
}

static NOINLINE void in_threads(unsigned int threads, double seconds)
{
	struct job jobs[64];

	for (unsigned int i = 0; i < threads; i++) {
		jobs[i].number = i;
		jobs[i].seconds = seconds;
		if (pthread_create(&jobs[i].id, NULL, thread, &jobs[i]))
			prog_die("pthread_create");
	}
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(jobs[i].id, NULL);
}

static NOINLINE void in_children(double seconds)
{
	for (double done = 0; seconds <= 0 || done < seconds; done += 0.1) {
		pid_t child = fork();

		if (child < 0)
			prog_die("fork");
		if (!child) {
			prctl(PR_SET_PDEATHSIG, 9);
			run(0.1);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	unsigned int threads = 0;
	double seconds = 0, begun = prog_clock(CLOCK_MONOTONIC);
	int status = 0, children = 0, opt;

	prog_begin();
	while ((opt = getopt(argc, argv, "s:j:fn:x:")) != -1) {
		if (opt == 's')
			seconds = atof(optarg);
		else if (opt == 'j')
			threads = (unsigned int)atoi(optarg) % 65;
		else if (opt == 'f')
			children = 1;
		else if (opt == 'n')
			prctl(PR_SET_NAME, optarg);
		else if (opt == 'x')
			status = atoi(optarg);
		else
			return 2;
	}
	if (threads)
		in_threads(threads, seconds);
	else if (children)
		in_children(seconds);
	else
		run(seconds);
	printf("cpu %.6f\nseconds %.6f\n", prog_cpu(RUSAGE_SELF) + prog_cpu(RUSAGE_CHILDREN),
	       prog_clock(CLOCK_MONOTONIC) - begun);
	return status;
}
