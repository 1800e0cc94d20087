/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of samples that wait for unwind tables. It is bounded: when it is full the oldest are unwound with what there
 * is. Each record that comes in is counted exactly once, whole or with a reason.
 */
#include "collect/early.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/wire.h"
#include "collect/ingest.h"
#include "collect/sampler.h"
#include "collect/tables.h"
#include "unwind/replay.h"

#define QUEUE_BYTES ((size_t)8 << 20)

struct waiting {
	struct waiting *next;
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
	free(early);
}

static int find_rule(void *arg, uint64_t owner, uint32_t kind, uint64_t offset, struct wire_rule *ret)
{
	struct early *early = arg;
	uint64_t id = kind == WIRE_FRAME_VDSO ? WIRE_TABLE_VDSO : owner;
	int have = tables_rule(early->tables, id, offset, ret);

	if (have == -EAGAIN)
		tables_again(early->tables, id);
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

/* Makes the stack known, within the limit that holds for all of them. -ENOSPC beyond it. */
static int know_stack(struct early *early, uint64_t id)
{
	int err = ingest_has_stack(early->ingest, id) ? 0 : sampler_know(early->sampler, id);

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
	int err = replay(record->bytes, find_rule, early, last, &early->result);

	if (err)
		return err;
	memcpy(&head, record->bytes, sizeof(head));
	head.key.user = stack_id(early);
	err = know_stack(early, head.key.user);
	if (err == -ENOSPC) {
		early->sums[WIRE_lost_stacks]++;
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

	*at = record->next;
	if (!*at)
		early->last = at;
	early->bytes -= record->len;
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

/* The oldest ones alone: records may come faster than all that wait can be tried again. */
static int make_room(struct early *early)
{
	while (early->bytes > QUEUE_BYTES) {
		int err = count_one(early, early->first, true);

		if (err)
			return err;
		drop_one(early, &early->first);
	}
	return 0;
}

int early_take(struct early *early, const void *data, size_t len)
{
	struct waiting *record;

	if (!replay_check(data, len))
		return -EBADMSG;
	record = malloc(sizeof(*record) + len);
	if (!record)
		return -ENOMEM;
	record->next = NULL;
	record->len = len;
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
