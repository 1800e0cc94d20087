/* SPDX-License-Identifier: Apache-2.0 */
/* A thread: its stack ends in what clone3 started. */
#include <pthread.h>

#include "zoo.h"

ZOO_LAST(inner, zoo_spin)
ZOO_LEVEL(outer, inner)

static void *run(void *arg)
{
	unsigned long n = (unsigned long)arg;

	return (void *)(outer(n, 2, 3, 4, 5, 6) + n);
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, (void *)1))
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
