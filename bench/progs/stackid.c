/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the program of stackid.bpf.c, which is beside this one as stackid.bpf.o, on every CPU: stackid HZ SECONDS.
 * For bench/progs/cost to look at; prints nothing.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .freq = 1 };
	char path[4096];
	struct bpf_object *object;
	struct bpf_program *program;

	if (argc != 3)
		return 2;
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.sample_freq = strtoull(argv[1], NULL, 10);
	snprintf(path, sizeof(path), "%s.bpf.o", argv[0]);
	object = bpf_object__open_file(path, NULL);
	if (!object || bpf_object__load(object))
		die(path);
	program = bpf_object__next_program(object, NULL);
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd >= 0 && !bpf_program__attach_perf_event(program, fd))
			die("attach");
	}
	sleep((unsigned int)atoi(argv[2]));
	return 0;
}
