/* SPDX-License-Identifier: Apache-2.0 */
/* The user-space build of the unwinder: step.h over copied memory. The copy is somebody's memory: nothing in it is
 * believed, every read is inside the copy, and the number of frames is bounded. */
#include "unwind/replay.h"

#include <errno.h>
#include <string.h>

struct copies {
	const struct replay_memory *list;
	size_t len;
};

/* What the steps read from: they have no room for an argument of ours. */
static _Thread_local const struct copies *reading;

static int replay_read(void *into, uint32_t len, uint64_t address)
{
	for (size_t i = 0; i < reading->len; i++) {
		const struct replay_memory *copy = &reading->list[i];
		uint64_t at = address - copy->start;

		if (address < copy->start || at > copy->len || len > copy->len - at)
			continue;
		memcpy(into, copy->bytes + at, len);
		return 0;
	}
	return -1;
}

#define STEP_READ replay_read

#include "unwind/step.h"

bool replay_check(const void *data, size_t len)
{
	struct wire_early head;

	if (len < sizeof(head))
		return false;
	memcpy(&head, data, sizeof(head));
	return head.type == WIRE_EARLY && head.maps_len <= WIRE_EARLY_MAPS && head.stack_len <= WIRE_EARLY_STACK &&
	       head.stack_len <= len - sizeof(head);
}

static const struct wire_early_map *find_map(const struct wire_early *early, uint64_t address)
{
	for (uint32_t i = 0; i < early->maps_len; i++)
		if (address >= early->maps[i].start && address < early->maps[i].end)
			return &early->maps[i];
	return NULL;
}

/* The code is not in the record, so that no call can be seen in it; but somewhere code must be, and the vDSO calls
 * nobody. */
static int by_frame_pointer(const struct wire_early *early, struct step_regs *regs, bool *chained)
{
	const struct step_regs before = *regs;
	const struct wire_early_map *map;
	bool was_chained = *chained;
	int result = step_fp(regs);

	*chained = false;
	if (result == STEP_ROOT && !step_fp_root(regs, was_chained, early->stack_root))
		return WIRE_cut_no_frame_pointer;
	if (result != STEP_MORE)
		return result;
	map = find_map(early, regs->r[STEP_IP] - 1);
	*chained = map && map->kind != WIRE_FRAME_VDSO;
	if (*chained)
		return STEP_MORE;
	*regs = before;
	return WIRE_cut_no_frame_pointer;
}

static int step_by(const struct wire_early *early, struct step_regs *regs, const struct wire_rule *rule, int have,
		   bool begins, bool *exact, bool *chained)
{
	uint64_t fp = regs->r[STEP_FP];
	bool was_exact = *exact;
	int result;

	*exact = false;
	if (have != 1 || rule->kind == WIRE_RULE_NONE)
		return begins ? STEP_ROOT : by_frame_pointer(early, regs, chained);
	*chained = false;
	if (rule->kind == WIRE_RULE_ROOT)
		return STEP_ROOT;
	if (rule->kind == WIRE_RULE_SIGNAL) {
		*exact = true;
		return step_signal(regs);
	}
	result = step_rule(regs, rule, was_exact);
	if (result == STEP_MORE && rule->flags & WIRE_RULE_SAVES)
		step_saves(regs, rule, fp);
	return result;
}

static void add(struct replay_result *result, uint64_t owner, uint64_t where)
{
	result->frames[result->len++] = (struct wire_frame){ owner, where };
}

static int walk(const struct wire_early *early, replay_rule *find, void *arg, bool last, struct replay_result *ret)
{
	struct step_regs regs;
	bool exact = true, chained = false;
	int result = STEP_MORE;

	memcpy(&regs, early->registers, sizeof(regs));
	while (result == STEP_MORE) {
		uint64_t address = regs.r[STEP_IP] - !exact, where;
		const struct wire_early_map *map = find_map(early, address);
		struct wire_rule rule = { 0 }, next = { 0 };
		bool begins = false;
		int have = 0;

		if (!map) {
			result = WIRE_cut_no_mapping;
			break;
		}
		if (ret->len >= WIRE_USER_FRAMES) {
			result = WIRE_cut_depth;
			break;
		}
		where = address + map->offset;
		if (map->kind == WIRE_FRAME_FILE || map->kind == WIRE_FRAME_VDSO)
			have = find(arg, map->owner, (uint32_t)map->kind, where, &rule);
		if (have == -EAGAIN && !last)
			return -EAGAIN;
		if (have == 1 && rule.kind == WIRE_RULE_NONE && !exact) /* as walk_begins */
			begins = find(arg, map->owner, (uint32_t)map->kind, where + 1, &next) == 1 &&
				 next.kind != WIRE_RULE_NONE;
		if (have == REPLAY_JIT)
			add(ret, early->process, WIRE_WHERE(WIRE_FRAME_ANON, address));
		else
			add(ret, map->owner, WIRE_WHERE(map->kind, where));
		result = step_by(early, &regs, &rule, have, begins, &exact, &chained);
		/* Memory beyond the copy may well be there: with a table in time it would have been read. */
		if (result == WIRE_cut_no_memory || (have == -EAGAIN && result == WIRE_cut_no_frame_pointer))
			result = WIRE_cut_no_table;
	}
	ret->cut = result == STEP_ROOT ? 0 : (uint32_t)result;
	if (ret->cut)
		add(ret, 0, WIRE_WHERE(WIRE_FRAME_CUT, ret->cut));
	return 0;
}

int replay_memory(const struct wire_early *head, const struct replay_memory *list, size_t len, replay_rule *rule,
		  void *arg, bool last, struct replay_result *ret)
{
	const struct copies copies = { list, len };
	int err;

	ret->len = 0;
	reading = &copies;
	err = walk(head, rule, arg, last, ret);
	reading = NULL;
	return err;
}

int replay(const void *data, replay_rule *rule, void *arg, bool last, struct replay_result *ret)
{
	struct wire_early head; /* a copy: aligned */
	struct replay_memory stack;

	memcpy(&head, data, sizeof(head));
	stack = (struct replay_memory){ head.stack_start, (const unsigned char *)data + sizeof(head), head.stack_len };
	return replay_memory(&head, &stack, 1, rule, arg, last, ret);
}
