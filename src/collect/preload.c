/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks once through /proc for processes that run at this moment or have been busy for much of their lives, and hands
 * their files, one at a time, to the tables. What counts is the id that the kernel side gives to a mapping of the
 * opened file, so a path is never believed. Large files are left until a sample asks for them: they cost as much as
 * many small ones, and the guess may be wrong.
 */
#include "collect/preload.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "bpf/wire.h"
#include "collect/files.h"
#include "collect/sampler.h"
#include "collect/tables.h"
#include "proc/maps.h"
#include "proc/process.h"

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
	struct map seen; /* device and inode, of files; ids, of tables */
	struct wanted wanted[FILES];
	size_t wanted_len;
	uint64_t bytes;
};

static void add_candidate(struct preload *preload, uint32_t pid)
{
	struct process_load load;
	struct candidate new = { .pid = pid };
	size_t at;

	if (pid == (uint32_t)getpid() || pid == preload->options.worker || process_load(pid, &load))
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

/* The next mapping with code of a file that was not looked at yet, and its process. */
static bool next_mapping(struct preload *preload, struct maps_line *ret)
{
	for (;;) {
		while (maps_next(preload->maps.data, preload->maps.len, &preload->maps_at, ret))
			if (ret->executable && ret->inode &&
			    is_new(preload, wire_mix(wire_mix(0, ret->device), ret->inode)))
				return true;
		if (preload->at >= preload->len)
			return false;
		buf_clear(&preload->maps);
		preload->maps_at = 0;
		maps_read(preload->list[preload->at++].pid, &preload->maps);
	}
}

/* A descriptor of the mapped file, or -errno. */
static int open_mapping(uint32_t pid, const struct maps_line *line)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)line->start,
		 (unsigned long long)line->end);
	return files_open_regular(path, 0);
}

/* Asks for the table of an open file, and keeps the file, if there is room for it. */
static bool want(struct preload *preload, int fd, const struct maps_line *line)
{
	struct wanted *wanted = &preload->wanted[preload->wanted_len];
	struct stat stat;
	uint64_t id;

	if (fstat(fd, &stat) || stat.st_size <= 0 || (uint64_t)stat.st_size > FILE_BYTES ||
	    (uint64_t)stat.st_size > ALL_BYTES - preload->bytes)
		return false;
	if (files_id(preload->options.sampler, fd, &id) || !is_new(preload, id) ||
	    tables_knows(preload->options.tables, id))
		return false;
	preload->bytes += (uint64_t)stat.st_size;
	*wanted = (struct wanted){ .id = id, .fd = fd, .path = strndup(line->path, line->path_len) };
	preload->wanted_len++;
	tables_want(preload->options.tables, id, fd);
	return true;
}

bool preload_next(struct preload *preload)
{
	struct maps_line line;

	while (preload->wanted_len < FILES && next_mapping(preload, &line)) {
		int fd = open_mapping(preload->list[preload->at - 1].pid, &line);

		if (fd < 0)
			continue;
		if (want(preload, fd, &line))
			return true;
		close(fd);
	}
	return false;
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
