/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few entries that are looked through one by one. What an entry costs is what its symbols say they use; the files
 * themselves are mapped, and their pages are given back now and then.
 *
 * Invariant: the sum of the bytes is within SHELF_BYTES.
 */
#include "worker/shelf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "sym/symbols.h"
#include "worker/protocol.h"
#include "worker/worker.h"

#define SHELF_FILES 32
#define SHELF_BYTES ((size_t)12 << 20)
#define REST_EVERY 512 /* addresses that are asked about: each may touch another part of its file */

struct identity {
	uint64_t device, inode, size, modified_ns, changed_ns;
};

struct key {
	struct identity files[WORKER_FDS];
	uint64_t demangle, len;
	char file[256];
};

struct entry {
	struct key key;
	struct symbols *symbols; /* NULL: free */
	size_t bytes;
	uint64_t used; /* the greatest was used last */
	bool touched;  /* since its files' pages were given back */
};

struct shelf {
	struct entry entries[SHELF_FILES];
	size_t bytes;
	uint64_t uses;
	uint64_t asked; /* addresses, since then */
};

int shelf_new(struct shelf **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void drop(struct shelf *shelf, struct entry *entry)
{
	symbols_free(entry->symbols);
	shelf->bytes -= entry->bytes;
	entry->symbols = NULL;
	entry->bytes = 0;
}

void shelf_free(struct shelf *shelf)
{
	for (size_t i = 0; shelf && i < SHELF_FILES; i++)
		drop(shelf, &shelf->entries[i]);
	free(shelf);
}

/* False: it is not to be kept. Reading lines and inlined functions has limits of its own, for each time. */
static bool key_of(const struct ask *ask, const int *fds, size_t fds_len, struct key *ret)
{
	struct stat stat;

	memset(ret, 0, sizeof(*ret));
	if (ask->inlines || ask->lines || fds_len > WORKER_FDS || ask->file_len >= sizeof(ret->file))
		return false;
	for (size_t i = 0; i < fds_len; i++) {
		if (fstat(fds[i], &stat))
			return false;
		ret->files[i] = (struct identity){
			.device = stat.st_dev,
			.inode = stat.st_ino,
			.size = (uint64_t)stat.st_size,
			.modified_ns = (uint64_t)stat.st_mtim.tv_sec * NS_PER_SEC + (uint64_t)stat.st_mtim.tv_nsec,
			.changed_ns = (uint64_t)stat.st_ctim.tv_sec * NS_PER_SEC + (uint64_t)stat.st_ctim.tv_nsec,
		};
	}
	ret->demangle = ask->demangle;
	ret->len = fds_len;
	memcpy(ret->file, ask->file, ask->file_len);
	return true;
}

/* What is touched of mapped files counts as memory of this process: it is not to add up. */
static void rest_all(struct shelf *shelf)
{
	for (size_t i = 0; i < SHELF_FILES; i++) {
		struct entry *entry = &shelf->entries[i];

		if (entry->symbols && entry->touched)
			symbols_rest(entry->symbols);
		entry->touched = false;
	}
	shelf->asked = 0;
}

struct symbols *shelf_find(struct shelf *shelf, const struct ask *ask, const int *fds, size_t fds_len)
{
	struct key key;

	if (!key_of(ask, fds, fds_len, &key))
		return NULL;
	for (size_t i = 0; i < SHELF_FILES; i++) {
		struct entry *entry = &shelf->entries[i];

		if (!entry->symbols || memcmp(&entry->key, &key, sizeof(key)))
			continue;
		entry->used = ++shelf->uses;
		shelf->asked += ask->addresses_len;
		if (shelf->asked > REST_EVERY)
			rest_all(shelf);
		entry->touched = true;
		return entry->symbols;
	}
	return NULL;
}

static struct entry *oldest(struct shelf *shelf, bool free_too)
{
	struct entry *found = NULL;

	for (size_t i = 0; i < SHELF_FILES; i++) {
		struct entry *entry = &shelf->entries[i];

		if (!entry->symbols && free_too)
			return entry;
		if (entry->symbols && (!found || entry->used < found->used))
			found = entry;
	}
	return found;
}

void shelf_put(struct shelf *shelf, const struct ask *ask, const int *fds, size_t fds_len, struct symbols *symbols)
{
	size_t bytes = symbols_memory(symbols);
	struct entry *entry;
	struct key key;

	if (bytes > SHELF_BYTES || !key_of(ask, fds, fds_len, &key)) {
		symbols_free(symbols);
		return;
	}
	while (shelf->bytes + bytes > SHELF_BYTES)
		drop(shelf, oldest(shelf, false));
	entry = oldest(shelf, true);
	if (entry->symbols)
		drop(shelf, entry);
	*entry = (struct entry){ .key = key, .symbols = symbols, .bytes = bytes, .used = ++shelf->uses };
	shelf->bytes += bytes;
}
