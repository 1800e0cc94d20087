/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Naming, once for the whole profile or again and again while it grows: frames that are new are gathered by the file
 * they lie in, each file is asked for all their offsets at once, and the answers are put into the frames. Files stay
 * open from when they were met, so exit, deletion and replacement cost no name. A file whose request fails keeps its
 * frames as they are, and a reason. Maps of JIT code and debug files are looked for by helpers; a unit waits for one
 * answer at a time, of a helper or of a worker.
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
#include "collect/helpers.h"
#include "collect/kernel.h"
#include "collect/name_parts.h"
#include "collect/origin.h"
#include "profile/expand.h"
#include "proc/process.h"
#include "profile/profile.h"
#include "sym/kernel.h"
#include "sym/vdso.h"
#include "worker/fetch.h"
#include "worker/pool.h"
#include "worker/protocol.h"

#define UNNAMED_MAX 4096 /* frames of one process that are tried again */
#define PAUSE 200        /* times as long as it took the last time: what takes long is asked for rarely */

int namer_new(struct namer **ret, const struct namer_options *options)
{
	struct namer *namer = calloc(1, sizeof(*namer));

	if (!namer)
		return -ENOMEM;
	namer->options = *options;
	namer->vdso = (struct unit){ .namer = namer, .kind = FRAME_VDSO };
	namer->kernel = (struct unit){ .namer = namer, .kind = FRAME_KERNEL };
	namer->vdso.file = namer->vdso.debug = namer->vdso.alt = NOT_HELD;
	namer->kernel.file = namer->kernel.debug = namer->kernel.alt = NOT_HELD;
	*ret = namer;
	return expand_new(&namer->inlines);
}

void namer_ask_kernel(struct namer *namer, struct sampler *sampler)
{
	namer->sampler = sampler;
}

void unit_let_go(struct unit *unit, struct held *held)
{
	if (held->fd >= 0) {
		close(held->fd);
		unit->namer->open--;
	}
	if (held->copied)
		helpers_copy_closed(unit->namer->options.helpers, unit->origin.user, held->copied);
	*held = NOT_HELD;
}

void unit_hold(struct unit *unit, struct held *held, int fd, const struct opened *opened)
{
	unit_let_go(unit, held);
	held->fd = fd;
	held->copied = fd >= 0 && opened && opened->copied ? opened->size : 0;
	unit->namer->open += fd >= 0;
}

static void unit_free(struct unit *unit)
{
	unit_let_go(unit, &unit->file);
	unit_let_go(unit, &unit->debug);
	unit_let_go(unit, &unit->alt);
	free(unit->waiting.frames);
	free(unit->asked.frames);
	free(unit->unnamed.frames);
	free(unit->addresses);
	free(unit->wanted);
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
struct unit *namer_unit(struct namer *namer, struct map *map, uint32_t kind, uint32_t number)
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
	*unit = (struct unit){ .namer = namer, .kind = kind, .number = number };
	unit->file = unit->debug = unit->alt = NOT_HELD;
	namer->units[namer->units_len++] = unit;
	*slot = namer->units_len;
	if (kind == FRAME_JIT) {
		unit->next_jit = namer->jits;
		namer->jits = unit;
	}
	return unit;
}

void unit_set_reason(struct unit *unit, const char *reason, size_t len)
{
	struct profile *profile = unit->namer->options.profile;
	uint32_t string = len ? profile_bytes(profile, reason, len) : PROFILE_NONE;

	if (unit->kind == FRAME_USER && string != PROFILE_FULL)
		profile_file(profile, unit->number)->reason = string;
}

static int ask_pool(struct unit *unit, const struct buf *request, const int *fds, size_t fds_len, worker_done *done)
{
	int err = buf_error(request) ? -ENOMEM
				     : pool_ask(unit->namer->options.pool, &(struct worker_request){
										   .bytes = request->data,
										   .len = request->len,
										   .fds = fds,
										   .fds_len = fds_len,
										   .user = unit->origin.user,
										   .maker = unit->origin.maker,
										   .soon = true,
										   .done = done,
										   .arg = unit,
									   });

	unit->namer->asking += !err;
	return err;
}

void unit_enqueue(struct unit *unit)
{
	if (unit->queued)
		return;
	unit->queued = true;
	unit->next = unit->namer->queue;
	unit->namer->queue = unit;
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
		unit_set_reason(unit, pool_reason(err), strlen(pool_reason(err)));
		return;
	}
	if (answer_open(&reader, reply, len, &kind) || kind != ANSWER_IDENTITY ||
	    answer_read_identity(&reader, &id, &id_len, &reason, &reason_len)) {
		unit_set_reason(unit, "worker_died", strlen("worker_died"));
	} else {
		uint32_t string = id_len ? profile_bytes(profile, id, id_len) : PROFILE_NONE;

		if (string != PROFILE_FULL)
			profile_file(profile, unit->number)->build_id = string;
		if (reason_len)
			unit_set_reason(unit, reason, reason_len);
	}
	answer_close(&reader);
}

void namer_file(struct namer *namer, uint32_t file, const struct origin *origin, int fd)
{
	struct unit *unit = namer_unit(namer, &namer->by_file, FRAME_USER, file);
	autobuf struct buf request = { 0 };

	if (!unit || unit->file.fd >= 0) {
		close(fd);
		if (origin->copied)
			helpers_copy_closed(namer->options.helpers, origin->user, origin->copied);
		return;
	}
	unit_hold(unit, &unit->file, fd, NULL);
	unit->file.copied = origin->copied;
	unit->origin = *origin;
	unit->given_up = false;
	unit_set_reason(unit, "", 0);
	if (unit->waiting.len)
		unit_enqueue(unit);
	ask_write(&(struct ask){ .kind = ASK_IDENTIFY }, &request);
	ask_pool(unit, &request, &fd, 1, identified);
}

void namer_no_file(struct namer *namer, uint32_t file, const char *reason)
{
	struct unit *unit = namer_unit(namer, &namer->by_file, FRAME_USER, file);

	if (unit && unit->file.fd < 0)
		unit_set_reason(unit, reason, strlen(reason));
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
			unit = namer_unit(namer, &namer->by_file, FRAME_USER, frame->file);
		else if (frame->kind == FRAME_JIT)
			unit = namer_unit(namer, &namer->by_process, FRAME_JIT, frame->process);
		else if (frame->kind == FRAME_VDSO)
			unit = &namer->vdso;
		else if (frame->kind == FRAME_KERNEL)
			unit = &namer->kernel;
		else
			continue;
		if (!unit || list_add(&unit->waiting, i))
			return -ENOMEM;
		if (unit != &namer->kernel)
			unit_enqueue(unit);
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

	if (unit->given_up || (unit->file.fd < 0 && unit->kind == FRAME_USER))
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
		unit->ask_at =
			clock_ns(CLOCK_MONOTONIC) + pool_took_ns(unit->namer->options.pool, unit->origin.maker) * PAUSE;
	unit->served = true;
	unit_set_reason(unit, reason, len); /* none, though a worker died of it before: it has its names */
	for (size_t i = 0; i < unit->asked.len; i++) {
		err = answer_read_frames(reader, list, SYMBOLS_INLINE_MAX, &len);
		if (err)
			return err;
		set_names(unit, unit->asked.frames[i], list, len);
		if (!len && unit->kind == FRAME_JIT && unit->unnamed.len < UNNAMED_MAX)
			list_add(&unit->unnamed, unit->asked.frames[i]); /* without memory it has no name */
	}
	if (unit->unnamed.len)
		unit_enqueue(unit);
	return 0;
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
		unit_set_reason(unit, pool_reason(err), strlen(pool_reason(err)));
		return;
	}
	err = answer_open(&reader, reply, len, &kind);
	if (!err && kind == ANSWER_NAMES)
		err = take_names(unit, &reader);
	else if (!err && kind == ANSWER_WANTS_DEBUG)
		err = unit_find_debug(unit, &reader);
	else
		err = -EBADMSG;
	if (err)
		unit_set_reason(unit, "worker_died", strlen("worker_died"));
	answer_close(&reader);
}

int unit_ask_names(struct unit *unit, bool last)
{
	struct profile *profile = unit->namer->options.profile;
	const char *path = unit->kind == FRAME_USER
				   ? profile_text(profile, profile_file(profile, unit->number)->path, NULL)
				   : "[vdso]";
	const char *slash = strrchr(path, '/');
	int fds[3] = { unit->file.fd }, err;
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

	if (unit->debug.fd >= 0)
		fds[fds_len++] = unit->debug.fd;
	if (unit->alt.fd >= 0)
		fds[fds_len++] = unit->alt.fd;
	ask.file_len = strnlen(ask.file, 255);
	ask_write(&ask, &request);
	err = ask_pool(unit, &request, fds, fds_len, named);
	unit->asking = !err;
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

	if (fstat(unit->file.fd, &stat) || (uint64_t)stat.st_size == unit->map_bytes)
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
	if (unit->kind == FRAME_JIT && all && unit_may_look(unit)) {
		unit->last_look = true;
		unit_find_map(unit);
		return 0;
	}
	if (unit->kind == FRAME_VDSO && unit->file.fd < 0) {
		if (vdso_copy(&unit->file.fd))
			return 0;
		unit->namer->open++;
	}
	if (unit->file.fd < 0)
		return 0;
	if (unit->kind == FRAME_JIT)
		err = map_grew(unit);
	if (err || !unit->waiting.len)
		return err;
	err = unit_sort(unit);
	return err ? err : unit_ask_names(unit, unit->kind != FRAME_USER || unit->found);
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
	err = err ? err : pool_pump(namer->options.pool); /* they work while we read the kernel's names */
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

int namer_finish(struct namer *namer)
{
	return expand_apply(namer->inlines, namer->options.profile);
}
