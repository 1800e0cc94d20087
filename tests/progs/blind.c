/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that a sampler cannot see all of: it reads a large value of a BPF map over and over, and while the kernel copies
 * that it runs no BPF program on the CPU. Ticks that come then are gone.
 *
 *   blind CPU [BUSY_MS IDLE_MS]
 *
 * Until it is killed. With two more numbers it works for so long, sleeps for so long, and so on.
 */
#include "prog.h"
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <sys/syscall.h>

#define VALUE_BYTES (4 << 20)

static long bpf(enum bpf_cmd what, union bpf_attr *attr)
{
	return syscall(SYS_bpf, what, attr, sizeof(*attr));
}

static void pin(unsigned int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		prog_die("sched_setaffinity");
}

int main(int argc, char **argv)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = VALUE_BYTES,
		.max_entries = 1,
	};
	double busy = argc == 4 ? atof(argv[2]) / 1e3 : 0, begin = prog_clock(CLOCK_MONOTONIC);
	struct timespec idle = { .tv_nsec = argc == 4 ? atol(argv[3]) * 1000000 : 0 };
	void *value = malloc(VALUE_BYTES);
	uint32_t key = 0;
	int map;

	if (argc != 2 && argc != 4)
		return 2;
	prog_begin();
	pin((unsigned int)atoi(argv[1]));
	map = (int)bpf(BPF_MAP_CREATE, &attr);
	if (map < 0 || !value)
		prog_die("a map");
	attr = (union bpf_attr){ .map_fd = (uint32_t)map, .key = (uintptr_t)&key, .value = (uintptr_t)value };
	while (!bpf(BPF_MAP_LOOKUP_ELEM, &attr)) {
		if (!busy || prog_clock(CLOCK_MONOTONIC) < begin + busy)
			continue;
		nanosleep(&idle, NULL);
		begin = prog_clock(CLOCK_MONOTONIC);
	}
	prog_die("reading the map");
	return 1;
}
