/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel says no with one number for many reasons. Here the reason is found out, so that the one line a person
 * reads names what is missing and the command that gives it.
 */
#include "collect/refused.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/rights.h"
#include "proc/process.h"

#define SETCAP                                                                                            \
	"run as root, or once: setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_syslog," \
	"cap_checkpoint_restore+ep /path/to/wick"

#define MEMLOCK_ENOUGH ((rlim_t)64 << 20)

static bool have(uint64_t capabilities, int capability)
{
	return capabilities & (1ULL << capability | 1ULL << CAP_SYS_ADMIN);
}

static int sysctl_value(const char *path)
{
	autobuf struct buf text = { 0 };

	return file_read(path, 64, &text) || !text.len ? -1 : atoi(text.data);
}

int refused_early(void)
{
	uint64_t capabilities = self_capabilities();
	const char *missing = NULL;

	if (!have(capabilities, CAP_BPF) && !have(capabilities, CAP_PERFMON))
		missing = "CAP_BPF and CAP_PERFMON";
	else if (!have(capabilities, CAP_BPF))
		missing = "CAP_BPF";
	else if (!have(capabilities, CAP_PERFMON))
		missing = "CAP_PERFMON";
	if (missing) {
		fail_plain(-EPERM, "sampling the machine: %s missing", missing);
		return fail_hint(-EPERM, SETCAP);
	}
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		fail(-errno, "reading the kernel's types (/sys/kernel/btf/vmlinux)");
		return fail_hint(-ENOENT,
				 "wick needs /sys and a kernel with CONFIG_DEBUG_INFO_BTF, as distributions ship");
	}
	return 0;
}

int refused_load(int err)
{
	struct rlimit limit;

	if (err == -EPERM && !getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur < MEMLOCK_ENOUGH) {
		fail_plain(
			err,
			"loading the BPF programs: this kernel counts their memory as locked, and %llu KiB are allowed",
			(unsigned long long)limit.rlim_cur >> 10);
		return fail_hint(err, "ulimit -l unlimited, or give CAP_SYS_RESOURCE");
	}
	if (err == -EPERM && sysctl_value("/proc/sys/kernel/unprivileged_bpf_disabled") < 0) {
		fail(err, "loading the BPF programs");
		return fail_hint(err, "the kernel may be locked down; see /sys/kernel/security/lockdown");
	}
	fail(err, "loading the BPF programs");
	return fail_hint(err, "run again with --debug for the kernel's words");
}

int refused_event(int err)
{
	int paranoid = sysctl_value("/proc/sys/kernel/perf_event_paranoid");

	if ((err == -EACCES || err == -EPERM) && paranoid > 2) {
		fail_plain(err, "opening a perf event: kernel.perf_event_paranoid is %d, which shuts out CAP_PERFMON",
			   paranoid);
		return fail_hint(err, "run as root, or sysctl kernel.perf_event_paranoid=2");
	}
	if (err == -EMFILE) {
		fail(err, "opening a perf event for each CPU");
		return fail_hint(err, "raise the limit: ulimit -n");
	}
	fail(err, "opening a perf event");
	if (err == -ENOENT || err == -ENODEV || err == -EOPNOTSUPP)
		return fail_hint(err, "this machine has no such counter; leave out -e cycles");
	return err;
}
