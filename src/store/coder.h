/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in as few bits as their chances allow (a binary range coder). What is written as a bit, or a number, is told
 * by a model of what came before in the same place; who reads has the same models and learns the same. The calls are
 * the same for both: they write what is given and return it, or return what is read, whatever was given.
 *
 *   coder_write(&coder, &bytes)  or  coder_read(&coder, data, len)
 *   value = coder_number(&coder, &model, value)   as often as there are numbers
 *   coder_end(&coder)   0, or -EBADMSG if what was read is not what somebody wrote, -ENOMEM
 *
 * Bytes that end too early read as if zeros followed, and `bad` is set; whoever reads looks at it before memory is
 * taken. A bit takes at least a thousandth of one, so that few bytes cannot stand for very much.
 */
#ifndef WICK_STORE_CODER_H
#define WICK_STORE_CODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct coder {
	uint32_t low, high;
	uint32_t code; /* reading: where in between it is */
	const unsigned char *at, *end;
	struct buf *out; /* NULL: reading */
	bool bad;
};

/* {0}: nothing is known, either is as likely. */
struct coder_bit {
	int32_t state; /* how much it leans towards 1, and in the lowest 8 bits how many were seen */
};

#define CODER_TOP 4 /* bits behind the highest that are learned; those that follow are as they come */

/* Of numbers: how many bits they have, and which the highest are. */
struct coder_number {
	struct coder_bit more[65]; /* than so many bits? */
	struct coder_bit top[65][1 << CODER_TOP];
};

void coder_write(struct coder *coder, struct buf *out);
void coder_read(struct coder *coder, const void *data, size_t len);
int coder_end(struct coder *coder);

bool coder_bit(struct coder *coder, struct coder_bit *model, bool bit);
uint64_t coder_number(struct coder *coder, struct coder_number *model, uint64_t number);

/* How many bits a number has, up to so many: a place in a table of models. */
static inline unsigned int coder_size(uint64_t number, unsigned int most)
{
	unsigned int size = number ? 64u - (unsigned int)__builtin_clzll(number) : 0;

	return size < most ? size : most;
}

#endif
