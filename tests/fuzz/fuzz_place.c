/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a cgroup path: texts that end, a runtime only with a container, nothing that is not in the path. However
 * much of it root has named, what others did carries their user, and nothing else does.
 */
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

static void must_end(const struct place *place)
{
	must(memchr(place->unit, 0, sizeof(place->unit)) && memchr(place->container, 0, sizeof(place->container)));
	must(memchr(place->runtime, 0, sizeof(place->runtime)) && memchr(place->pod, 0, sizeof(place->pod)));
	must(memchr(place->user_unit, 0, sizeof(place->user_unit)) != NULL);
	must(!place->runtime[0] || place->container[0]);
}

/* A user's, or the same as root's own words say. */
static void must_be_whose(const char *text, const char *roots)
{
	must(!strncmp(text, "1000/", 5) || !strcmp(text, roots));
	must(*roots == 0 || !strcmp(text, roots));
}

static void try_owner(const uint8_t *data, size_t size, size_t root_len)
{
	const struct place_names users = { root_len, 1000 }, unknown = { root_len, PLACE_UNKNOWN };
	struct place place, roots;

	place_named((const char *)data, size, &users, &place);
	place_named((const char *)data, size, &unknown, &roots);
	must_end(&place);
	must_end(&roots);
	must(!strchr(roots.unit, '/') && !strchr(roots.container, '/') && !strchr(roots.pod, '/'));
	must(!roots.user_unit[0] && !strcmp(place.unit, roots.unit));
	must(!place.user_unit[0] || !strncmp(place.user_unit, "1000/", 5));
	must_be_whose(place.container, roots.container);
	must_be_whose(place.pod, roots.pod);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct place place;
	char text[16];

	memset(&place, 'x', sizeof(place));
	place_of((const char *)data, size, &place);
	must_end(&place);
	must(!place.unit[0] || memmem(data, size, place.unit, strlen(place.unit)));
	must(strlen(place.pod) == 0 || strlen(place.pod) == 32 || strlen(place.pod) == 36);
	for (size_t room = 1; room <= sizeof(text); room++) {
		place_short(place.container, text, room);
		must(strlen(text) < room && !memcmp(text, place.container, strlen(text)));
	}
	for (size_t part = 0; part <= 4; part++)
		try_owner(data, size, size / 4 * part);
	return 0;
}
