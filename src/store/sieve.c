/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter, judged once for everything that a dictionary has: who ran, and stacks. Asking for a row is then a look into
 * two arrays.
 */
#include "store/sieve.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fail.h"
#include "profile/filter.h"
#include "profile/judge.h"
#include "store/dict.h"

static int judge_whos(struct sieve *sieve, const struct dict *dict, struct judge *judge)
{
	uint32_t count = dict_count(dict, DICT_WHOS);

	sieve->whos = calloc(count, 1);
	if (!sieve->whos)
		return fail(-ENOMEM, "store: filter");
	for (uint32_t i = 1; i < count; i++) {
		struct dict_who who = dict_who(dict, i);

		sieve->whos[i] = judge_who(judge, &(struct judge_who){ who.process, who.tid, who.comm, who.labels });
	}
	return 0;
}

static int judge_stacks(struct sieve *sieve, const struct dict *dict, const struct judge *judge)
{
	uint32_t count = dict_count(dict, DICT_STACKS);

	sieve->stacks = calloc(count, 1);
	if (!sieve->stacks)
		return fail(-ENOMEM, "store: filter");
	for (uint32_t i = 0; i < count; i++) /* 0: without a stack */
		sieve->stacks[i] = judge_stack(judge, i);
	return 0;
}

int sieve_init(struct sieve *sieve, const struct dict *dict, const struct filter *filter)
{
	struct judge judge;
	int err;

	*sieve = (struct sieve){ 0 };
	if (!filter)
		return 0;
	err = judge_begin(&judge, filter, dict->model);
	if (!err && filter_of_tasks(filter))
		err = judge_whos(sieve, dict, &judge);
	if (!err && filter_of_stacks(filter))
		err = judge_stacks(sieve, dict, &judge);
	judge_end(&judge);
	return err;
}

void sieve_free(struct sieve *sieve)
{
	free(sieve->whos);
	free(sieve->stacks);
	*sieve = (struct sieve){ 0 };
}
