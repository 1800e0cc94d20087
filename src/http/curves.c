/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts in cells of time. In: names, moments, counts, in any order. Out: JSON whose values add up to what went in and
 * was within the range. Names beyond the bounds are counted under one that says so, never lost.
 */
#include "http/curves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/json.h"
#include "http/metrics.h"
#include "http/query.h"

struct curve {
	char *name;
	size_t len;
	uint64_t total;
	uint64_t *values; /* by cell */
};

struct curves {
	uint64_t from_ns, to_ns;
	unsigned cells;
	size_t len;
	struct curve list[CURVES_NAMES_MAX]; /* the first is of all others */
};

struct heat {
	uint64_t from_ns; /* a whole second */
	uint32_t columns;
	uint64_t counts[]; /* column by column */
};

static int add_curve(struct curves *curves, const char *name, size_t len)
{
	struct curve *curve = &curves->list[curves->len];

	curve->values = calloc(curves->cells, sizeof(*curve->values));
	curve->name = strndup(name, len);
	curve->len = len;
	if (!curve->values || !curve->name) {
		free(curve->values);
		free(curve->name);
		return -ENOMEM;
	}
	curves->len++;
	return 0;
}

int curves_new(struct curves **ret, uint64_t from_ns, uint64_t to_ns, unsigned cells)
{
	struct curves *curves;
	int err;

	if (from_ns >= to_ns)
		return fail_plain(-EINVAL, "the range is empty");
	curves = calloc(1, sizeof(*curves));
	if (!curves)
		return fail(-ENOMEM, "curves");
	curves->from_ns = from_ns;
	curves->to_ns = to_ns;
	curves->cells = cells ? cells : CURVES_CELLS;
	if (curves->cells > QUERY_CELLS_MAX)
		curves->cells = QUERY_CELLS_MAX;
	err = add_curve(curves, METRICS_OTHER, strlen(METRICS_OTHER));
	if (err)
		curves_free(curves);
	else
		*ret = curves;
	return err;
}

void curves_free(struct curves *curves)
{
	if (!curves)
		return;
	for (size_t i = 0; i < curves->len; i++) {
		free(curves->list[i].name);
		free(curves->list[i].values);
	}
	free(curves);
}

int curves_add(struct curves *curves, const char *name, size_t len, uint64_t at_ns, uint64_t count)
{
	size_t i = 1;
	double part;
	unsigned cell;

	if (at_ns < curves->from_ns || at_ns >= curves->to_ns)
		return 0;
	part = (double)(at_ns - curves->from_ns) / (double)(curves->to_ns - curves->from_ns);
	cell = (unsigned)(part * curves->cells);
	cell = cell < curves->cells ? cell : curves->cells - 1; /* a fraction may be rounded up to 1 */
	while (name && i < curves->len && (curves->list[i].len != len || memcmp(curves->list[i].name, name, len)))
		i++;
	if (!name || i == CURVES_NAMES_MAX)
		i = 0;
	else if (i == curves->len && add_curve(curves, name, len))
		return -ENOMEM;
	curves->list[i].values[cell] += count;
	curves->list[i].total += count;
	return 0;
}

/* The largest first; of equal ones by name, so that the same gives the same. */
static int by_total(const void *a, const void *b)
{
	const struct curve *left = a, *right = b;

	if (left->total != right->total)
		return left->total < right->total ? 1 : -1;
	return strcmp(left->name, right->name);
}

static void write_curve(struct json *json, const struct curve *curve, unsigned cells)
{
	json_object(json, NULL);
	json_text(json, "name", curve->name, curve->len);
	json_u64(json, "total", curve->total);
	json_array(json, "values");
	for (unsigned i = 0; i < cells; i++)
		json_u64(json, NULL, curve->values[i]);
	json_end(json, ']');
	json_end(json, '}');
}

int curves_write(struct curves *curves, struct buf *out)
{
	struct curve *other = &curves->list[0];
	struct json json = { .out = out };

	qsort(curves->list + 1, curves->len - 1, sizeof(struct curve), by_total);
	json_object(&json, NULL);
	json_u64(&json, "from_ms", curves->from_ns / NS_PER_MS);
	json_u64(&json, "to_ms", curves->to_ns / NS_PER_MS);
	json_u64(&json, "cells", curves->cells);
	json_array(&json, "curves");
	for (size_t i = 1; i < curves->len; i++) {
		if (i <= CURVES_SHOWN) {
			write_curve(&json, &curves->list[i], curves->cells);
			continue;
		}
		other->total += curves->list[i].total;
		for (unsigned cell = 0; cell < curves->cells; cell++)
			other->values[cell] += curves->list[i].values[cell];
		memset(curves->list[i].values, 0, curves->cells * sizeof(uint64_t)); /* is in the others now */
		curves->list[i].total = 0;
	}
	if (other->total)
		write_curve(&json, other, curves->cells);
	json_end(&json, ']');
	json_end(&json, '}');
	buf_addc(out, '\n');
	return buf_error(out);
}

int heat_new(struct heat **ret, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t first = from_ns / NS_PER_SEC, end = to_ns / NS_PER_SEC + (to_ns % NS_PER_SEC != 0);
	struct heat *heat;

	if (from_ns >= to_ns)
		return fail_plain(-EINVAL, "the range is empty");
	if (end - first > QUERY_CELLS_MAX)
		first = end - QUERY_CELLS_MAX;
	heat = calloc(1, sizeof(*heat) + (end - first) * HEAT_ROWS * sizeof(uint64_t));
	if (!heat)
		return fail(-ENOMEM, "heat map");
	heat->from_ns = first * NS_PER_SEC;
	heat->columns = (uint32_t)(end - first);
	*ret = heat;
	return 0;
}

void heat_free(struct heat *heat)
{
	free(heat);
}

void heat_add(struct heat *heat, uint64_t at_ns, uint64_t count)
{
	uint64_t column = (at_ns - heat->from_ns) / NS_PER_SEC;

	if (at_ns >= heat->from_ns && column < heat->columns)
		heat->counts[column * HEAT_ROWS + at_ns % NS_PER_SEC / (NS_PER_SEC / HEAT_ROWS)] += count;
}

int heat_write(const struct heat *heat, struct buf *out)
{
	size_t len = (size_t)heat->columns * HEAT_ROWS;
	struct json json = { .out = out };
	uint64_t most = 0;

	for (size_t i = 0; i < len; i++)
		most = heat->counts[i] > most ? heat->counts[i] : most;
	json_object(&json, NULL);
	json_u64(&json, "from_ms", heat->from_ns / NS_PER_MS);
	json_u64(&json, "columns", heat->columns);
	json_u64(&json, "rows", HEAT_ROWS);
	json_u64(&json, "most", most);
	json_array(&json, "counts");
	for (size_t i = 0; i < len; i++)
		json_u64(&json, NULL, heat->counts[i]);
	json_end(&json, ']');
	json_end(&json, '}');
	buf_addc(out, '\n');
	return buf_error(out);
}
