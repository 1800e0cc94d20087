/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter, judged once for everything that a dictionary has: who ran, by process and labels; stacks, from the verdict
 * on their parents, which have smaller numbers. Asking for a row is then a look into two arrays.
 */
#include "store/sieve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "profile/profile.h"
#include "store/dict.h"
#include "store/store.h"

static bool is_text(const struct profile *model, uint32_t string, const char *text)
{
	size_t len;
	const char *there = profile_text(model, string, &len);

	return len == strlen(text) && !memcmp(there, text, len);
}

static bool has_label(const struct profile *model, uint32_t set, const char *key, const char *value)
{
	uint32_t rest, key_string, value_string;

	for (; set; set = rest) { /* the rest has a smaller number */
		profile_label(model, set, &rest, &key_string, &value_string);
		if (is_text(model, key_string, key))
			return is_text(model, value_string, value);
	}
	return false;
}

static bool is_process(const struct profile *model, const struct dict_who *who, const char *name)
{
	const struct profile_process *process = profile_process(model, who->process);
	uint64_t pid = 0;

	if (!text_u64(name, &pid) && pid && process->pid == pid)
		return true;
	return is_text(model, process->comm, name) || (who->comm && is_text(model, who->comm, name));
}

static int judge_whos(struct sieve *sieve, const struct dict *dict, const struct store_filter *filter)
{
	uint32_t count = dict_count(dict, DICT_WHOS);

	sieve->whos = calloc(count, 1);
	if (!sieve->whos)
		return fail(-ENOMEM, "store: filter");
	for (uint32_t i = 1; i < count; i++) {
		struct dict_who who = dict_who(dict, i);
		uint32_t labels = who.labels ? who.labels : profile_process(dict->model, who.process)->labels;

		sieve->whos[i] = (!filter->process || is_process(dict->model, &who, filter->process)) &&
				 (!filter->label_key || has_label(dict->model, labels, filter->label_key,
								  filter->label ? filter->label : ""));
	}
	return 0;
}

static int judge_stacks(struct sieve *sieve, const struct dict *dict, const char *function)
{
	uint32_t count = dict_count(dict, DICT_STACKS);

	sieve->stacks = calloc(count, 1);
	if (!sieve->stacks)
		return fail(-ENOMEM, "store: filter");
	for (uint32_t i = 1; i < count; i++) {
		const struct profile_node *node = profile_node(dict->model, i);

		sieve->stacks[i] = sieve->stacks[node->parent] ||
				   is_text(dict->model, profile_frame(dict->model, node->frame)->name, function);
	}
	return 0;
}

int sieve_init(struct sieve *sieve, const struct dict *dict, const struct store_filter *filter)
{
	int err = 0;

	*sieve = (struct sieve){ 0 };
	if (filter && (filter->process || filter->label_key))
		err = judge_whos(sieve, dict, filter);
	if (!err && filter && filter->function)
		err = judge_stacks(sieve, dict, filter->function);
	return err;
}

void sieve_free(struct sieve *sieve)
{
	free(sieve->whos);
	free(sieve->stacks);
	*sieve = (struct sieve){ 0 };
}
