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
	bool events;
	uint64_t *sums;
	struct waiting *first, **last;
	size_t bytes;
	struct replay_result result;
};

int early_new(struct early **ret, struct ingest *ingest, struct tables *tables, bool events, uint64_t *sums)
{
	struct early *early = calloc(1, sizeof(*early));

	if (!early)
		return -ENOMEM;
	*early = (struct early){ .ingest = ingest, .tables = tables, .events = events, .sums = sums };
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

/* 0 when it has been counted, -EAGAIN when it must wait. */
static int count_one(struct early *early, const struct waiting *record, bool last)
{
	struct wire_early head;
	int err = replay(record->bytes, find_rule, early, last, &early->result);

	if (err)
		return err;
	memcpy(&head, record->bytes, offsetof(struct wire_early, process));
	err = ingest_sample(early->ingest, &head.key, early->result.frames, early->result.len,
			    early->events ? head.when : 0);
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
