/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the profile that a filter leaves of another one. Each frame is matched once, each node is judged once, from
 * the verdict on its parent: the cost does not grow with the depth of stacks.
 *
 * Records are added through profile.h again, and two that differ only in what was filled in later may become one:
 * numbers are therefore translated.
 */
#include "profile/filter.h"

#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/fail.h"
#include "profile/profile.h"
#include "profile/wick_format.h"

#define REGEX_ERROR_MAX 128

enum pattern { FOCUS, IGNORE, HIDE, PATTERNS };

struct filter {
	regex_t patterns[PATTERNS];
	bool given[PATTERNS];
};

/* The work of one filter_apply. */
struct copier {
	const struct filter *filter;
	const struct profile *from;
	struct profile *to;
	uint32_t *strings, *files, *processes, *frames, *labels, *nodes, *samples; /* numbers in `to` */
	unsigned char *matches;                                                    /* by frame: bits of the patterns */
	unsigned char *verdicts; /* by node: bits of the patterns met from the root to it */
};

int filter_new(struct filter **ret, const struct filter_options *options)
{
	const char *const texts[PATTERNS] = { options->focus, options->ignore, options->hide };
	static const char *const names[PATTERNS] = { "focus", "ignore", "hide" };
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
	free(copier->strings);
	free(copier->files);
	free(copier->processes);
	free(copier->frames);
	free(copier->labels);
	free(copier->nodes);
	free(copier->samples);
	free(copier->matches);
	free(copier->verdicts);
	profile_free(copier->to);
}

static uint32_t *numbers_for(const struct copier *copier, enum profile_table table)
{
	return calloc(profile_count(copier->from, table), sizeof(uint32_t));
}

static int copier_prepare(struct copier *copier)
{
	copier->strings = numbers_for(copier, PROFILE_STRINGS);
	copier->files = numbers_for(copier, PROFILE_FILES);
	copier->processes = numbers_for(copier, PROFILE_PROCESSES);
	copier->frames = numbers_for(copier, PROFILE_FRAMES);
	copier->labels = numbers_for(copier, PROFILE_LABELS);
	copier->nodes = numbers_for(copier, PROFILE_NODES);
	copier->samples = numbers_for(copier, PROFILE_SAMPLES);
	copier->matches = calloc(profile_count(copier->from, PROFILE_FRAMES), 1);
	copier->verdicts = calloc(profile_count(copier->from, PROFILE_NODES), 1);
	if (!copier->strings || !copier->files || !copier->processes || !copier->frames || !copier->labels ||
	    !copier->nodes || !copier->samples || !copier->matches || !copier->verdicts)
		return -ENOMEM;
	return profile_new(&copier->to);
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
			for (int p = 0; p < PATTERNS; p++)
				if (copier->filter->given[p] &&
				    !regexec(&copier->filter->patterns[p], text.data, 0, NULL, 0))
					copier->matches[i] |= (unsigned char)(1 << p);
		}
	return 0;
}

static int copy_strings_and_files(struct copier *copier)
{
	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_STRINGS); i++) {
		size_t len;
		const char *text = profile_text(copier->from, i, &len);

		copier->strings[i] = profile_bytes(copier->to, text, len);
		if (copier->strings[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_FILES); i++) {
		struct profile_file file = *profile_file(copier->from, i);

		file.path = copier->strings[file.path];
		file.build_id = copier->strings[file.build_id];
		file.reason = copier->strings[file.reason];
		copier->files[i] = profile_add_file(copier->to, &file);
		if (copier->files[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	return 0;
}

static int copy_processes(struct copier *copier)
{
	uint32_t count = profile_count(copier->from, PROFILE_PROCESSES);

	for (uint32_t i = 1; i < count; i++) {
		const struct profile_process *process = profile_process(copier->from, i);

		copier->processes[i] = profile_add_process(copier->to, process->pid, process->start);
		if (copier->processes[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < count; i++) { /* a parent may come after its child */
		const struct profile_process *process = profile_process(copier->from, i);
		struct profile_process *copy = profile_process(copier->to, copier->processes[i]);

		copy->parent = copier->processes[process->parent];
		copy->comm = copier->strings[process->comm];
		copy->exe = copier->strings[process->exe];
		copy->cgroup = copier->strings[process->cgroup];
	}
	return 0;
}

static int copy_frames_and_labels(struct copier *copier)
{
	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_FRAMES); i++) {
		struct profile_frame frame = *profile_frame(copier->from, i);

		frame.file = copier->files[frame.file];
		frame.process = copier->processes[frame.process];
		frame.name = copier->strings[frame.name];
		copier->frames[i] = profile_add_frame(copier->to, &frame);
		if (copier->frames[i] == PROFILE_FULL)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_LABELS); i++) {
		uint32_t rest, key, value;

		profile_label(copier->from, i, &rest, &key, &value);
		copier->labels[i] = profile_add_label(copier->to, copier->labels[rest], copier->strings[key],
						      copier->strings[value]);
		if (copier->labels[i] == PROFILE_FULL)
			return -ENOMEM;
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
			copier->nodes[i] =
				profile_add_node(copier->to, copier->nodes[node->parent], copier->frames[node->frame]);
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

static int copy_samples(struct copier *copier)
{
	for (uint32_t i = 1; i < profile_count(copier->from, PROFILE_SAMPLES); i++) {
		struct profile_sample sample = *profile_sample(copier->from, i);

		if (!passes(copier, sample.stack))
			continue;
		sample.stack = copier->nodes[sample.stack];
		sample.process = copier->processes[sample.process];
		sample.comm = copier->strings[sample.comm];
		sample.labels = copier->labels[sample.labels];
		copier->samples[i] = profile_add_sample(copier->to, &sample);
		if (copier->samples[i] == PROFILE_FULL)
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

#define TRANSLATE(field) meta.field = copier->strings[meta.field];
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
	err = err ? err : copy_strings_and_files(&copier);
	err = err ? err : copy_processes(&copier);
	err = err ? err : copy_frames_and_labels(&copier);
	err = err ? err : copy_nodes(&copier);
	err = err ? err : copy_samples(&copier);
	err = err ? err : copy_meta(&copier);
	if (!err) {
		*ret = copier.to;
		copier.to = NULL;
	}
	copier_free(&copier);
	return err ? fail(err, "filter") : 0;
}
