/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the worker's code about a file, in a process confined as the worker is: served KIND FILE [TIMES]
 *
 * KIND is rows, names, lines (and inlined functions), jit or identify. Prints "REASON CPU_US RSS_KIB BYTES": why there
 * is nothing, or -; "died-SIGNAL" where it did. The CPU time is the least of those TIMES that it was asked.
 */
#include "serving.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
	const struct serving_kind *kind = argc > 2 ? serving_kind(argv[1]) : NULL;
	int fd = kind ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1, times = argc > 3 ? atoi(argv[3]) : 1;
	struct serving one = { 0 }, best = { .cpu_ns = UINT64_MAX };
	autobuf struct buf request = { 0 };
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat)) {
		fprintf(stderr, "usage: served KIND FILE [TIMES]\n");
		return 2;
	}
	serving_request(kind, (uint64_t)stat.st_size, &request);
	for (int i = 0; i < times; i++) {
		if (serving_ask(&request, fd, &one))
			return 1;
		best = one.cpu_ns < best.cpu_ns ? one : best;
	}
	if (!best.answered)
		snprintf(best.reason, sizeof(best.reason), "died-%d", best.signal ? best.signal : -best.status);
	printf("%s %llu %" PRIu64 " %" PRIu64 "\n", best.reason, (unsigned long long)best.cpu_ns / NS_PER_US,
	       best.rss >> 10, best.bytes);
	return 0;
}
