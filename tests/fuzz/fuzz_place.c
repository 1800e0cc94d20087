/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a cgroup path: texts that end, a runtime only with a container, nothing that is not in the path. */
#include "proc/place.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct place place;
	char text[16];

	memset(&place, 'x', sizeof(place));
	place_of((const char *)data, size, &place);
	must(memchr(place.unit, 0, sizeof(place.unit)) && memchr(place.container, 0, sizeof(place.container)));
	must(memchr(place.runtime, 0, sizeof(place.runtime)) && memchr(place.pod, 0, sizeof(place.pod)));
	must(!place.runtime[0] || place.container[0]);
	must(!place.unit[0] || memmem(data, size, place.unit, strlen(place.unit)));
	must(strlen(place.pod) == 0 || strlen(place.pod) == 32 || strlen(place.pod) == 36);
	for (size_t room = 1; room <= sizeof(text); room++) {
		place_short(place.container, text, room);
		must(strlen(text) < room && !memcmp(text, place.container, strlen(text)));
	}
	return 0;
}
