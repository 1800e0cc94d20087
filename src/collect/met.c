/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do when something is met for the first time: a file is opened while a way leads to it, and goes to the
 * tables and to the namer; a process is asked for its program while it lives; a cgroup becomes labels. In: calls of
 * ingest. Out: descriptors that others keep, records of the profile.
 */
#include "collect/collection.h"

#include <errno.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/addresses.h"
#include "collect/cgroup.h"
#include "collect/helpers.h"
#include "collect/name.h"
#include "collect/preload.h"
#include "collect/tables.h"
#include "proc/place.h"
#include "profile/profile.h"
#include "worker/pool.h"

#define OPEN_TRIES 8
#define USER_FILES 1024 /* that are kept open for one user who is not root */
#define MAPS_WAIT (200 * NS_PER_MS)

/* A file that a helper is opening. */
struct file_opening {
	struct collect *collect;
	uint32_t file; /* of the profile; 0: the program of a process that began */
	uint64_t id;
	struct origin origin;
	bool memory; /* it has no name, and lives in memory: it may be no file at all */
};

/*
 * A file that nobody could open any more may be met again in another process: it is announced once more then. One that
 * a user could not have, because of what he did, is announced to whoever meets it next.
 */
static bool try_again(struct collect *collect, uint32_t file, uint64_t id, bool always)
{
	uint64_t *tries = map_put(&collect->not_opened, file);

	if (!tries || (++*tries >= OPEN_TRIES && !always))
		return false;
	sampler_forget_file(collect->sampler, id);
	return true;
}

static const char *reason_of(int err)
{
	switch (err) {
	case -EINVAL:
		return "not_a_file";
	case -ETIMEDOUT:
		return "file_stuck";
	case -EDQUOT:
		return "user_budget";
	case -ECANCELED:
		return "out_of_time";
	case -EFBIG:
		return "too_big";
	default:
		return "file_gone";
	}
}

/* A file has no descriptor, for a reason. */
static void not_opened(struct collect *collect, uint32_t file, uint64_t id, const struct origin *origin, int err)
{
	const char *reason = reason_of(err);
	bool his_fault = err == -ETIMEDOUT || err == -EDQUOT;
	bool again = (!strcmp(reason, "file_gone") || (his_fault && origin->plain)) &&
		     try_again(collect, file, id, his_fault);

	collect->over_budget += err == -EDQUOT;
	if (!again && collect->tables)
		tables_refuse(collect->tables, id, reason);
	namer_no_file(collect->namer, file, reason);
}

static void drop_program(struct collect *collect, struct program *program)
{
	close(program->fd);
	if (program->origin.copied)
		helpers_copy_closed(collect->helpers, program->origin.user, program->origin.copied);
	program->id = 0;
}

/* The oldest makes room: a process that has not been sampled by now is there to be asked, or will never be. */
static void keep_program(struct collect *collect, uint64_t id, int fd, const struct origin *origin)
{
	struct program *program = &collect->programs[collect->programs_next++ % PROGRAMS];

	if (program->id)
		drop_program(collect, program);
	*program = (struct program){ id, fd, *origin };
}

static void use_file(struct collect *collect, uint32_t file, uint64_t id, int fd, const struct origin *origin)
{
	uint64_t *open = map_put(&collect->user_files, origin->user);

	if (open)
		++*open;
	if (collect->tables)
		tables_want(collect->tables, id, fd, origin);
	map_remove(&collect->not_opened, file);
	namer_file(collect->namer, file, origin, fd);
}

static void file_opened(void *arg, const struct opened *opened, int fd, const char *text, size_t len)
{
	struct file_opening *opening = arg;
	struct collect *collect = opening->collect;

	(void)text, (void)len;
	collect->opening--;
	if (fd >= 0)
		origin_opened(&opening->origin, opened);
	if (fd < 0 && opening->file) {
		not_opened(collect, opening->file, opening->id, &opening->origin, opened->err);
	} else if (fd >= 0 && opening->memory && !opened->elf) {
		if (opened->copied)
			helpers_copy_closed(collect->helpers, opening->origin.user, opened->size);
		close(fd);
		if (collect->tables)
			tables_is_jit(collect->tables, opening->id);
		else
			sampler_mark_jit(collect->sampler, opening->id);
	} else if (fd >= 0 && opening->file) {
		use_file(collect, opening->file, opening->id, fd, &opening->origin);
	} else if (fd >= 0) {
		keep_program(collect, opening->id, fd, &opening->origin);
	}
	free(opening);
}

/* Asks a helper. */
static int open_file(struct collect *collect, const struct file_opening *what, struct helper_request *request)
{
	struct file_opening *opening = malloc(sizeof(*opening));
	int err = opening ? 0 : -ENOMEM;

	if (!err) {
		*opening = *what;
		request->sampler = collect->sampler;
		request->user = what->origin.user;
		request->plain = what->origin.plain;
		request->opening.pid = what->origin.pid;
		request->opening.id = what->id;
		request->opening.uid = what->origin.uid;
		request->opening.mount = what->origin.mount;
		request->opening.trusted = what->origin.plain;
		request->done = file_opened;
		request->arg = opening;
		err = helpers_ask(collect->helpers, request);
	}
	if (err)
		free(opening);
	collect->opening += !err;
	return err;
}

static void program_found(void *arg, const struct wire_program *program)
{
	struct collect *collect = arg;
	struct helper_request request = { .opening = { .kind = OPENING_PROGRAM } };
	const struct file_opening opening = {
		.collect = collect,
		.id = program->id,
		.origin = { .pid = program->pid,
			    .uid = UINT64_MAX,
			    .user = program->user,
			    .maker = program->user ? program->user : POOL_ANYONE,
			    .plain = helpers_is_plain(&program->place) },
	};

	open_file(collect, &opening, &request);
}

/* The file of a program that began, if it is kept. */
static int take_program(struct collect *collect, uint64_t file_id, struct origin *origin)
{
	for (size_t i = 0; i < PROGRAMS; i++)
		if (collect->programs[i].id == file_id) {
			collect->programs[i].id = 0;
			origin->maker = collect->programs[i].origin.maker;
			origin->owner = collect->programs[i].origin.owner;
			origin->trusted = collect->programs[i].origin.trusted;
			origin->copied = collect->programs[i].origin.copied;
			origin->user = origin->copied ? collect->programs[i].origin.user : origin->user;
			return collect->programs[i].fd;
		}
	return -ENOENT;
}

static bool has_enough_files(const struct collect *collect, uint64_t user)
{
	const uint64_t *open = map_get(&collect->user_files, user);

	return user && open && *open >= USER_FILES;
}

/* Memory that has no name: a memfd, shared memory, huge pages. */
static bool is_memory(const struct wire_file *found)
{
	return !found->links && (found->place.magic == TMPFS_MAGIC || found->place.magic == HUGETLBFS_MAGIC);
}

static void file_found(void *arg, uint32_t file, const struct wire_file *found)
{
	struct collect *collect = arg;
	const char *path = profile_text(collect->profile, profile_file(collect->profile, file)->path, NULL);
	uint64_t *id = map_put(&collect->file_ids, file);
	struct file_opening opening = { collect, file, found->id, origin_of(found), is_memory(found) };
	struct helper_request request = {
		.opening = { .kind = OPENING_MAPPED, .vm_start = found->vm_start, .vm_end = found->vm_end }
	};
	int fd, err = 0;

	if (id)
		*id = found->id;
	if (has_enough_files(collect, found->user)) {
		not_opened(collect, file, found->id, &opening.origin, -EDQUOT);
		return;
	}
	fd = opening.memory ? -ENOENT : take_program(collect, found->id, &opening.origin);
	if (fd >= 0) {
		use_file(collect, file, found->id, fd, &opening.origin);
		return;
	}
	memccpy(request.opening.path, path, 0, sizeof(request.opening.path) - 1);
	err = open_file(collect, &opening, &request);
	if (err)
		not_opened(collect, file, found->id, &opening.origin, err);
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

	if (len <= 1) { /* all in one group: an older hierarchy may know more; of this process, if it is still that */
		if (!process->pid || cgroups_place_process(collect->cgroups, process->pid, &old, &place) ||
		    !process_is(process->pid, process->start))
			return PROFILE_NONE;
		path = old.data;
		len = old.len;
	} else {
		cgroups_place(collect->cgroups, cgroup, &place);
	}
	process->cgroup = profile_bytes(collect->profile, path, len);
	labels = add_label(collect, PROFILE_NONE, "unit", place.unit);
	labels = add_label(collect, labels, "user_unit", place.user_unit);
	labels = add_label(collect, labels, "container", place.container);
	return add_label(collect, labels, "pod", place.pod);
}

static void find_mapping(void *arg, uint32_t pid, struct profile_frame *frame)
{
	struct collect *collect = arg;

	addresses_find(collect->addresses, pid, frame);
}

static int find_program(void *arg, uint32_t pid, uint64_t start, struct buf *exe, struct buf *comm)
{
	(void)arg;
	return !pid || !process_is(pid, start) || process_exe(pid, exe) || process_comm(pid, comm) ? -ESRCH : 0;
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

/* What a helper reads for whoever waits for it; who does not wait any more is NULL. */
struct maps_reading {
	struct buf *into;
	int err;
	bool done;
};

static void maps_came(void *arg, const struct opened *opened, int fd, const char *text, size_t len)
{
	struct maps_reading *reading = arg;

	(void)fd;
	if (!reading->into) {
		free(reading);
		return;
	}
	reading->done = true;
	reading->err = opened->err;
	if (!opened->err)
		buf_add(reading->into, text, len);
}

int met_read_maps(void *arg, uint32_t pid, struct buf *ret)
{
	struct collect *collect = arg;
	struct maps_reading *reading = calloc(1, sizeof(*reading));
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + MAPS_WAIT;
	struct helper_request request = { .opening = { .kind = OPENING_MAPS, .pid = pid },
					  .sampler = collect->sampler,
					  .user = process_user(pid),
					  .done = maps_came,
					  .arg = reading };
	int err = reading ? helpers_ask(collect->helpers, &request) : -ENOMEM;

	if (err) {
		free(reading);
		return err;
	}
	reading->into = ret;
	err = helpers_pump(collect->helpers);
	while (!err && !reading->done && clock_ns(CLOCK_MONOTONIC) < until) {
		struct pollfd list[HELPERS];

		helpers_poll(collect->helpers, list);
		poll(list, HELPERS, 1);
		err = helpers_pump(collect->helpers);
	}
	err = err ? err : reading->done ? reading->err : -ETIMEDOUT;
	reading->into = NULL;
	if (reading->done)
		free(reading);
	return err;
}

const char *met_path_of(void *arg, uint64_t id)
{
	struct collect *collect = arg;
	uint32_t file = ingest_file_number(collect->ingest, id);

	return file ? profile_text(collect->profile, profile_file(collect->profile, file)->path, NULL)
		    : preload_path(collect->preload, id);
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
			drop_program(collect, &collect->programs[i]);
	map_free(&collect->file_ids);
	map_free(&collect->user_files);
	map_free(&collect->not_opened);
	map_free(&collect->jit_seen);
}
