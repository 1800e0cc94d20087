/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of hours. In: arranged rows. Out: bytes; and back, by the same steps (coder.h).
 *
 * Of each stack it is kept which ones followed it last. Most rows are one of those: a bit for each that it is not, and
 * one that it is. Of others it is told how much greater they are than the one before.
 */
#include "store/sum.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "store/coder.h"
#include "store/window.h"

#define FOLLOWERS 8
#define SLOT_BITS 14 /* stacks that share a slot do no harm: who reads has the same slots */
#define STEP_SIZES 13
#define ROWS_MAX (1u << 26)
#define ROWS_PER_BYTE 4096 /* no row takes less */

struct models {
	uint32_t followers[1 << SLOT_BITS][FOLLOWERS]; /* the last one first; 0: none */
	struct coder_bit follows[FOLLOWERS][4];        /* by whether the last two rows did */
	struct coder_number steps[2][STEP_SIZES + 1];  /* the first of a group, or another; by the step before */
	struct coder_number values[4][4];              /* by the last two */
};

static uint32_t *followers_of(struct models *models, uint32_t stack)
{
	return models->followers[stack * 0x9e3779b1u >> (32 - SLOT_BITS)];
}

static void remember(uint32_t *followers, uint32_t stack)
{
	size_t i = 0;

	while (i < FOLLOWERS - 1 && followers[i] != stack)
		i++;
	memmove(followers + 1, followers, i * sizeof(*followers));
	followers[0] = stack;
}

/* The rows of a group: their stacks grow. */
static void code_stacks(struct coder *coder, struct models *models, struct window_row *rows, uint32_t len)
{
	uint32_t before = 0, history = 0;
	uint64_t step = 0;

	for (uint32_t i = 0; i < len && !coder->bad; i++) {
		uint32_t *followers = followers_of(models, before), stack = rows[i].stack;
		bool found = false;

		for (size_t f = 0; f < FOLLOWERS && !found; f++) {
			if (followers[f] <= before)
				continue;
			found = coder_bit(coder, &models->follows[f][history], followers[f] == stack);
			if (found)
				stack = followers[f];
		}
		if (!found) {
			struct coder_number *model = &models->steps[i > 0][coder_size(step, STEP_SIZES)];

			step = coder_number(coder, model, (uint64_t)stack - before);
			if (step > UINT32_MAX - before || (i && !step))
				coder->bad = true;
			stack = before + (uint32_t)step;
			step = i ? step : 0;
		}
		remember(followers, stack);
		history = (history << 1 | found) & 3;
		rows[i].stack = before = stack;
	}
}

static uint64_t at_most_3(uint64_t value)
{
	return value < 3 ? value : 3;
}

static void code_values(struct coder *coder, struct models *models, struct window_row *rows, uint32_t len)
{
	uint64_t last = 0, before = 0;

	for (uint32_t i = 0; i < len && !coder->bad; i++) {
		uint64_t value =
			coder_number(coder, &models->values[at_most_3(last)][at_most_3(before)], rows[i].value);

		rows[i].value = value;
		before = last;
		last = value;
	}
}

/* Group by group, to or from the rows. */
static int code_body(struct coder *coder, struct window *window)
{
	autofree struct models *models = calloc(1, sizeof(*models));
	struct window_row *row = window->rows;

	if (!models)
		return fail(-ENOMEM, "store: an hour");
	for (size_t g = 0; g < window->groups_len; g++) {
		for (uint32_t i = 0; i < window->groups[g].rows && !coder->bad; i++)
			row[i].who = window->groups[g].who;
		code_stacks(coder, models, row, window->groups[g].rows);
		code_values(coder, models, row, window->groups[g].rows);
		row += window->groups[g].rows;
	}
	return coder_end(coder);
}

int sum_body(struct window *window, struct buf *ret)
{
	struct coder coder;

	coder_write(&coder, ret);
	return code_body(&coder, window);
}

int sum_read_body(struct window *window, const void *data, size_t len)
{
	struct coder coder;
	int err;

	if (window->rows_len > ROWS_MAX || window->rows_len / ROWS_PER_BYTE > len)
		return fail_plain(-EBADMSG, "store: an hour is damaged");
	window->rows = calloc(window->rows_len + 1, sizeof(*window->rows));
	if (!window->rows)
		return fail(-ENOMEM, "store: an hour");
	coder_read(&coder, data, len);
	err = code_body(&coder, window);
	return err || window_adds_up(window) ? err : fail_plain(-EBADMSG, "store: an hour is damaged");
}
