/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for the rows of unwind tables that the kernel side reads: BPF arrays of one large value, made as they are
 * needed.
 */
#ifndef WICK_COLLECT_SLABS_H
#define WICK_COLLECT_SLABS_H

#include <stddef.h>
#include <stdint.h>

#include "base/extent.h"
#include "bpf/wire.h"

#define SLABS_MAX 256
#define SLABS_VIEWS 128 /* pages of tables that are mapped here, to be read */

struct slab {
	int fd;
	struct wire_slab *cells; /* NULL: not mapped */
	uint64_t used;           /* the greatest was used last */
	struct extents free;
};

/* A page of a table, wherever it lies in its slab. */
struct view {
	uint32_t slab, start, count;
	char *at; /* NULL: free */
	size_t len, skip;
	uint64_t used;
};

struct slabs {
	int map; /* of the kernel side: the slabs by number */
	struct slab list[SLABS_MAX];
	unsigned int len, max, mapped;
	uint64_t uses;
	struct view views[SLABS_VIEWS];
};

/* As many as fit into so many bytes, and at least one. */
void slabs_open(struct slabs *slabs, uint64_t bytes, int map);
void slabs_close(struct slabs *slabs);

uint64_t slabs_cells_max(const struct slabs *slabs);
uint64_t slabs_bytes(const struct slabs *slabs); /* that they take now */

/* Room for a page of so many rows. -ENOSPC: there is none. */
int slabs_take(struct slabs *slabs, uint32_t count, struct wire_page *ret);
void slabs_give(struct slabs *slabs, struct wire_page *page);

/* The cells of a page, good until those of another are asked for. NULL: they cannot be mapped. */
uint16_t *slabs_write(struct slabs *slabs, const struct wire_page *page);
const uint16_t *slabs_read(struct slabs *slabs, const struct wire_page *page); /* of one that has some */

#endif
