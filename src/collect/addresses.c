/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second best way to know what is mapped at an address: the text of /proc/PID/maps, read when the first stack of a
 * process comes up and kept for the window. A process that is gone by then keeps bare addresses; nothing is guessed.
 */
#include "collect/addresses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "proc/maps.h"
#include "profile/profile.h"

#define PROCESSES_MAX 64 /* whose maps are kept at once */

struct addresses {
	struct profile *profile;
	addresses_read *read;
	void *arg;
	struct map slots; /* pid → index + 1 */
	struct buf texts[PROCESSES_MAX];
	unsigned int next;
	uint32_t pids[PROCESSES_MAX];
};

int addresses_new(struct addresses **ret, struct profile *profile, addresses_read *read, void *arg)
{
	struct addresses *addresses = calloc(1, sizeof(*addresses));

	if (!addresses)
		return -ENOMEM;
	addresses->profile = profile;
	addresses->read = read;
	addresses->arg = arg;
	*ret = addresses;
	return 0;
}

void addresses_forget(struct addresses *addresses)
{
	map_free(&addresses->slots);
	addresses->slots = (struct map){ 0 };
}

void addresses_free(struct addresses *addresses)
{
	if (!addresses)
		return;
	addresses_forget(addresses);
	for (unsigned int i = 0; i < PROCESSES_MAX; i++)
		buf_free(&addresses->texts[i]);
	free(addresses);
}

static const struct buf *maps_of(struct addresses *addresses, uint32_t pid)
{
	uint64_t *slot = map_get(&addresses->slots, pid);
	unsigned int at;

	if (slot)
		return &addresses->texts[*slot];
	at = addresses->next++ % PROCESSES_MAX;
	map_remove(&addresses->slots, addresses->pids[at]);
	buf_clear(&addresses->texts[at]);
	if (addresses->read(addresses->arg, pid, &addresses->texts[at]))
		buf_clear(&addresses->texts[at]);
	slot = map_put(&addresses->slots, pid);
	if (!slot)
		return NULL;
	*slot = at;
	addresses->pids[at] = pid;
	return &addresses->texts[at];
}

void addresses_find(struct addresses *addresses, uint32_t pid, struct profile_frame *frame)
{
	const struct buf *text = pid ? maps_of(addresses, pid) : NULL;
	struct maps_line line;
	size_t at = 0;
	uint32_t path, file;

	while (text && maps_next(text->data, text->len, &at, &line)) {
		if (frame->address < line.start || frame->address >= line.end)
			continue;
		if (line.path_len == strlen("[vdso]") && !memcmp(line.path, "[vdso]", line.path_len)) {
			frame->kind = FRAME_VDSO;
			frame->process = PROFILE_NONE;
			frame->address -= line.start;
		}
		if (!line.path_len || *line.path != '/')
			return;
		path = profile_bytes(addresses->profile, line.path, line.path_len);
		if (path == PROFILE_FULL)
			return;
		file = profile_add_file(addresses->profile, &(struct profile_file){
								    .device = line.device,
								    .inode = line.inode,
								    .path = path,
							    });
		if (file == PROFILE_FULL)
			return;
		frame->kind = FRAME_USER;
		frame->process = PROFILE_NONE;
		frame->file = file;
		frame->address += line.offset - line.start;
		return;
	}
}
