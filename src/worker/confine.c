/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No descriptors but the socket, no capabilities and no way to regain any, a user of its own if we may choose (whoever
 * shared one could stop it with a signal, or be stopped by it), little memory, no files, and only those system calls
 * that reading from memory and descriptors needs. What is not on a list ends the process: the one file it was reading
 * is then the one that has no names.
 */
#include "worker/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif

#define NOBODY 65534
#define OWN_USERS 0xf0000000u /* and a pid: above all that people, services and containers are given */
#define OWN_USER_PIDS 0xffffffu
#define CONFINE_FDS 64

#if defined(__x86_64__)
#define CONFINE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CONFINE_ARCH AUDIT_ARCH_AARCH64
#else
#error "wick does not know this processor"
#endif

static const unsigned int allowed[] = {
	SYS_read,        SYS_pread64,      SYS_write, SYS_lseek,      SYS_fstat,           SYS_close,
	SYS_sendmsg,     SYS_recvmsg,      SYS_mmap,  SYS_munmap,     SYS_mremap,          SYS_mprotect,
	SYS_madvise,     SYS_brk,          SYS_futex, SYS_getrandom,  SYS_clock_gettime,   SYS_gettimeofday,
	SYS_getrusage,   SYS_rt_sigreturn, SYS_exit,  SYS_exit_group, SYS_restart_syscall, SYS_fcntl,
	SYS_newfstatat,  SYS_sysinfo, /* the C library's qsort asks how much memory there is */
#ifdef __SANITIZE_ADDRESS__
	SYS_sigaltstack, SYS_sched_yield,
#endif
};

/* libdw looks for files beside the one it reads. For it, there are none: that is no reason to die. */
static const unsigned int refused[] = {
	SYS_openat, SYS_readlinkat, SYS_faccessat,
#ifdef SYS_open
	SYS_open,   SYS_readlink,   SYS_access,    SYS_stat, SYS_lstat,
#endif
};

/* What opens events asks for one thing. */
static const unsigned int opening[] = {
	SYS_perf_event_open, SYS_recvmsg, SYS_sendmsg, SYS_close, SYS_exit_group, SYS_rt_sigreturn, SYS_restart_syscall,
};

#define ALLOWED (sizeof(allowed) / sizeof(*allowed))
#define REFUSED (sizeof(refused) / sizeof(*refused))
#define OPENING (sizeof(opening) / sizeof(*opening))
#define PROGRAM_MAX (ALLOWED + REFUSED + 7 + 6)

static struct sock_filter jump_if(unsigned int call, size_t over)
{
	return (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, (unsigned char)over, 0);
}

/* Its own limits may be asked for and set, nobody else's: the first argument, a pid, must be 0. */
static size_t allow_own_limits(struct sock_filter *program, size_t at)
{
	const unsigned int pid = offsetof(struct seccomp_data, args[0]);

	program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 5);
	program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, pid);
	program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
	program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	return at;
}

/* Lists no longer than those of the worker. */
static int allow_calls(const unsigned int *good, size_t goods, const unsigned int *bad, size_t bads)
{
	size_t len = goods + bads + 7 + 6, at = 0;
	struct sock_filter program[PROGRAM_MAX];
	struct sock_fprog filter = { .len = (unsigned short)len, .filter = program };

	program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CONFINE_ARCH, 1, 0);
	program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	at = allow_own_limits(program, at);
	for (size_t i = 0; i < goods; i++, at++)
		program[at] = jump_if(good[i], len - 1 - (at + 1));
	for (size_t i = 0; i < bads; i++, at++)
		program[at] = jump_if(bad[i], len - 2 - (at + 1));
	program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOENT);
	program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? -errno : 0;
}

/* All but those of `keep`, a bit each; and the user becomes the one that the process of a pid has to itself. */
static int drop_capabilities(uint64_t keep, pid_t pid)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct left[_LINUX_CAPABILITY_U32S_3] = {
		{ .effective = (uint32_t)keep, .permitted = (uint32_t)keep },
		{ .effective = (uint32_t)(keep >> 32), .permitted = (uint32_t)(keep >> 32) },
	};

	for (int capability = 0; capability <= 63; capability++)
		prctl(PR_CAPBSET_DROP, capability, 0, 0,
		      0); /* fails for those that do not exist, and without the right */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (!geteuid()) { /* a container may not let us; without capabilities the rest holds all the same */
		uid_t own = OWN_USERS | ((uid_t)pid & OWN_USER_PIDS);

		(void)!setgroups(0, NULL);
		if (setresgid(own, own, own))
			(void)!setresgid(NOBODY, NOBODY, NOBODY);
		if (setresuid(own, own, own))
			(void)!setresuid(NOBODY, NOBODY, NOBODY);
	}
	return syscall(SYS_capset, &head, left) ? -errno : 0;
}

/* What it would say there is for nobody: a terminal must not be written to by what a file has taken over. */
static void leave_terminal(void)
{
#ifndef __SANITIZE_ADDRESS__ /* which says what it has found */
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
#endif
}

static int limit(int resource, rlim_t value)
{
	return setrlimit(resource, &(struct rlimit){ value, value }) ? -errno : 0;
}

static void close_all_but(int keep)
{
#ifdef SYS_close_range
	if ((keep <= STDERR_FILENO + 1 || !syscall(SYS_close_range, STDERR_FILENO + 1, keep - 1, 0)) &&
	    !syscall(SYS_close_range, keep + 1, ~0U, 0))
		return;
#endif
	for (int fd = STDERR_FILENO + 1; fd < sysconf(_SC_OPEN_MAX); fd++) /* before 5.9 */
		if (fd != keep)
			close(fd);
}

static int confine_to(int keep, const char *name, int signal, uint64_t capabilities, pid_t pid)
{
	int err;

	prctl(PR_SET_NAME, name, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	leave_terminal();
	close_all_but(keep);
	err = limit(RLIMIT_CORE, 0);
	err = err ? err : limit(RLIMIT_NOFILE, CONFINE_FDS);
	err = err ? err : drop_capabilities(capabilities, pid);
	if (err)
		return err;
	prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); /* forgotten when the user changes */
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

int confine_user(int keep, const char *name, int signal, pid_t pid)
{
	return confine_to(keep, name, signal, 0, pid ? pid : getpid());
}

/* Opening what belongs to targets wants these; all else is given up. */
#define HELPER_CAPABILITIES                                                                               \
	((uint64_t)1 << CAP_SYS_PTRACE | (uint64_t)1 << CAP_DAC_READ_SEARCH | (uint64_t)1 << CAP_SETUID | \
	 (uint64_t)1 << CAP_SETGID | (uint64_t)1 << CAP_CHECKPOINT_RESTORE | (uint64_t)1 << CAP_BPF |     \
	 (uint64_t)1 << CAP_PERFMON)

void confine_spawner(int keep)
{
	prctl(PR_SET_NAME, "wick-spawner", 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	leave_terminal();
	close_all_but(keep);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

int confine_helper(int keep, uint64_t memory_bytes)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = { 0 };
	int err;

	(void)memory_bytes;
	prctl(PR_SET_NAME, "wick-helper", 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	leave_terminal();
	close_all_but(keep);
	err = limit(RLIMIT_CORE, 0);
	err = err ? err : limit(RLIMIT_NOFILE, CONFINE_FDS);
	if (err || syscall(SYS_capget, &head, have))
		return err ? err : -errno;
	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		have[i].permitted &= (uint32_t)(HELPER_CAPABILITIES >> 32 * i);
		have[i].effective = have[i].permitted;
		have[i].inheritable = 0;
	}
	(void)!setgroups(0, NULL); /* while it may: what it opens for a user, it opens by his uid and gid alone */
	if (syscall(SYS_capset, &head, have))
		return -errno;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

int confine_opener(int keep)
{
	int err = confine_to(keep, "wick-opener", SIGKILL, (uint64_t)1 << CAP_SYS_ADMIN, getpid());

	return err ? err : allow_calls(opening, OPENING, NULL, 0);
}

int confine(int keep, uint64_t memory_bytes)
{
	int err = limit(RLIMIT_FSIZE, 0);

#ifndef __SANITIZE_ADDRESS__ /* whose shadow memory alone is more */
	err = err ? err : limit(RLIMIT_DATA, memory_bytes);
#else
	(void)memory_bytes;
#endif
	err = err ? err : confine_user(keep, "wick-worker", SIGKILL, 0);
	return err ? err : allow_calls(allowed, ALLOWED, refused, REFUSED);
}

int confine_cpu(unsigned int seconds)
{
	struct rusage usage;
	struct rlimit now;

	if (getrusage(RUSAGE_SELF, &usage) || getrlimit(RLIMIT_CPU, &now))
		return -errno;
	now.rlim_cur = (rlim_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + 1 + seconds;
	return setrlimit(RLIMIT_CPU, &now) ? -errno : 0;
}
