/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks once through /proc for processes that run at this moment or have been busy for much of their lives, and hands
 * their files, one at a time, to the tables. A helper lists their mappings and opens them. What counts is the id that
 * the kernel side gives to a mapping of the opened file, so a path is never believed. Large files are left until a
 * sample asks for them: they cost as much as many small ones, and the guess may be wrong; so are those that need a
 * copy.
 */
#include "collect/preload.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "bpf/wire.h"
#include "collect/helpers.h"
#include "collect/origin.h"
#include "collect/tables.h"
#include "proc/maps.h"
#include "proc/process.h"
#include "worker/pool.h"

#define LOOKED_AT 4096 /* processes, of those that a machine has */
#define PROCESSES 8
#define FILES 16
#define FILE_BYTES ((uint64_t)5 << 20)
#define ALL_BYTES ((uint64_t)8 << 20)
#define BUSY_PERMILLE 200 /* of one CPU over its life */
#define RUNNING 1000000   /* in weight: before all that are not */

struct candidate {
	uint32_t pid;
	uint64_t weight;
};

struct wanted {
	uint64_t id;
	int fd;
	char *path; /* where it was mapped from, to look for its debug file */
};

struct preload {
	struct preload_options options;
	struct candidate list[PROCESSES + 1]; /* heaviest first */
	size_t len, at;
	struct buf maps; /* of the process before `at` */
	size_t maps_at;
	struct maps_line line; /* of them: whose file is being opened */
	bool asking;           /* a helper is */
	bool freed;            /* while it was: its answer is the last thing */
	struct map seen;       /* device and inode, of files; ids, of tables */
	struct wanted wanted[FILES];
	size_t wanted_len;
	uint64_t bytes;
};

static void add_candidate(struct preload *preload, uint32_t pid)
{
	struct process_load load;
	struct candidate new = { .pid = pid };
	size_t at;

	if (pid == (uint32_t)getpid() || preload->options.is_own(preload->options.arg, pid) || process_load(pid, &load))
		return;
	new.weight = load.permille + (load.running ? RUNNING : 0);
	if (new.weight < BUSY_PERMILLE && !preload->options.pids_len)
		return;
	for (at = preload->len; at && preload->list[at - 1].weight < new.weight; at--)
		preload->list[at] = preload->list[at - 1];
	preload->list[at] = new;
	if (preload->len < PROCESSES)
		preload->len++;
}

static void find_candidates(struct preload *preload)
{
	DIR *dir = preload->options.pids_len ? NULL : opendir("/proc");
	unsigned int looked = 0;
	struct dirent *entry;

	for (size_t i = 0; i < preload->options.pids_len && i < LOOKED_AT; i++)
		add_candidate(preload, preload->options.pids[i]);
	while (dir && looked < LOOKED_AT && (entry = readdir(dir))) {
		unsigned long pid = strtoul(entry->d_name, NULL, 10);

		if (!pid || pid > INT32_MAX)
			continue;
		looked++;
		add_candidate(preload, (uint32_t)pid);
	}
	if (dir)
		closedir(dir);
}

int preload_new(struct preload **ret, const struct preload_options *options)
{
	struct preload *preload = calloc(1, sizeof(*preload));

	if (!preload)
		return -ENOMEM;
	preload->options = *options;
	find_candidates(preload);
	*ret = preload;
	return 0;
}

void preload_free(struct preload *preload)
{
	if (!preload)
		return;
	if (preload->asking) {
		preload->freed = true;
		return;
	}
	for (size_t i = 0; i < preload->wanted_len; i++) {
		close(preload->wanted[i].fd);
		free(preload->wanted[i].path);
	}
	buf_free(&preload->maps);
	map_free(&preload->seen);
	free(preload);
}

static bool is_new(struct preload *preload, uint64_t key)
{
	uint64_t *seen = map_put(&preload->seen, key);

	if (!seen || *seen)
		return false;
	*seen = 1;
	return true;
}

/* The next mapping with code of a file that was not looked at yet. */
static bool next_mapping(struct preload *preload)
{
	struct maps_line *line = &preload->line;

	while (maps_next(preload->maps.data, preload->maps.len, &preload->maps_at, line))
		if (line->executable && line->inode &&
		    is_new(preload, wire_mix(wire_mix(0, line->device), line->inode)))
			return true;
	return false;
}

/* A file that no one but root can hold up, of the right size: its table is asked for. The file is kept. */
static bool want(struct preload *preload, int fd, const struct opened *opened)
{
	struct wanted *wanted = &preload->wanted[preload->wanted_len];
	struct origin origin = { .pid = preload->list[preload->at - 1].pid, .uid = UINT64_MAX, .maker = POOL_ANYONE };

	origin_opened(&origin, opened);
	origin.user = origin.maker;
	if (!opened->trusted || !opened->size || opened->size > FILE_BYTES || opened->size > ALL_BYTES - preload->bytes)
		return false;
	if (!is_new(preload, opened->id) || tables_knows(preload->options.tables, opened->id))
		return false;
	preload->bytes += opened->size;
	*wanted = (struct wanted){ .id = opened->id,
				   .fd = fd,
				   .path = strndup(preload->line.path, preload->line.path_len) };
	preload->wanted_len++;
	tables_want(preload->options.tables, opened->id, fd, &origin);
	return true;
}

static void answered(void *arg, const struct opened *opened, int fd, const char *text, size_t len)
{
	struct preload *preload = arg;

	preload->asking = false;
	if (preload->freed) {
		if (fd >= 0)
			close(fd);
		preload_free(preload);
		return;
	}
	if (!opened->err && fd < 0)
		buf_add(&preload->maps, text, len);
	else if (!opened->err && !want(preload, fd, opened))
		close(fd);
}

/* Asks a helper for the file of a mapping, or for the mappings of the next process. */
static bool ask(struct preload *preload, enum opening_kind kind)
{
	struct helper_request request = {
		.opening = { .kind = kind,
			     .pid = preload->list[preload->at - 1].pid,
			     .vm_start = preload->line.start,
			     .vm_end = preload->line.end },
		.sampler = preload->options.sampler,
		.user = POOL_ANYONE, /* a guess is for nobody */
		.done = answered,
		.arg = preload,
	};

	preload->asking = !helpers_ask(preload->options.helpers, &request);
	return preload->asking;
}

bool preload_next(struct preload *preload)
{
	if (preload->asking)
		return true;
	if (preload->wanted_len >= FILES)
		return false;
	if (next_mapping(preload))
		return ask(preload, OPENING_MAPPED);
	if (preload->at >= preload->len)
		return false;
	preload->at++;
	buf_clear(&preload->maps);
	preload->maps_at = 0;
	return ask(preload, OPENING_MAPS);
}

size_t preload_count(const struct preload *preload)
{
	return preload ? preload->wanted_len : 0;
}

const char *preload_path(const struct preload *preload, uint64_t id)
{
	for (size_t i = 0; preload && i < preload->wanted_len; i++)
		if (preload->wanted[i].id == id)
			return preload->wanted[i].path;
	return NULL;
}
