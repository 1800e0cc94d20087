/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slabs are written and read here through mappings, of which there are few at a time: the kernel side has all of them
 * in any case. Invariant: what was taken is in one place, and nobody else's until it is given back.
 */
#include "collect/slabs.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPPED_MAX 4 /* slabs that are mapped, to be written */

void slabs_open(struct slabs *slabs, uint64_t bytes, int map)
{
	uint64_t max = bytes / sizeof(struct wire_slab);

	*slabs = (struct slabs){ .map = map, .max = max < SLABS_MAX ? (max ? (unsigned int)max : 1) : SLABS_MAX };
}

void slabs_close(struct slabs *slabs)
{
	for (unsigned int i = 0; i < slabs->len; i++) {
		if (slabs->list[i].cells)
			munmap(slabs->list[i].cells, sizeof(struct wire_slab));
		close(slabs->list[i].fd);
		extent_clear(&slabs->list[i].free);
	}
	for (size_t i = 0; i < SLABS_VIEWS; i++)
		if (slabs->views[i].at)
			munmap(slabs->views[i].at, slabs->views[i].len);
	slabs->len = 0;
}

uint64_t slabs_cells_max(const struct slabs *slabs)
{
	return (uint64_t)slabs->max * WIRE_SLAB_CELLS;
}

uint64_t slabs_bytes(const struct slabs *slabs)
{
	return slabs->len * sizeof(struct wire_slab);
}

/* Unmaps the slab that was not looked at for the longest. */
static void unmap_one(struct slabs *slabs)
{
	struct slab *oldest = NULL;

	for (unsigned int i = 0; i < slabs->len; i++) {
		struct slab *slab = &slabs->list[i];

		if (slab->cells && (!oldest || slab->used < oldest->used))
			oldest = slab;
	}
	munmap(oldest->cells, sizeof(*oldest->cells));
	oldest->cells = NULL;
	slabs->mapped--;
}

uint16_t *slabs_write(struct slabs *slabs, const struct wire_page *page)
{
	struct slab *slab = &slabs->list[page->slab];
	void *cells;

	slab->used = ++slabs->uses;
	if (!slab->cells) {
		if (slabs->mapped >= MAPPED_MAX)
			unmap_one(slabs);
		cells = mmap(NULL, sizeof(*slab->cells), PROT_READ | PROT_WRITE, MAP_SHARED, slab->fd, 0);
		if (cells == MAP_FAILED)
			return NULL;
		slab->cells = cells;
		slabs->mapped++;
	}
	return slab->cells->cells + page->start;
}

/* Maps a page in the place of one that was not looked at for the longest. */
static bool view_map(struct slabs *slabs, struct view *view, const struct wire_page *page)
{
	size_t unit = (size_t)sysconf(_SC_PAGESIZE), from = page->start * sizeof(uint16_t);
	size_t skip = from % unit, len = skip + page->count * 2 * sizeof(uint16_t);
	void *at = mmap(NULL, len, PROT_READ, MAP_SHARED, slabs->list[page->slab].fd, (off_t)(from - skip));

	if (at == MAP_FAILED)
		return false;
	if (view->at)
		munmap(view->at, view->len);
	*view = (struct view){ page->slab, page->start, page->count, at, len, skip, 0 };
	return true;
}

const uint16_t *slabs_read(struct slabs *slabs, const struct wire_page *page)
{
	struct view *view = NULL, *oldest = &slabs->views[0];

	for (size_t i = 0; i < SLABS_VIEWS && !view; i++) {
		struct view *one = &slabs->views[i];

		if (one->at && one->slab == page->slab && one->start == page->start && one->count == page->count)
			view = one;
		if (one->used < oldest->used)
			oldest = one;
	}
	if (!view && !view_map(slabs, view = oldest, page))
		return NULL;
	view->used = ++slabs->uses;
	return (const uint16_t *)(view->at + view->skip);
}

static int add_slab(struct slabs *slabs)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct slab *slab = &slabs->list[slabs->len];
	int fd;

	if (slabs->len >= slabs->max)
		return -ENOSPC;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "wick_slab", sizeof(uint32_t), sizeof(struct wire_slab), 1, &options);
	if (fd < 0)
		return -errno;
	if (bpf_map_update_elem(slabs->map, &slabs->len, &fd, BPF_ANY)) {
		int err = -errno;

		close(fd);
		return err;
	}
	*slab = (struct slab){ .fd = fd, .free = { .size = WIRE_SLAB_CELLS } };
	slabs->len++;
	return 0;
}

int slabs_take(struct slabs *slabs, uint32_t count, struct wire_page *ret)
{
	int err = 0;

	for (unsigned int i = 0; i < SLABS_MAX && !err; i++) {
		int64_t start;

		err = i < slabs->len ? 0 : add_slab(slabs);
		start = err ? err : extent_take(&slabs->list[i].free, count * 2);
		if (start < 0)
			continue;
		*ret = (struct wire_page){ .slab = i, .start = (uint32_t)start, .count = count };
		return 0;
	}
	return err ? err : -ENOSPC;
}

void slabs_give(struct slabs *slabs, struct wire_page *page)
{
	if (page->count)
		extent_give(&slabs->list[page->slab].free, page->start, page->count * 2);
	*page = (struct wire_page){ 0 };
}
