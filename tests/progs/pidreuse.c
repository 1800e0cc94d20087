/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pid, many processes: runs the two programs by turns, each as a new process with the same pid.
 *
 *   pidreuse ROUNDS MILLISECONDS PROGRAM PROGRAM
 *
 * The programs are exec-alpha and exec-beta. Prints "pid PID" and "reused N of N".
 */
#include "prog.h"
#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static pid_t spawn(pid_t wanted, const char *program, const char *milliseconds)
{
	pid_t set[1] = { wanted };
	struct clone_args args = { .exit_signal = 17 };
	pid_t pid;

	if (wanted) {
		args.set_tid = (uintptr_t)set;
		args.set_tid_size = 1;
	}
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		prog_die("clone3");
	if (!pid) {
		execl(program, program, "1", milliseconds, NULL);
		_exit(126);
	}
	return pid;
}

int main(int argc, char **argv)
{
	unsigned int rounds, reused = 0;
	pid_t pid = 0;
	int status;

	if (argc != 5)
		return 2;
	prog_begin();
	rounds = (unsigned int)atoi(argv[1]);
	for (unsigned int i = 0; i < rounds; i++) {
		pid_t now = spawn(pid, argv[3 + i % 2], argv[2]);

		if (waitpid(now, &status, 0) != now || status)
			prog_die("child");
		reused += i > 0 && now == pid;
		pid = now;
	}
	printf("pid %d\nreused %u of %u\n", (int)pid, reused, rounds - 1);
	return 0;
}
