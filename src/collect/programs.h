/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes that were noticed run, as texts of their own: most of them are never sampled, and must not leave
 * anything in the profile. Pure.
 */
#ifndef WICK_COLLECT_PROGRAMS_H
#define WICK_COLLECT_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct program_text {
	uint32_t processes; /* that run it */
	uint32_t exe_len, comm_len;
	char text[]; /* the path, then the name */
};

struct programs {
	struct map by_process; /* id → struct program_text */
	size_t bytes;          /* of all texts */
};

void programs_free(struct programs *programs);
size_t programs_memory(const struct programs *programs);

/* A process runs another program. Beyond a limit of all texts together the path is left out. */
int programs_set(struct programs *programs, uint64_t process, const char *exe, size_t exe_len, const char *comm,
		 size_t comm_len);
/* A process runs what another one does, if that is known. */
int programs_share(struct programs *programs, uint64_t process, uint64_t with);
const struct program_text *programs_get(const struct programs *programs, uint64_t process); /* NULL: not known */
void programs_forget(struct programs *programs, uint64_t process);

#endif
