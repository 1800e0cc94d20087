/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread whose number another process has after it: a thread called h-thread runs until SIGUSR1; then
 * it ends, and a process called h-other runs with its number until killed. Prints `ready TID`, and `reused`.
 */
#include <linux/sched.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "hostile/hostile.h"

static volatile bool enough;

static NOINLINE void of_the_thread(void)
{
	while (!enough)
		PROG_WORK(PROG_UNIT);
}

static NOINLINE void of_the_other(void)
{
	for (;;)
		PROG_WORK(PROG_UNIT);
}

static void *run_thread(void *arg)
{
	prctl(PR_SET_NAME, "h-thread");
	__atomic_store_n((pid_t *)arg, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	of_the_thread();
	return NULL;
}

static pid_t clone_as(pid_t wanted)
{
	pid_t set[1] = { wanted };
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)set, .set_tid_size = 1 };

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

int main(void)
{
	pthread_t thread;
	pid_t tid = 0, other;
	sigset_t signals;
	int number;

	prog_begin();
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (pthread_create(&thread, NULL, run_thread, &tid))
		die("pthread_create");
	while (!__atomic_load_n(&tid, __ATOMIC_SEQ_CST))
		usleep(1000);
	printf("ready %d\n", (int)tid);
	if (sigwait(&signals, &number))
		return 1;
	enough = true;
	pthread_join(thread, NULL);
	while ((other = clone_as(tid)) < 0 && errno == EEXIST)
		usleep(1000);
	if (other < 0)
		die("clone3");
	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "h-other");
		alarm(PROG_LIFE_SECONDS);
		of_the_other();
	}
	printf("reused\n");
	return waitpid(other, NULL, 0) != other;
}
