/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Naming, once for the whole profile or again and again while it grows: frames that are new are gathered by the file
 * they lie in, each file is asked for all their offsets at once, and the answers are put into the frames. Files stay
 * open from when they were met, so exit, deletion and replacement cost no name. A file whose request fails keeps its
 * frames as they are, and a reason.
 *
 * Invariant: a frame is in one list of one unit at most: those that wait, those that are asked for, those that have no
 * name yet but may get one.
 */
#include "collect/name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "collect/files.h"
#include "collect/jit.h"
#include "collect/kernel.h"
#include "profile/expand.h"
#include "proc/process.h"
#include "profile/profile.h"
#include "sym/kernel.h"
#include "sym/vdso.h"
#include "worker/fetch.h"
#include "worker/protocol.h"
#include "worker/worker.h"

struct list {
	uint32_t *frames;
	size_t len, cap;
};

/* What belongs together in one request: frames of one file, or of one process's own code. */
struct unit {
	struct namer *namer;
	struct unit *next, *next_jit; /* of those that have frames without a name; of those that have no map */
	uint32_t kind;                /* enum frame_kind */
	uint32_t number;              /* of the file or process; 0 for the vDSO */
	int fd;
	int debug, alt;      /* its debug file, and what that shares with others; negative: none */
	uint32_t pid;        /* who maps it */
	struct list waiting; /* to be asked for */
	struct list asked;   /* sorted by address */
	struct list unnamed; /* of a map that may grow */
	uint64_t *addresses; /* of those that are asked for */
	uint64_t map_bytes;  /* when the map was read last */
	uint64_t map_at;     /* when it is looked for next */
	uint64_t map_every;
	uint64_t ask_at;    /* not before */
	unsigned int tries; /* to find the debug file */
	bool found;         /* that has been tried, and is not tried again */
	bool queued, asking, served, given_up;
};

#define TRIES 2                     /* the debug file, then what it refers to */
#define UNNAMED_MAX 4096            /* frames of one process that are tried again */
#define MAP_EVERY (10 * NS_PER_SEC) /* one that is not there is looked for again then, and less and less often */
#define MAP_RARELY (128 * NS_PER_SEC)
#define PAUSE 200 /* times as long as it took the last time: what takes long is asked for rarely */

struct namer {
	struct namer_options options;
	struct sampler *sampler;
	struct unit **units;
	size_t units_len, units_cap;
	struct map by_file, by_process; /* number → index of unit + 1 */
	struct unit *queue, *jits;      /* there may be thousands of units: every second only these are looked at */
	struct unit vdso, kernel;
	struct expand *inlines; /* what frames turn out to be */
	struct map marked;      /* frames that others were told of without a name */
	struct list late;       /* those that have one now */
	uint32_t gathered;      /* frames up to this one */
	size_t asking;          /* requests under way */
	size_t open;            /* descriptors of all units */
	uint64_t kernel_at;     /* when its list may be read again */
};

int namer_new(struct namer **ret, const struct namer_options *options)
{
	struct namer *namer = calloc(1, sizeof(*namer));

	if (!namer)
		return -ENOMEM;
	namer->options = *options;
	namer->vdso = (struct unit){ .namer = namer, .kind = FRAME_VDSO, .fd = -1, .debug = -1, .alt = -1 };
	namer->kernel = (struct unit){ .namer = namer, .kind = FRAME_KERNEL, .fd = -1, .debug = -1, .alt = -1 };
	*ret = namer;
	return expand_new(&namer->inlines);
}

void namer_ask_kernel(struct namer *namer, struct sampler *sampler)
{
	namer->sampler = sampler;
}

static void hold_fd(struct unit *unit, int *place, int fd)
{
	*place = fd;
	unit->namer->open += fd >= 0;
}

static void close_fd(struct unit *unit, int *fd)
{
	if (*fd >= 0) {
		close(*fd);
		unit->namer->open--;
	}
	*fd = -1;
}

static void unit_free(struct unit *unit)
{
	close_fd(unit, &unit->fd);
	close_fd(unit, &unit->debug);
	close_fd(unit, &unit->alt);
	free(unit->waiting.frames);
	free(unit->asked.frames);
	free(unit->unnamed.frames);
	free(unit->addresses);
}

void namer_free(struct namer *namer)
{
	if (!namer)
		return;
	for (size_t i = 0; i < namer->units_len; i++) {
		unit_free(namer->units[i]);
		free(namer->units[i]);
	}
	unit_free(&namer->vdso);
	unit_free(&namer->kernel);
	expand_free(namer->inlines);
	map_free(&namer->by_file);
	map_free(&namer->by_process);
	map_free(&namer->marked);
	free(namer->late.frames);
	free(namer->units);
	free(namer);
}

/* The unit of a file or process, made if it was not there. NULL if memory is out. */
static struct unit *unit_of(struct namer *namer, struct map *map, uint32_t kind, uint32_t number)
{
	uint64_t *slot = map_put(map, number);
	struct unit *unit;

	if (!slot || *slot)
		return slot ? namer->units[*slot - 1] : NULL;
	if (namer->units_len == namer->units_cap) {
		size_t cap = namer->units_cap ? namer->units_cap * 2 : 64;
		struct unit **grown = reallocarray(namer->units, cap, sizeof(*grown));

		if (!grown)
			return NULL;
		namer->units = grown;
		namer->units_cap = cap;
	}
	unit = calloc(1, sizeof(*unit));
	if (!unit)
		return NULL;
	*unit = (struct unit){ .namer = namer, .kind = kind, .number = number, .fd = -1, .debug = -1, .alt = -1 };
	namer->units[namer->units_len++] = unit;
	*slot = namer->units_len;
	if (kind == FRAME_JIT) {
		unit->next_jit = namer->jits;
		namer->jits = unit;
	}
	return unit;
}

static void set_reason(struct unit *unit, const char *reason, size_t len)
{
	struct profile *profile = unit->namer->options.profile;
	uint32_t string = len ? profile_bytes(profile, reason, len) : PROFILE_NONE;

	if (unit->kind == FRAME_USER && string != PROFILE_FULL)
		profile_file(profile, unit->number)->reason = string;
}

static const char *reason_of_death(int err)
{
	return err == -ETIME ? "too_slow" : "worker_died";
}

static void identified(void *arg, int err, const void *reply, size_t len)
{
	struct unit *unit = arg;
	struct profile *profile = unit->namer->options.profile;
	struct answer_reader reader;
	enum answer_kind kind;
	const char *reason = "";
	const void *id = NULL;
	size_t id_len = 0, reason_len = 0;

	unit->namer->asking--;
	if (err) {
		set_reason(unit, reason_of_death(err), strlen(reason_of_death(err)));
		return;
	}
	if (answer_open(&reader, reply, len, &kind) || kind != ANSWER_IDENTITY ||
	    answer_read_identity(&reader, &id, &id_len, &reason, &reason_len)) {
		set_reason(unit, "worker_died", strlen("worker_died"));
	} else {
		uint32_t string = id_len ? profile_bytes(profile, id, id_len) : PROFILE_NONE;

		if (string != PROFILE_FULL)
			profile_file(profile, unit->number)->build_id = string;
		if (reason_len)
			set_reason(unit, reason, reason_len);
	}
	answer_close(&reader);
}

void namer_file(struct namer *namer, uint32_t file, uint32_t pid, int fd)
{
	struct unit *unit = unit_of(namer, &namer->by_file, FRAME_USER, file);
	autobuf struct buf request = { 0 };

	if (!unit || unit->fd >= 0) {
		if (fd >= 0)
			close(fd);
		return;
	}
	hold_fd(unit, &unit->fd, fd);
	unit->pid = pid;
	if (fd < 0) {
		const char *reason = fd == -EINVAL ? "not_a_file" : "file_gone";

		set_reason(unit, reason, strlen(reason));
		return;
	}
	set_reason(unit, "", 0);
	ask_write(&(struct ask){ .kind = ASK_IDENTIFY }, &request);
	if (!buf_error(&request) &&
	    !worker_ask_soon(namer->options.worker, request.data, request.len, &fd, 1, identified, unit))
		namer->asking++;
}

void namer_jit(struct namer *namer, uint32_t process)
{
	struct unit *unit = unit_of(namer, &namer->by_process, FRAME_JIT, process);

	if (!unit || unit->fd >= 0)
		return;
	unit->pid = profile_process(namer->options.profile, process)->pid;
	hold_fd(unit, &unit->fd, unit->pid ? jit_open(unit->pid) : -1);
}

/* Most runtimes never write one, and looking takes reading all mappings of the process. */
static void look_for_map(struct unit *unit, uint64_t now)
{
	const struct profile_process *process = profile_process(unit->namer->options.profile, unit->number);

	if (now < unit->map_at)
		return;
	unit->map_every = unit->map_every ? unit->map_every * 2 : MAP_EVERY;
	unit->map_every = unit->map_every < MAP_RARELY ? unit->map_every : MAP_RARELY;
	unit->map_at = now + unit->map_every;
	if (process->pid && process_is(process->pid, process->start))
		namer_jit(unit->namer, unit->number);
	else
		unit->given_up = true;
}

void namer_jit_again(struct namer *namer)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (struct unit **at = &namer->jits, *unit; (unit = *at);) {
		if (unit->fd < 0 && !unit->given_up)
			look_for_map(unit, now);
		if (unit->fd < 0 && !unit->given_up)
			at = &unit->next_jit;
		else
			*at = unit->next_jit;
	}
}

/* ---- gathering ---- */

static int list_add(struct list *list, uint32_t frame)
{
	if (list->len == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 32;
		uint32_t *grown = reallocarray(list->frames, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->frames = grown;
		list->cap = cap;
	}
	list->frames[list->len++] = frame;
	return 0;
}

static int by_address(const void *a, const void *b, void *arg)
{
	const struct profile *profile = arg;
	uint64_t x = profile_frame(profile, *(const uint32_t *)a)->address;
	uint64_t y = profile_frame(profile, *(const uint32_t *)b)->address;

	return x < y ? -1 : x > y;
}

static void enqueue(struct unit *unit)
{
	if (unit->queued)
		return;
	unit->queued = true;
	unit->next = unit->namer->queue;
	unit->namer->queue = unit;
}

/* Those that wait become those that are asked for. */
static int unit_sort(struct unit *unit)
{
	struct profile *profile = unit->namer->options.profile;
	struct list asked = unit->waiting;

	unit->waiting = unit->asked;
	unit->waiting.len = 0;
	unit->asked = asked;
	free(unit->addresses);
	qsort_r(asked.frames, asked.len, sizeof(*asked.frames), by_address, profile);
	unit->addresses = calloc(asked.len, sizeof(*unit->addresses));
	if (!unit->addresses)
		return -ENOMEM;
	for (size_t i = 0; i < asked.len; i++)
		unit->addresses[i] = profile_frame(profile, asked.frames[i])->address;
	return 0;
}

static int gather(struct namer *namer)
{
	const struct profile *profile = namer->options.profile;

	for (uint32_t i = namer->gathered + 1; i < profile_count(profile, PROFILE_FRAMES); i++) {
		const struct profile_frame *frame = profile_frame(profile, i);
		struct unit *unit = NULL;

		namer->gathered = i;
		if (frame->name)
			continue;
		if (frame->kind == FRAME_USER && frame->file)
			unit = unit_of(namer, &namer->by_file, FRAME_USER, frame->file);
		else if (frame->kind == FRAME_JIT)
			unit = unit_of(namer, &namer->by_process, FRAME_JIT, frame->process);
		else if (frame->kind == FRAME_VDSO)
			unit = &namer->vdso;
		else if (frame->kind == FRAME_KERNEL)
			unit = &namer->kernel;
		else
			continue;
		if (!unit || list_add(&unit->waiting, i))
			return -ENOMEM;
		if (unit != &namer->kernel)
			enqueue(unit);
	}
	return 0;
}

/* ---- what comes late ---- */

static int mark_list(struct namer *namer, const struct list *list)
{
	for (size_t i = 0; i < list->len; i++)
		if (!profile_frame(namer->options.profile, list->frames[i])->name &&
		    !map_put(&namer->marked, list->frames[i]))
			return -ENOMEM;
	return 0;
}

/* Those of a file that cannot be opened, or that a worker died of, will have none. */
static int mark_unit(struct namer *namer, const struct unit *unit)
{
	int err;

	if (unit->given_up || (unit->fd < 0 && unit->kind == FRAME_USER))
		return 0;
	err = mark_list(namer, &unit->waiting);
	err = err || !unit->asking ? err : mark_list(namer, &unit->asked);
	return err ? err : mark_list(namer, &unit->unnamed);
}

int namer_mark_late(struct namer *namer)
{
	int err = mark_unit(namer, &namer->kernel);

	for (size_t i = 0; i < namer->units_len && !err; i++)
		err = mark_unit(namer, namer->units[i]);
	return err;
}

static void has_name(struct namer *namer, uint32_t frame)
{
	if (map_remove(&namer->marked, frame))
		list_add(&namer->late, frame); /* without memory nobody is told */
}

const uint32_t *namer_late(const struct namer *namer, size_t *ret_len)
{
	*ret_len = namer->late.len;
	return namer->late.frames;
}

void namer_forget_late(struct namer *namer)
{
	namer->late.len = 0;
}

/* ---- asking ---- */

static int ask_names(struct unit *unit, bool last);

/* The function, and its line where that is known: "main main.c:12". PROFILE_FULL if memory is out. */
static uint32_t name_string(struct profile *profile, const struct answer_frame *found)
{
	autobuf struct buf text = { 0 };
	const char *slash;

	if (!found->source_len || !found->line)
		return profile_bytes(profile, found->name, found->name_len);
	slash = memrchr(found->source, '/', found->source_len);
	slash = slash ? slash + 1 : found->source;
	buf_add(&text, found->name, found->name_len);
	buf_addc(&text, ' ');
	buf_add(&text, slash, (size_t)(found->source + found->source_len - slash));
	buf_addf(&text, ":%u", found->line);
	return buf_error(&text) ? PROFILE_FULL : profile_bytes(profile, text.data, text.len);
}

/* The last of the list is the function that the frame is in; those before it were inlined there. */
static void set_names(struct unit *unit, uint32_t frame, const struct answer_frame *list, size_t len)
{
	struct profile *profile = unit->namer->options.profile;
	struct profile_frame inlined = *profile_frame(profile, frame);
	uint32_t frames[SYMBOLS_INLINE_MAX], name;

	if (!len)
		return;
	name = name_string(profile, &list[len - 1]);
	if (name == PROFILE_FULL)
		return;
	profile_frame(profile, frame)->name = name;
	profile_frame(profile, frame)->start = list[len - 1].start;
	has_name(unit->namer, frame);
	inlined.kind = FRAME_INLINE;
	for (size_t i = 0; i + 1 < len; i++) {
		inlined.name = name_string(profile, &list[i]);
		frames[i] = inlined.name == PROFILE_FULL ? PROFILE_FULL : profile_add_frame(profile, &inlined);
		if (frames[i] == PROFILE_FULL)
			return;
	}
	frames[len - 1] = frame;
	if (len > 1)
		expand_frame(unit->namer->inlines, frame, frames, len);
}

static int take_names(struct unit *unit, struct answer_reader *reader)
{
	struct answer_frame list[SYMBOLS_INLINE_MAX];
	const char *reason;
	size_t len;
	int err = answer_read_reason(reader, &reason, &len);

	if (err)
		return err;
	if (unit->served) /* the first time the worker reads what it may keep */
		unit->ask_at = clock_ns(CLOCK_MONOTONIC) + worker_took_ns(unit->namer->options.worker) * PAUSE;
	unit->served = true;
	set_reason(unit, reason, len); /* none, though a worker died of it before: it has its names */
	for (size_t i = 0; i < unit->asked.len; i++) {
		err = answer_read_frames(reader, list, SYMBOLS_INLINE_MAX, &len);
		if (err)
			return err;
		set_names(unit, unit->asked.frames[i], list, len);
		if (!len && unit->kind == FRAME_JIT && unit->unnamed.len < UNNAMED_MAX)
			list_add(&unit->unnamed, unit->asked.frames[i]); /* without memory it has no name */
	}
	if (unit->unnamed.len)
		enqueue(unit);
	return 0;
}

static int fetch_id(const struct namer *namer, const unsigned char *id, size_t len)
{
	return namer->options.fetch ? fetch_debug(namer->options.fetch, id, len) : -ENOENT;
}

/* The worker says what debug files would be known by; they are looked for, and the names are asked for again. */
static int find_debug(struct unit *unit, struct answer_reader *reader)
{
	struct profile *profile = unit->namer->options.profile;
	const char *path = profile_text(profile, profile_file(profile, unit->number)->path, NULL);
	struct symbols_debug debug;
	bool found = false, last;
	int err;

	if (unit->tries++ >= TRIES || answer_read_debug(reader, &debug))
		return -EBADMSG;
	if (debug.wanted && unit->debug < 0) {
		hold_fd(unit, &unit->debug, files_open_debug(unit->pid, path, &debug));
		if (unit->debug < 0)
			hold_fd(unit, &unit->debug, fetch_id(unit->namer, debug.build_id, debug.build_id_len));
		found |= unit->debug >= 0;
	}
	if (debug.alt_id_len && unit->alt < 0) {
		hold_fd(unit, &unit->alt, files_open_alt(unit->pid, &debug));
		if (unit->alt < 0)
			hold_fd(unit, &unit->alt, fetch_id(unit->namer, debug.alt_id, debug.alt_id_len));
		found |= unit->alt >= 0;
	}
	last = unit->found = !found || unit->tries == TRIES;
	err = ask_names(unit, last);
	if (last && !unit->namer->options.again) {
		close_fd(unit, &unit->debug);
		close_fd(unit, &unit->alt);
	}
	return err;
}

static void named(void *arg, int err, const void *reply, size_t len)
{
	struct unit *unit = arg;
	struct answer_reader reader = { 0 };
	enum answer_kind kind;

	unit->asking = false;
	unit->namer->asking--;
	if (err) {
		unit->given_up = true; /* it would not be the last worker that dies of it */
		set_reason(unit, reason_of_death(err), strlen(reason_of_death(err)));
		return;
	}
	err = answer_open(&reader, reply, len, &kind);
	if (!err && kind == ANSWER_NAMES)
		err = take_names(unit, &reader);
	else if (!err && kind == ANSWER_WANTS_DEBUG)
		err = find_debug(unit, &reader);
	else
		err = -EBADMSG;
	if (err)
		set_reason(unit, "worker_died", strlen("worker_died"));
	answer_close(&reader);
}

static int ask_names(struct unit *unit, bool last)
{
	struct profile *profile = unit->namer->options.profile;
	const char *path = unit->kind == FRAME_USER
				   ? profile_text(profile, profile_file(profile, unit->number)->path, NULL)
				   : "[vdso]";
	const char *slash = strrchr(path, '/');
	int fds[3] = { unit->fd };
	size_t fds_len = 1;
	autobuf struct buf request = { 0 };
	struct ask ask = {
		.kind = unit->kind == FRAME_JIT ? ASK_JIT : ASK_NAMES,
		.file = slash ? slash + 1 : path,
		.demangle = unit->namer->options.demangle,
		.inlines = unit->namer->options.inlines,
		.lines = unit->namer->options.lines,
		.last = last,
		.addresses = unit->addresses,
		.addresses_len = unit->asked.len,
	};
	int err;

	if (unit->debug >= 0)
		fds[fds_len++] = unit->debug;
	if (unit->alt >= 0)
		fds[fds_len++] = unit->alt;
	ask.file_len = strnlen(ask.file, 255);
	ask_write(&ask, &request);
	if (buf_error(&request))
		return -ENOMEM;
	err = worker_ask_soon(unit->namer->options.worker, request.data, request.len, fds, fds_len, named, unit);
	unit->asking = !err;
	unit->namer->asking += !err;
	return err;
}

static void kernel_named(void *arg, size_t index, const struct kernel_name *name)
{
	struct unit *unit = arg;
	struct profile *profile = unit->namer->options.profile;
	uint32_t string, path, file;

	if (!name->name)
		return;
	string = profile_bytes(profile, name->name, name->len);
	if (string != PROFILE_FULL) {
		profile_frame(profile, unit->asked.frames[index])->name = string;
		profile_frame(profile, unit->asked.frames[index])->start = name->start;
		has_name(unit->namer, unit->asked.frames[index]);
	}
	if (!name->module_len)
		return;
	path = profile_bytes(profile, name->module, name->module_len);
	file = path == PROFILE_FULL ? PROFILE_FULL : profile_add_file(profile, &(struct profile_file){ .path = path });
	if (file != PROFILE_FULL)
		profile_frame(profile, unit->asked.frames[index])->file = file;
}

/* Where addresses are hidden there is a reason for it, and the profile is as good as before. */
static int name_kernel(struct unit *kernel, bool all)
{
	struct namer *namer = kernel->namer;
	uint64_t began = clock_ns(CLOCK_MONOTONIC);
	int err;

	if (!kernel->waiting.len || (began < namer->kernel_at && !all))
		return 0;
	err = unit_sort(kernel);
	if (err)
		return err;
	if (!namer->sampler || kernel_ask(namer->sampler, kernel->addresses, kernel->asked.len, kernel_named, kernel)) {
		kernel_names(kernel->addresses, kernel->asked.len, kernel_named, kernel);
		namer->kernel_at = began + (clock_ns(CLOCK_MONOTONIC) - began) * PAUSE;
	}
	return 0;
}

/* Whether a map has been written to since its names were asked for; what had none then is tried again. */
static int map_grew(struct unit *unit)
{
	struct stat stat;
	int err = 0;

	if (fstat(unit->fd, &stat) || (uint64_t)stat.st_size == unit->map_bytes)
		return 0;
	unit->map_bytes = (uint64_t)stat.st_size;
	for (size_t i = 0; i < unit->unnamed.len && !err; i++)
		err = list_add(&unit->waiting, unit->unnamed.frames[i]);
	unit->unnamed.len = 0;
	return err;
}

static int name_unit(struct unit *unit, bool all)
{
	int err = 0;

	if (unit->asking || unit->given_up || !(unit->waiting.len + unit->unnamed.len) ||
	    (!all && clock_ns(CLOCK_MONOTONIC) < unit->ask_at))
		return 0;
	if (unit->kind == FRAME_JIT && unit->fd < 0 && all)
		namer_jit(unit->namer, unit->number);
	if (unit->kind == FRAME_VDSO && unit->fd < 0) {
		if (vdso_copy(&unit->fd))
			return 0;
		unit->namer->open++;
	}
	if (unit->fd < 0)
		return 0;
	if (unit->kind == FRAME_JIT)
		err = map_grew(unit);
	if (err || !unit->waiting.len)
		return err;
	err = unit_sort(unit);
	return err ? err : ask_names(unit, unit->kind != FRAME_USER || unit->found);
}

int namer_ask(struct namer *namer, bool all)
{
	int err = gather(namer);

	for (struct unit **at = &namer->queue, *unit; (unit = *at) && !err;) {
		err = name_unit(unit, all);
		if (!unit->given_up && unit->waiting.len + unit->unnamed.len) {
			at = &unit->next;
		} else {
			unit->queued = false;
			*at = unit->next;
		}
	}
	err = err ? err : worker_pump(namer->options.worker, false); /* it works while we read the kernel's names */
	return err ? err : name_kernel(&namer->kernel, all);
}

bool namer_waits(const struct namer *namer)
{
	return namer->asking;
}

const struct expand *namer_inlines(const struct namer *namer)
{
	return namer->inlines;
}

size_t namer_open_files(const struct namer *namer)
{
	return namer->open;
}

int namer_run(struct namer *namer)
{
	int err = namer_ask(namer, true);

	err = err ? err : worker_pump(namer->options.worker, true);
	return err ? err : expand_apply(namer->inlines, namer->options.profile);
}
