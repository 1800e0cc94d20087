/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the profile that a filter leaves of another one. Each frame is matched once, each process too, each node is
 * judged once, from the verdict on its parent: the cost does not grow with the depth of stacks.
 */
#include "profile/filter.h"

#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/text.h"
#include "profile/copy.h"
#include "profile/profile.h"
#include "profile/wick_format.h"

#define REGEX_ERROR_MAX 128

enum pattern { FOCUS, IGNORE, HIDE, PROCESS, PATTERNS };
#define FRAME_PATTERNS PROCESS /* those before it are of frames */

struct filter {
	regex_t patterns[PATTERNS];
	bool given[PATTERNS];
	uint32_t pid; /* of PROCESS, if that is a number; else 0 */
};

/* The work of one filter_apply. */
struct copier {
	const struct filter *filter;
	const struct profile *from;
	struct profile *to;
	struct copy copy;
	uint32_t *nodes, *samples; /* numbers in `to` */
	unsigned char *matches;    /* by frame: bits of the patterns */
	unsigned char *verdicts;   /* by node: bits of the patterns met from the root to it */
	unsigned char *names;      /* by string: whether that is a process asked for; 0: not known yet */
};

int filter_new(struct filter **ret, const struct filter_options *options)
{
	const char *const texts[PATTERNS] = { options->focus, options->ignore, options->hide, options->process };
	static const char *const names[PATTERNS] = { "focus", "ignore", "hide", "process" };
	uint64_t pid = 0;
	struct filter *filter = calloc(1, sizeof(*filter));

	if (!filter)
		return fail(-ENOMEM, "filter");
	for (int i = 0; i < PATTERNS; i++) {
		char words[REGEX_ERROR_MAX];
		int err = texts[i] ? regcomp(&filter->patterns[i], texts[i], REG_EXTENDED | REG_NOSUB) : 0;

		if (err) {
			regerror(err, &filter->patterns[i], words, sizeof(words));
			filter_free(filter);
			return fail_plain(-EINVAL, "%s '%s': %s", names[i], texts[i], words);
		}
		filter->given[i] = texts[i];
	}
	if (options->process && !text_u64(options->process, &pid) && pid <= UINT32_MAX)
		filter->pid = (uint32_t)pid;
	*ret = filter;
	return 0;
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	for (int i = 0; i < PATTERNS; i++)
		if (filter->given[i])
			regfree(&filter->patterns[i]);
	free(filter);
}

static void copier_free(struct copier *copier)
{
	copy_free(&copier->copy);
	free(copier->nodes);
	free(copier->samples);
	free(copier->matches);
	free(copier->verdicts);
	free(copier->names);
	profile_free(copier->to);
}

static int copier_prepare(struct copier *copier)
{
	int err = profile_new(&copier->to);

	copier->nodes = calloc(profile_count(copier->from, PROFILE_NODES), sizeof(*copier->nodes));
	copier->samples = calloc(profile_count(copier->from, PROFILE_SAMPLES), sizeof(*copier->samples));
	copier->matches = calloc(profile_count(copier->from, PROFILE_FRAMES), 1);
	copier->verdicts = calloc(profile_count(copier->from, PROFILE_NODES), 1);
	copier->names = calloc(profile_count(copier->from, PROFILE_STRINGS), 1);
	if (err || !copier->nodes || !copier->samples || !copier->matches || !copier->verdicts || !copier->names)
		return -ENOMEM;
	return copy_begin(&copier->copy, copier->from, copier->to);
}

static int match_frames(struct copier *copier, filter_text *const *texts)
{
	autobuf struct buf text = { 0 };

	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_FRAMES); i++)
		for (filter_text *const *add = texts; *add; add++) {
			buf_clear(&text);
			(*add)(copier->from, i, &text);
			buf_addc(&text, '\0');
			if (buf_error(&text))
				return buf_error(&text);
			for (int p = 0; p < FRAME_PATTERNS; p++)
				if (copier->filter->given[p] &&
				    !regexec(&copier->filter->patterns[p], text.data, 0, NULL, 0))
					copier->matches[i] |= (unsigned char)(1 << p);
		}
	return 0;
}

/* A parent's number is smaller than its node's: one pass in order knows every verdict. */
static int copy_nodes(struct copier *copier)
{
	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_NODES); i++) {
		const struct profile_node *node = profile_node(copier->from, i);
		unsigned char match = copier->matches[node->frame];

		copier->verdicts[i] = copier->verdicts[node->parent] | match;
		copier->nodes[i] = copier->nodes[node->parent];
		if (!(match & 1 << HIDE))
			copier->nodes[i] = profile_add_node(copier->to, copier->nodes[node->parent],
							    copier->copy.frames[node->frame]);
		if (copier->nodes[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

static bool passes(const struct copier *copier, uint32_t stack)
{
	unsigned char verdict = copier->verdicts[stack];

	if (copier->filter->given[FOCUS] && !(verdict & 1 << FOCUS))
		return false;
	if (verdict & 1 << IGNORE)
		return false;
	return !(verdict & 1 << HIDE) || copier->nodes[stack];
}

/* Of a process that was asked for: by its pid, or by the name the sample has. */
static bool is_asked_for(struct copier *copier, const struct profile_sample *sample)
{
	const struct profile_process *process = profile_process(copier->from, sample->process);
	uint32_t comm = sample->comm ? sample->comm : process->comm;
	const struct filter *filter = copier->filter;

	if (!filter->given[PROCESS])
		return true;
	if (filter->pid && process->pid == filter->pid)
		return true;
	if (!copier->names[comm])
		copier->names[comm] =
			regexec(&filter->patterns[PROCESS], profile_text(copier->from, comm, NULL), 0, NULL, 0) ? 1 : 2;
	return copier->names[comm] == 2;
}

static int copy_samples(struct copier *copier)
{
	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_SAMPLES); i++) {
		const struct profile_sample *old = profile_sample(copier->from, i);
		struct profile_sample sample;

		if (!passes(copier, old->stack) || !is_asked_for(copier, old))
			continue;
		sample = copy_sample(&copier->copy, i, copier->nodes[old->stack]);
		copier->samples[i] = profile_add_sample(copier->to, &sample);
		if (copier->samples[i] == PROFILE_FULL || copy_values(&copier->copy, i, copier->samples[i]))
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_EVENTS); i++) {
		struct profile_event event = *profile_event(copier->from, i);

		event.sample = copier->samples[event.sample];
		if (event.sample && profile_add_event(copier->to, &event) == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

static int copy_meta(struct copier *copier)
{
	struct profile_meta meta = *profile_meta(copier->from);
	int err = 0;

#define TRANSLATE(field) meta.field = copier->copy.strings[meta.field];
	WICK_META_STRINGS(TRANSLATE)
#undef TRANSLATE
	*profile_meta(copier->to) = meta;
	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_COUNTERS) && !err; i++) {
		const struct profile_counter *counter = profile_counter(copier->from, i);

		err = profile_add_counter(copier->to, profile_text(copier->from, counter->group, NULL),
					  profile_text(copier->from, counter->name, NULL), counter->value);
	}
	return err;
}

int filter_apply(const struct filter *filter, const struct profile *from, filter_text *const *texts,
		 struct profile **ret)
{
	struct copier copier = { .filter = filter, .from = from };
	int err = copier_prepare(&copier);

	err = err ? err : match_frames(&copier, texts);
	err = err ? err : copy_nodes(&copier);
	err = err ? err : copy_types(&copier.copy);
	err = err ? err : copy_samples(&copier);
	err = err ? err : copy_meta(&copier);
	if (!err) {
		*ret = copier.to;
		copier.to = NULL;
	}
	copier_free(&copier);
	return err ? fail(err, "filter") : 0;
}
