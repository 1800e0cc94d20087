/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of users that is looked through: there are few, and it is asked when a process has a request to serve, not
 * more often. Invariant: root (user 0) is never in it.
 */
#include "worker/shares.h"

#include <stdlib.h>

static struct share *find(const struct shares *shares, uint64_t user)
{
	for (size_t i = 0; i < shares->len; i++)
		if (shares->list[i].user == user)
			return &shares->list[i];
	return NULL;
}

static struct share *add(struct shares *shares, uint64_t user)
{
	if (shares->len == shares->cap) {
		size_t cap = shares->cap ? shares->cap * 2 : 16;
		struct share *grown = reallocarray(shares->list, cap, sizeof(*grown));

		if (!grown)
			return NULL;
		shares->list = grown;
		shares->cap = cap;
	}
	shares->list[shares->len] = (struct share){ .user = user };
	return &shares->list[shares->len++];
}

void shares_free(struct shares *shares)
{
	free(shares->list);
	*shares = (struct shares){ 0 };
}

void shares_charge(struct shares *shares, uint64_t user, uint64_t ns, bool died)
{
	struct share *share = user ? find(shares, user) : NULL;

	if (user && !share)
		share = add(shares, user);
	if (!share)
		return;
	share->used_ns += ns;
	share->deaths += died;
}

uint64_t shares_used(const struct shares *shares, uint64_t user)
{
	const struct share *share = find(shares, user);

	return share ? share->used_ns : 0;
}

bool shares_died(const struct shares *shares, uint64_t user)
{
	const struct share *share = find(shares, user);

	return share && share->deaths;
}

bool shares_may(const struct shares *shares, uint64_t user, uint64_t now_ns)
{
	const struct shares_limits *limits = &shares->limits;
	const struct share *share = find(shares, user);
	uint64_t since = now_ns > shares->begun_ns ? now_ns - shares->begun_ns : 0;

	if (!share)
		return true;
	if (limits->burst_ns && share->used_ns > limits->burst_ns + since / 1000 * limits->permille)
		return false;
	return !limits->deaths || share->deaths < limits->deaths * (1 + since / SHARES_AGAIN_NS);
}
