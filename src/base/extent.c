/* SPDX-License-Identifier: Apache-2.0 */
/* First fit over a sorted list of free runs, which is joined again when runs come back. */
#include "base/extent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void remove_run(struct extents *extents, size_t at)
{
	memmove(&extents->free[at], &extents->free[at + 1], (extents->len - at - 1) * sizeof(*extents->free));
	extents->len--;
}

int64_t extent_take(struct extents *extents, uint32_t len)
{
	uint32_t start;

	for (size_t i = 0; i < extents->len; i++) {
		struct extent_run *run = &extents->free[i];

		if (run->len < len)
			continue;
		start = run->start;
		run->start += len;
		run->len -= len;
		if (!run->len)
			remove_run(extents, i);
		return start;
	}
	if (len > extents->size - extents->top)
		return -ENOSPC;
	start = extents->top;
	extents->top += len;
	return start;
}

int extent_give(struct extents *extents, uint32_t start, uint32_t len)
{
	size_t at = 0;

	while (at < extents->len && extents->free[at].start < start)
		at++;
	if (at && extents->free[at - 1].start + extents->free[at - 1].len == start) {
		extents->free[--at].len += len;
	} else {
		if (extents->len == extents->cap) {
			size_t cap = extents->cap ? extents->cap * 2 : 16;
			struct extent_run *grown = reallocarray(extents->free, cap, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			extents->free = grown;
			extents->cap = cap;
		}
		memmove(&extents->free[at + 1], &extents->free[at], (extents->len - at) * sizeof(*extents->free));
		extents->free[at] = (struct extent_run){ start, len };
		extents->len++;
	}
	if (at + 1 < extents->len && extents->free[at].start + extents->free[at].len == extents->free[at + 1].start) {
		extents->free[at].len += extents->free[at + 1].len;
		remove_run(extents, at + 1);
	}
	if (at + 1 == extents->len && extents->free[at].start + extents->free[at].len == extents->top) {
		extents->top = extents->free[at].start;
		extents->len--;
	}
	return 0;
}

void extent_clear(struct extents *extents)
{
	free(extents->free);
	*extents = (struct extents){ .size = extents->size };
}
