/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps of code that runtimes made: helpers look for them when such code is met, and again while they are not there.
 * What had to be copied does not grow with the map, and is copied anew.
 */
#include "collect/name_parts.h"

#include "base/clock.h"
#include "proc/process.h"
#include "profile/profile.h"
#include "worker/pool.h"

#define MAP_EVERY (10 * NS_PER_SEC) /* one that is not there is looked for again then, and less and less often */
#define MAP_RARELY (128 * NS_PER_SEC)

static void jit_opened(void *arg, const struct opened *opened, int fd, const char *text, size_t len)
{
	struct unit *unit = arg;

	(void)text, (void)len;
	unit->namer->asking--;
	unit->asking = false;
	if (fd < 0)
		return; /* a copy that was there stays */
	unit_hold(unit, &unit->file, fd, opened);
	origin_opened(&unit->origin, opened);
	if (unit->waiting.len + unit->unnamed.len)
		unit_enqueue(unit);
}

/* A helper looks for the map. */
void unit_find_map(struct unit *unit)
{
	const struct profile_process *process = profile_process(unit->namer->options.profile, unit->number);
	struct helper_request request = {
		.opening = { .kind = OPENING_JIT, .pid = process->pid },
		.sampler = unit->namer->sampler,
		.done = jit_opened,
		.arg = unit,
	};

	if (!process->pid || unit->asking)
		return;
	request.user = unit->origin.user = process_user(process->pid);
	unit->origin.maker = unit->origin.user ? unit->origin.user : POOL_ANYONE;
	unit->asking = !helpers_ask(unit->namer->options.helpers, &request);
	unit->namer->asking += unit->asking;
}

void namer_jit(struct namer *namer, uint32_t process)
{
	struct unit *unit = namer_unit(namer, &namer->by_process, FRAME_JIT, process);

	if (unit && unit->file.fd < 0)
		unit_find_map(unit);
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
		unit_find_map(unit);
	else if (unit->file.fd < 0)
		unit->given_up = true;
	else
		unit->last_look = true;
}

/* Whether it may be worth another look: it is not there, or is a copy that does not grow with it. */
bool unit_may_look(const struct unit *unit)
{
	return (unit->file.fd < 0 || unit->file.copied) && !unit->given_up && !unit->last_look;
}

void namer_jit_again(struct namer *namer)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (struct unit **at = &namer->jits, *unit; (unit = *at);) {
		if (unit_may_look(unit) && !unit->asking)
			look_for_map(unit, now);
		if (unit_may_look(unit))
			at = &unit->next_jit;
		else
			*at = unit->next_jit;
	}
}
