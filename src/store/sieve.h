/* SPDX-License-Identifier: Apache-2.0 */
/* Which stacks of a dictionary, and which of those who ran them, a filter lets through. */
#ifndef WICK_STORE_SIEVE_H
#define WICK_STORE_SIEVE_H

#include <stdbool.h>
#include <stdint.h>

struct dict;
struct filter;

struct sieve {
	unsigned char *whos, *stacks; /* by number; NULL: all pass */
};

/* `filter` may be NULL. sieve_free is due in either case. */
int sieve_init(struct sieve *sieve, const struct dict *dict, const struct filter *filter);
void sieve_free(struct sieve *sieve);

static inline bool sieve_who(const struct sieve *sieve, uint32_t who)
{
	return !sieve->whos || sieve->whos[who];
}

static inline bool sieve_stack(const struct sieve *sieve, uint32_t stack)
{
	return !sieve->stacks || sieve->stacks[stack];
}

#endif
