/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends datagrams to itself over the loopback device, from one CPU, until killed. Nobody reads them, so where packets
 * are steered to another CPU, that one has work in softirq and no process to run.
 *
 *   udpflood CPU
 */
#include "prog.h"
#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>

/* The library has no frame of its own here, so the kernel's part follows the caller of this one. */
static NOINLINE void flood(int out, const struct sockaddr_in *to)
{
	static const char data[64];

	for (unsigned int i = 0; i < 1000; i++)
		if (sendto(out, data, sizeof(data), 0, (const struct sockaddr *)to, sizeof(*to)) < 0)
			prog_die("sendto");
	PROG_STAYS();
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t len = sizeof(to);
	cpu_set_t cpus;

	if (argc != 2)
		return 2;
	prog_begin();
	CPU_ZERO(&cpus);
	CPU_SET((unsigned int)atoi(argv[1]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		prog_die("sched_setaffinity");
	if (bind(in, (struct sockaddr *)&to, sizeof(to)) || getsockname(in, (struct sockaddr *)&to, &len))
		prog_die("bind");
	for (;;)
		flood(out, &to);
}
