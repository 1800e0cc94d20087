/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The range coder. The bytes are a number between 0 and 1; each bit divides what is left of that between `low` and
 * `high` by its chance and keeps one part. Bytes on which both agree are written, or read, and shifted out.
 *
 * Invariant: writer and reader have the same low and high, and the same models, at each bit.
 */
#include "store/coder.h"

#include <errno.h>

#include "base/buf.h"
#include "base/fail.h"

#define HALF 32768
#define LEAST 48 /* of 65536: no bit is more certain than that */
#define SEEN_BITS 8
#define SEEN_MAX ((1 << SEEN_BITS) - 1) /* what came long ago counts less */
#define MOST_LEAN ((HALF - LEAST) << SEEN_BITS)

void coder_write(struct coder *coder, struct buf *out)
{
	*coder = (struct coder){ .high = UINT32_MAX, .out = out };
}

static uint32_t next_byte(struct coder *coder)
{
	if (coder->at < coder->end)
		return *coder->at++;
	coder->bad = true;
	return 0;
}

void coder_read(struct coder *coder, const void *data, size_t len)
{
	const unsigned char *at = data ? data : (const void *)"";

	*coder = (struct coder){ .high = UINT32_MAX, .at = at, .end = at + (data ? len : 0) };
	for (int i = 0; i < 4; i++)
		coder->code = coder->code << 8 | next_byte(coder);
}

int coder_end(struct coder *coder)
{
	if (!coder->out)
		return coder->bad || coder->at != coder->end ? fail_plain(-EBADMSG, "store: an hour is damaged") : 0;
	for (int i = 24; i >= 0; i -= 8)
		buf_addc(coder->out, (char)(coder->low >> i));
	return buf_error(coder->out) ? fail(-ENOMEM, "store: an hour") : 0;
}

static bool divide(struct coder *coder, uint32_t chance, bool bit)
{
	uint32_t middle = coder->low + (uint32_t)((uint64_t)(coder->high - coder->low) * chance >> 16);

	bit = coder->out ? bit : coder->code <= middle;
	if (bit)
		coder->high = middle;
	else
		coder->low = middle + 1;
	while (!((coder->low ^ coder->high) >> 24)) {
		if (coder->out)
			buf_addc(coder->out, (char)(coder->high >> 24));
		else
			coder->code = coder->code << 8 | next_byte(coder);
		coder->low <<= 8;
		coder->high = coder->high << 8 | 0xff;
	}
	return bit;
}

bool coder_bit(struct coder *coder, struct coder_bit *model, bool bit)
{
	int32_t lean = model->state >> SEEN_BITS, seen = model->state & SEEN_MAX, aim;

	bit = divide(coder, (uint32_t)(HALF + (lean >> SEEN_BITS)), bit);
	aim = bit ? MOST_LEAN : -MOST_LEAN;
	/* The first few teach much, later ones as little as one of SEEN_MAX. */
	lean += (aim - lean) * 2 / (2 * seen + 3);
	model->state = lean * (1 << SEEN_BITS) | (seen < SEEN_MAX ? seen + 1 : seen);
	return bit;
}

uint64_t coder_number(struct coder *coder, struct coder_number *model, uint64_t number)
{
	unsigned int size = 0, wanted = coder_size(number, 64), path = 1;
	uint64_t got = 1; /* the highest bit is known */

	while (size < 64 && coder_bit(coder, &model->more[size], size < wanted))
		size++;
	if (size < 2)
		return size;
	for (unsigned int i = size - 1; i-- > 0;) {
		bool bit = number >> i & 1;

		if (path < 1 << CODER_TOP) {
			bit = coder_bit(coder, &model->top[size][path], bit);
			path = path << 1 | bit;
		} else {
			bit = divide(coder, HALF, bit);
		}
		got = got << 1 | bit;
	}
	return got;
}
