/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do when something is met for the first time: a file is opened while a way leads to it, and goes to the
 * tables and to the namer; a process is asked for its program while it lives; a cgroup becomes labels. In: calls of
 * ingest. Out: descriptors that others keep, records of the profile.
 */
#include "collect/collection.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "collect/addresses.h"
#include "collect/cgroup.h"
#include "collect/files.h"
#include "collect/name.h"
#include "collect/preload.h"
#include "collect/tables.h"
#include "proc/place.h"
#include "profile/profile.h"

#define OPEN_TRIES 8

/* A file that nobody could open any more may be met again in another process: it is announced once more then. */
static void try_again(struct collect *collect, uint32_t file, uint64_t id)
{
	uint64_t *tries = map_put(&collect->not_opened, file);

	if (tries && ++*tries < OPEN_TRIES)
		bpf_map_delete_elem(sampler_map_fd(collect->sampler, SAMPLER_FILES), &id);
	else if (collect->tables)
		tables_want(collect->tables, id, -1);
}

/* The oldest makes room: a process that has not been sampled by now is there to be asked, or will never be. */
static void program_found(void *arg, uint32_t pid, uint64_t file_id)
{
	struct collect *collect = arg;
	struct program *program = &collect->programs[collect->programs_next++ % PROGRAMS];

	if (program->id)
		close(program->fd);
	program->fd = files_open_program(collect->sampler, pid, file_id);
	program->id = program->fd < 0 ? 0 : file_id;
}

/* The file of a program that began, if it is kept. */
static int take_program(struct collect *collect, uint64_t file_id)
{
	for (size_t i = 0; i < PROGRAMS; i++)
		if (collect->programs[i].id == file_id) {
			collect->programs[i].id = 0;
			return collect->programs[i].fd;
		}
	return -ENOENT;
}

static void file_found(void *arg, uint32_t file, const struct wire_file *found)
{
	struct collect *collect = arg;
	const char *path = profile_text(collect->profile, profile_file(collect->profile, file)->path, NULL);
	uint64_t *id = map_put(&collect->file_ids, file);
	int fd = take_program(collect, found->id);

	if (id)
		*id = found->id;
	if (fd < 0)
		fd = files_open(collect->sampler, found, path);
	if (fd < 0)
		try_again(collect, file, found->id);
	else if (collect->tables)
		tables_want(collect->tables, found->id, fd);
	if (fd >= 0)
		map_remove(&collect->not_opened, file);
	namer_file(collect->namer, file, found->pid, fd);
}

static void file_again(void *arg, uint32_t file, const struct wire_file *found)
{
	struct collect *collect = arg;

	if (map_get(&collect->not_opened, file))
		file_found(arg, file, found);
}

/* Its map is looked for at once, and then once a window until it is there. */
static void jit_found(void *arg, uint32_t process)
{
	struct collect *collect = arg;
	uint64_t *seen = map_put(&collect->jit_seen, process);

	if (!seen || *seen)
		return;
	*seen = 1;
	namer_jit(collect->namer, process);
}

static uint32_t add_label(struct collect *collect, uint32_t set, const char *key, const char *value)
{
	struct profile *profile = collect->profile;

	return *value ? profile_add_label(profile, set, profile_string(profile, key), profile_string(profile, value))
		      : set;
}

static void group_found(void *arg, uint64_t cgroup)
{
	struct collect *collect = arg;
	size_t len;

	cgroups_path(collect->cgroups, cgroup, &len);
}

static uint32_t process_found(void *arg, uint32_t number, uint64_t cgroup)
{
	struct collect *collect = arg;
	struct profile_process *process = profile_process(collect->profile, number);
	autobuf struct buf old = { 0 };
	struct place place;
	uint32_t labels;
	size_t len = 0;
	const char *path = cgroups_path(collect->cgroups, cgroup, &len);

	if (len <= 1) { /* all in one group: an older hierarchy may know more */
		if (!process->pid || !process_is(process->pid, process->start) || process_cgroup(process->pid, &old))
			return PROFILE_NONE;
		path = old.data;
		len = old.len;
	}
	process->cgroup = profile_bytes(collect->profile, path, len);
	place_of(path, len, &place);
	labels = add_label(collect, PROFILE_NONE, "unit", place.unit);
	labels = add_label(collect, labels, "container", place.container);
	return add_label(collect, labels, "pod", place.pod);
}

static void find_mapping(void *arg, uint32_t pid, struct profile_frame *frame)
{
	struct collect *collect = arg;

	addresses_find(collect->addresses, pid, frame);
}

static int find_program(void *arg, uint32_t pid, uint64_t start, uint32_t *ret_exe, uint32_t *ret_comm)
{
	struct collect *collect = arg;
	autobuf struct buf exe = { 0 }, comm = { 0 };

	if (!pid || !process_is(pid, start) || process_exe(pid, &exe) || process_comm(pid, &comm))
		return -ESRCH;
	*ret_exe = profile_bytes(collect->profile, exe.data, exe.len);
	*ret_comm = profile_bytes(collect->profile, comm.data, comm.len);
	return 0;
}

struct ingest_options met_options(struct collect *collect)
{
	return (struct ingest_options){
		.profile = collect->profile,
		.seed = sampler_seed(collect->sampler),
		.file_found = file_found,
		.file_again = file_again,
		.find_program = find_program,
		.program_found = program_found,
		.group_found = group_found,
		.process_found = process_found,
		.jit_found = collect->addresses ? NULL : jit_found,
		.find_mapping = collect->addresses ? find_mapping : NULL,
		.arg = collect,
	};
}

int met_find_debug(void *arg, uint64_t id, const struct symbols_debug *debug)
{
	struct collect *collect = arg;
	uint32_t file = ingest_file_number(collect->ingest, id);
	const char *path = file ? profile_text(collect->profile, profile_file(collect->profile, file)->path, NULL)
				: preload_path(collect->preload, id);

	return path ? files_open_debug(0, path, debug) : -ENOENT;
}

/* Programs of processes that began before wick did, while they still can be asked. */
void met_name_processes(struct collect *collect)
{
	uint32_t number = collect->asked;

	/* Each is asked once: one that is gone will not come back. */
	while ((number = ingest_next_unknown(collect->ingest, number))) {
		struct profile_process *process = profile_process(collect->profile, number);
		autobuf struct buf exe = { 0 }, comm = { 0 };

		if (!process->pid || !process_is(process->pid, process->start))
			continue;
		if (!process_exe(process->pid, &exe))
			process->exe = profile_bytes(collect->profile, exe.data, exe.len);
		if (!process_comm(process->pid, &comm))
			process->comm = profile_bytes(collect->profile, comm.data, comm.len);
	}
	collect->asked = profile_count(collect->profile, PROFILE_PROCESSES) - 1;
}

void met_free(struct collect *collect)
{
	for (size_t i = 0; i < PROGRAMS; i++)
		if (collect->programs[i].id)
			close(collect->programs[i].fd);
	map_free(&collect->file_ids);
	map_free(&collect->not_opened);
	map_free(&collect->jit_seen);
}
