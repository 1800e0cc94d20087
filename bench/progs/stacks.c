// SPDX-License-Identifier: Apache-2.0
/*
 * Writes stacks for readers to be measured on, the same for the same arguments:
 *
 *   stacks folded LINES [SEED]    folded stacks, about 100 bytes a line, in no order, nearly all distinct
 *   stacks short LINES [SEED]     the same with about 40 bytes a line
 *   stacks perf BYTES [SEED]      what perf script prints, so many bytes or a few more
 *
 * Stacks grow like those of programs: a process has few roots, a function few callees, the first of them called most.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS 20000
#define PROCESSES 24
#define CALLEES 12
#define DEPTH_MAX 64

struct process {
	char comm[16];
	unsigned pid;
};

static char names[FUNCTIONS][48];
static struct process processes[PROCESSES];
static uint64_t state;

static uint64_t next(void)
{
	uint64_t value = state += 0x9e3779b97f4a7c15ULL;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

static unsigned below(unsigned end)
{
	return (unsigned)(next() % end);
}

static void make_names(void)
{
	static const char *const parts[] = { "get", "set",  "read", "write", "parse", "hash", "tree", "list",
					     "map", "node", "copy", "alloc", "free",  "poll", "lock", "sync",
					     "io",  "net",  "json", "page",  "cache", "sort", "find", "emit" };
	const unsigned count = sizeof(parts) / sizeof(*parts);

	for (unsigned i = 0; i < FUNCTIONS; i++) {
		int len = snprintf(names[i], sizeof(names[i]), "%s_%s", parts[below(count)], parts[below(count)]);

		if (below(4) == 0)
			len += snprintf(names[i] + len, sizeof(names[i]) - (size_t)len, "_%s", parts[below(count)]);
		snprintf(names[i] + len, sizeof(names[i]) - (size_t)len, "_%x", i);
	}
	for (unsigned i = 0; i < PROCESSES; i++) {
		processes[i].pid = 1000 + i * 37;
		snprintf(processes[i].comm, sizeof(processes[i].comm), "%s-%u", parts[below(count)], i);
	}
}

/* The callee of a function: always the same few, the first of them more often. */
static unsigned callee(unsigned function)
{
	unsigned which = below(CALLEES), other = below(CALLEES);
	uint64_t mixed = (function * 2654435761u) ^ ((which < other ? which : other) * 0x9e3779b9u);

	mixed = (mixed ^ mixed >> 15) * 0xd6e8feb86659fd93ULL;
	return (unsigned)((mixed ^ mixed >> 32) % FUNCTIONS);
}

static unsigned walk(unsigned process, unsigned depth, unsigned *stack)
{
	unsigned function = process % 3;

	for (unsigned i = 0; i < depth; i++)
		stack[i] = function = callee(function);
	return depth;
}

static void write_folded(uint64_t lines, unsigned shallowest)
{
	unsigned stack[DEPTH_MAX];

	for (uint64_t i = 0; i < lines; i++) {
		unsigned process = below(PROCESSES), depth = walk(process, shallowest + below(4), stack);

		fputs(processes[process].comm, stdout);
		for (unsigned k = 0; k < depth; k++) {
			putchar_unlocked(';');
			fputs(names[stack[k]], stdout);
			if (k + 2 > depth && process % 2)
				fputs("_[k]", stdout);
		}
		printf(" %u\n", 1 + below(1 + below(40)));
	}
}

static void write_perf(uint64_t bytes)
{
	unsigned stack[DEPTH_MAX];
	uint64_t written = 0, time_us = 1000000;

	while (written < bytes) {
		unsigned process = below(PROCESSES), depth = walk(process, 8 + below(24), stack);

		time_us += below(200);
		written += (uint64_t)printf("%s %5u [%03u] %5" PRIu64 ".%06" PRIu64 ":    1010101 cpu-clock:pppH: \n",
					    processes[process].comm, processes[process].pid, below(8),
					    time_us / 1000000, time_us % 1000000);
		while (depth--) {
			unsigned function = stack[depth], offset = below(256);

			written += (uint64_t)printf(
				"\t%16x %s+0x%x (%s)\n", 0x400000 + function * 256 + offset, names[function], offset,
				function % 5 ? "/usr/lib/x86_64-linux-gnu/libwork.so.1" : "[kernel.kallsyms]");
		}
		written += (uint64_t)printf("\n");
	}
}

int main(int argc, char **argv)
{
	uint64_t size = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	if (argc < 3 || argc > 4 || !size) {
		fprintf(stderr, "usage: stacks folded|short|perf SIZE [SEED]\n");
		return 2;
	}
	make_names();
	state = argc > 3 ? strtoull(argv[3], NULL, 10) * 0x632be59bd9b4e019ULL : 0;
	if (!strcmp(argv[1], "perf"))
		write_perf(size);
	else
		write_folded(size, !strcmp(argv[1], "short") ? 1 : 5);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
