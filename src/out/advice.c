/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for the counters of losses and of stacks that are not whole: one row each, and a test compares the rows with
 * src/bpf/counters.def. Advice is something that can be done; where nothing can, the row says what it does not harm.
 */
#include "out/advice.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "profile/profile.h"

static const struct advice advices[] = {
	{ "cut", "depth", "cut: ", "very deep recursion: the leaf is right, the frames next to the root are missing" },
	{ "cut", "no_frame_pointer",
	  "cut: ", "code with neither unwind tables nor frame pointers: build it with -fno-omit-frame-pointer" },
	{ "cut", "no_memory", "cut: ", "stack memory was not there to read: swapped out, or not a stack" },
	{ "cut", "no_mapping",
	  "cut: ", "a return address in no mapping: the code does not follow the frame pointer rules" },
	{ "cut", "not_code", "cut: ", "a return address in data: the code does not follow the frame pointer rules" },
	{ "cut", "no_table", "cut: ", "the file was new and its unwind table not ready: fewer in longer recordings" },
	{ "cut", "odd_rule",
	  "cut: ", "unwind information of a kind that is not known: the rest of the stack is missing" },
	{ "cut", "bad_rule", "cut: ", "unwind information that is wrong: the rest of the stack is missing" },
	{ "cut", "compat", "cut: ", "32-bit programs are not unwound: only the share of the process is right" },
	{ "lost", "ring", "lost: ", "new stacks came faster than they were fetched: raise --ring-bytes" },
	{ "lost", "stacks", "lost: ", "more distinct stacks than there is room for: raise --max-stacks" },
	{ "lost", "counts", "lost: ", "more distinct samples than there is room for: raise --max-stacks" },
	{ "lost", "user_stacks",
	  "lost: ", "a user's distinct stacks, beyond his share of the room: raise --max-stacks" },
	{ "lost", "user_ring", "lost: ", "a user's new stacks came too fast, beyond his share: raise --ring-bytes" },
	{ "lost", "busy", "lost: ", "one sample interrupted another: a few do no harm; lower -F if they are many" },
	{ "lost", "error", "lost: ", "the kernel refused an update: lower -F, and see record --debug" },
	{ "note", "missed",
	  "ticks: ", "the kernel was in a place where nothing can be sampled: shares may be off by as much" },
	{ "note", "events_lost", "note: ", "counted, but when is not known: raise --ring-bytes" },
	{ "note", "files_full", "note: ", "more files than there is room for: some frames have no file" },
	{ "note", "user_files",
	  "note: ", "a user's files, beyond his share of the room: some of his frames have no file" },
	{ "note", "user_early", "note: ",
	  "a user's samples before their unwind tables, beyond his share: cut short where tables were missing" },
	{ "note", "files_stuck",
	  "note: ", "files that could not be opened in time: somebody holds up their file system" },
	{ "note", "user_budget", "note: ", "requests refused to users who had their share: their files have no names" },
	{ "note", "notices_lost", "note: ", "some may be without a name: they came and went too fast" },
	{ "note", "children_full", "note: ", "more descendants than can be followed: the rest is not in the profile" },
	{ "note", "worker_deaths", "note: ", "the process that reads files died of some: those have no names" },
	{ "note", "debuginfod_failed", "note: ", "debug files that no server gave in time: see DEBUGINFOD_URLS" },
	{ "note", "unwind_evicted", "note: ", "unwind tables were given up for others: raise --unwind-memory" },
	{ "note", "unwind_refused", "note: ", "unwind tables that found no room: raise --unwind-memory" },
};

static const struct advice unknown = { "", "", "", "made by a newer wick, whose documentation explains it" };

bool advice_is_problem(const char *group, const char *name)
{
	return !strcmp(group, "cut") || !strcmp(group, "lost") || (!strcmp(group, "note") && strcmp(name, "keys") != 0);
}

const struct advice *advice_find(const char *group, const char *name)
{
	for (size_t i = 0; i < sizeof(advices) / sizeof(*advices); i++)
		if (!strcmp(advices[i].group, group) && !strcmp(advices[i].name, name))
			return &advices[i];
	return &unknown;
}

bool advice_line(const struct profile *profile, uint32_t number, bool words, struct buf *out)
{
	const struct profile_counter *counter = profile_counter(profile, number);
	const char *group = profile_text(profile, counter->group, NULL);
	const char *name = profile_text(profile, counter->name, NULL);
	const struct advice *advice = advice_find(group, name);

	if (!counter->value || !advice_is_problem(group, name))
		return false;
	buf_adds(out, advice->what);
	text_escape(out, name, strlen(name), NULL);
	buf_addf(out, " %" PRIu64, counter->value);
	if (words)
		buf_addf(out, ": %s", advice->words);
	return true;
}

const char *advice_no_names(uint32_t kind)
{
	switch (kind) {
	case FRAME_KERNEL:
		return "kernel addresses are hidden: see kernel.kptr_restrict";
	case FRAME_JIT:
		return "code made at run time, without a perf map";
	default:
		return "";
	}
}
