/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command without some of root's powers.
 *
 *   without [-c CAPABILITY]... [-l BYTES] COMMAND...
 *
 * -c takes a capability away for good, by its number; -l limits locked memory. Statuses 125 to 127 are its own.
 */
#include "prog.h"
#include <sys/prctl.h>
#include <sys/resource.h>

static void drop(unsigned long capability)
{
	if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
		prog_die("dropping a capability");
}

static void limit(unsigned long bytes)
{
	struct rlimit locked = { bytes, bytes };

	if (setrlimit(RLIMIT_MEMLOCK, &locked))
		prog_die("limiting locked memory");
}

int main(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "+c:l:")) != -1) {
		if (opt == 'c')
			drop(strtoul(optarg, NULL, 10));
		else if (opt == 'l')
			limit(strtoul(optarg, NULL, 10));
		else
			return 125;
	}
	if (optind >= argc)
		return 125;
	execvp(argv[optind], argv + optind);
	perror(argv[optind]);
	return 127;
}
