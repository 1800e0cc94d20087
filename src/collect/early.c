/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of samples that wait for unwind tables. It is bounded: when it is full, the oldest of the user who has most
 * there is unwound with what there is. Each record that comes in is counted exactly once, whole or with a reason.
 */
#include "collect/early.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "bpf/wire.h"
#include "collect/ingest.h"
#include "collect/sampler.h"
#include "collect/tables.h"
#include "unwind/replay.h"

#define QUEUE_BYTES ((size_t)8 << 20)

struct waiting {
	struct waiting *next;
	uint64_t user;
	size_t len;
	char bytes[];
};

struct early {
	struct ingest *ingest;
	struct tables *tables;
	struct sampler *sampler;
	bool events;
	uint64_t *sums;
	struct waiting *first, **last;
	const struct waiting *trying; /* whose stack is being unwound */
	struct map users;             /* user → bytes of his that wait */
	size_t bytes;
	uint64_t done;
	struct replay_result result;
};

int early_new(struct early **ret, const struct early_options *options)
{
	struct early *early = calloc(1, sizeof(*early));

	if (!early)
		return -ENOMEM;
	*early = (struct early){
		.ingest = options->ingest,
		.tables = options->tables,
		.sampler = options->sampler,
		.events = options->events,
		.sums = options->sums,
	};
	early->last = &early->first;
	*ret = early;
	return 0;
}

void early_free(struct early *early)
{
	if (!early)
		return;
	while (early->first) {
		struct waiting *next = early->first->next;

		free(early->first);
		early->first = next;
	}
	map_free(&early->users);
	free(early);
}

static int find_rule(void *arg, uint64_t owner, uint32_t kind, uint64_t offset, struct wire_rule *ret)
{
	struct early *early = arg;
	uint64_t id = kind == WIRE_FRAME_VDSO ? WIRE_TABLE_VDSO : owner;
	int have = tables_rule(early->tables, id, offset, ret);

	if (have == -EAGAIN)
		tables_again(early->tables, id, early->trying->user);
	return have;
}

static void count_quality(struct early *early)
{
	early->sums[WIRE_total_counted]++;
	early->sums[WIRE_stack_user]++;
	early->sums[WIRE_frame_user] += early->result.len - !!early->result.cut;
	early->sums[early->result.cut ? early->result.cut : WIRE_stack_complete]++;
}

/* The id that the kernel side would have given the stack, had it walked it. */
static uint64_t stack_id(const struct early *early)
{
	uint64_t seed = sampler_seed(early->sampler), id = seed;

	for (size_t i = early->result.len; i-- > 0;)
		id = wire_mix_frame(seed, id, early->result.frames[i].owner, early->result.frames[i].where);
	return id ? id : 1;
}

/* Makes the stack known, within the limits that hold for all of them, and for those of a user. */
static int know_stack(struct early *early, uint64_t id, uint64_t user)
{
	int err = ingest_has_stack(early->ingest, id) ? 0 : sampler_know(early->sampler, id, user);

	if (err)
		return err;
	return ingest_has_stack(early->ingest, id)
		       ? 0
		       : ingest_frames(early->ingest, id, early->result.frames, early->result.len);
}

/* 0 when it has been counted, or is lost and that is counted; -EAGAIN when it must wait. */
static int count_one(struct early *early, const struct waiting *record, bool last)
{
	struct wire_early head;
	uint64_t when;
	int err;

	early->trying = record;
	err = replay(record->bytes, find_rule, early, last, &early->result);
	if (err)
		return err;
	memcpy(&head, record->bytes, sizeof(head));
	head.key.user = stack_id(early);
	err = know_stack(early, head.key.user, record->user);
	if (err == -ENOSPC || err == -EDQUOT) {
		early->sums[err == -ENOSPC ? WIRE_lost_stacks : WIRE_lost_user_stacks]++;
		return 0;
	}
	when = head.when;
	err = err ? err : ingest_count_early(early->ingest, &head.key, early->events ? &when : NULL);
	if (!err)
		count_quality(early);
	return err;
}

/* Takes the record at a place in the queue out of it. */
static void drop_one(struct early *early, struct waiting **at)
{
	struct waiting *record = *at;
	uint64_t *own = map_get(&early->users, record->user);

	*at = record->next;
	if (!*at)
		early->last = at;
	early->bytes -= record->len;
	if (own)
		*own -= record->len;
	early->done++;
	free(record);
}

int early_run(struct early *early, bool last)
{
	struct waiting **at = &early->first;

	while (*at) {
		int err = count_one(early, *at, last);

		if (err && err != -EAGAIN)
			return err;
		if (err)
			at = &(*at)->next;
		else
			drop_one(early, at);
	}
	return 0;
}

/* The user who has most in the queue. */
static uint64_t greatest_user(const struct early *early)
{
	const struct map_slot *slot;
	uint64_t most = 0, user = 0;
	size_t at = 0;

	while ((slot = map_next(&early->users, &at)))
		if (slot->value > most) {
			most = slot->value;
			user = slot->key;
		}
	return user;
}

/* The oldest ones alone: records may come faster than all that wait can be tried again. */
static int make_room(struct early *early)
{
	while (early->bytes > QUEUE_BYTES) {
		struct waiting **at = &early->first;
		uint64_t user = greatest_user(early);
		int err;

		while (*at && (*at)->user != user)
			at = &(*at)->next;
		at = *at ? at : &early->first;
		err = count_one(early, *at, true);
		if (err)
			return err;
		drop_one(early, at);
	}
	return 0;
}

int early_take(struct early *early, const void *data, size_t len)
{
	struct waiting *record;
	struct wire_early head;
	uint64_t *own;

	if (!replay_check(data, len))
		return -EBADMSG;
	memcpy(&head, data, sizeof(head));
	own = map_put(&early->users, head.user);
	record = own ? malloc(sizeof(*record) + len) : NULL;
	if (!record)
		return -ENOMEM;
	*own += len;
	*record = (struct waiting){ .user = head.user, .len = len };
	memcpy(record->bytes, data, len);
	*early->last = record;
	early->last = &record->next;
	early->bytes += len;
	return make_room(early);
}

uint64_t early_done(const struct early *early)
{
	return early->done;
}

bool early_waits(const struct early *early)
{
	return early->first;
}
