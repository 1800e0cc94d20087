/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts are shared by the processes that run the same program by way of a fork, and go with the last of them.
 * Invariant: each entry of the map counts as one process of its text; texts with a path take PROGRAMS_BYTES at most.
 */
#include "collect/programs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAMS_BYTES ((size_t)4 << 20)

static struct program_text *text_of(const uint64_t *slot)
{
	return slot ? (struct program_text *)(uintptr_t)*slot : NULL;
}

static size_t size_of(const struct program_text *text)
{
	return sizeof(*text) + text->exe_len + text->comm_len;
}

static void drop(struct programs *programs, struct program_text *text)
{
	if (!text || --text->processes)
		return;
	programs->bytes -= size_of(text);
	free(text);
}

void programs_free(struct programs *programs)
{
	const struct map_slot *slot;
	size_t at = 0;

	while ((slot = map_next(&programs->by_process, &at)))
		drop(programs, text_of(&slot->value));
	map_free(&programs->by_process);
}

size_t programs_memory(const struct programs *programs)
{
	return map_bytes(&programs->by_process) + programs->bytes;
}

/* Takes the text, for one more process. */
static int put(struct programs *programs, uint64_t process, struct program_text *text)
{
	uint64_t *slot = map_put(&programs->by_process, process);
	struct program_text *before = text_of(slot);

	text->processes++;
	if (!slot) {
		drop(programs, text);
		return -ENOMEM;
	}
	*slot = (uintptr_t)text;
	drop(programs, before);
	return 0;
}

int programs_set(struct programs *programs, uint64_t process, const char *exe, size_t exe_len, const char *comm,
		 size_t comm_len)
{
	struct program_text *text;

	if (programs->bytes + exe_len > PROGRAMS_BYTES)
		exe_len = 0;
	text = malloc(sizeof(*text) + exe_len + comm_len);
	if (!text)
		return -ENOMEM;
	*text = (struct program_text){ .exe_len = (uint32_t)exe_len, .comm_len = (uint32_t)comm_len };
	if (exe_len)
		memcpy(text->text, exe, exe_len);
	if (comm_len)
		memcpy(text->text + exe_len, comm, comm_len);
	programs->bytes += size_of(text);
	return put(programs, process, text);
}

int programs_share(struct programs *programs, uint64_t process, uint64_t with)
{
	struct program_text *text = text_of(map_get(&programs->by_process, with));

	return text ? put(programs, process, text) : 0;
}

const struct program_text *programs_get(const struct programs *programs, uint64_t process)
{
	return text_of(map_get(&programs->by_process, process));
}

void programs_forget(struct programs *programs, uint64_t process)
{
	drop(programs, text_of(map_get(&programs->by_process, process)));
	map_remove(&programs->by_process, process);
}
