/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes functions until it is ended: probe FILE OFFSET[r]...
 *
 * OFFSET is where in the file an instruction is, in hexadecimal; with an r the returns of the function that begins
 * there are probed. In every process; nobody is told of the hits. Prints `probing` when all of them are in place.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "probe: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* A number that the kernel gives away; the digits after the last of `before`. */
static unsigned long read_number(const char *path, const char *before)
{
	FILE *in = fopen(path, "re");
	char line[64] = "";
	const char *at;

	if (!in || !fgets(line, sizeof(line), in))
		die(path);
	fclose(in);
	at = strstr(line, before);
	return strtoul(at ? at + strlen(before) : line, NULL, 10);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	unsigned long bit;

	if (argc < 3) {
		fprintf(stderr, "usage: probe FILE OFFSET[r]...\n");
		return 2;
	}
	attr.type = (uint32_t)read_number("/sys/bus/event_source/devices/uprobe/type", "");
	bit = read_number("/sys/bus/event_source/devices/uprobe/format/retprobe", "config:");
	attr.uprobe_path = (uint64_t)(uintptr_t)argv[1];
	for (int i = 2; i < argc; i++) {
		char *end;

		attr.probe_offset = strtoull(argv[i], &end, 16);
		attr.config = *end == 'r' ? 1UL << bit : 0;
		if (syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC) < 0)
			die(argv[i]);
	}
	printf("probing\n");
	fflush(stdout);
	pause();
	return 0;
}
