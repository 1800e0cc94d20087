/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Prometheus's text format. In: families and numbers. Out: lines, whatever the names are: a value of a label is
 * valid UTF-8 on one line, with backslashes and quotes escaped. No more than METRICS_SERIES_MAX series, and what is
 * left out is counted.
 */
#include "http/metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

void metrics_family(struct metrics *metrics, const char *name, const char *type, const char *help)
{
	metrics->name = name;
	buf_addf(metrics->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_label(struct buf *out, const char *value, size_t len)
{
	autobuf struct buf text = { 0 };

	text_escape(&text, value, len, NULL);
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '\\' || text.data[i] == '"')
			buf_addc(out, '\\');
		buf_addc(out, text.data[i]);
	}
}

void metrics_add(struct metrics *metrics, const char *label, const char *value, size_t len, double number)
{
	struct buf *out = metrics->out;

	if (metrics->series == METRICS_SERIES_MAX) {
		metrics->dropped++;
		return;
	}
	metrics->series++;
	buf_adds(out, metrics->name);
	if (label) {
		buf_addf(out, "{%s=\"", label);
		add_label(out, value, len);
		buf_adds(out, "\"}");
	}
	if (isfinite(number))
		buf_addf(out, " %.15g\n", number);
	else
		buf_adds(out, isnan(number) ? " NaN\n" : number > 0 ? " +Inf\n" : " -Inf\n");
}

void metrics_one(struct metrics *metrics, const char *name, const char *type, const char *help, double number)
{
	metrics_family(metrics, name, type, help);
	metrics_add(metrics, NULL, NULL, 0, number);
}

void metrics_end(struct metrics *metrics)
{
	unsigned dropped = metrics->dropped;

	metrics->series = 0; /* this one is always there */
	metrics_one(metrics, "wick_metrics_series_left_out", "gauge", "Series beyond the bound of one answer.",
		    dropped);
}

int metrics_tally_add(struct metrics_tally *tally, const char *name, size_t len, double number)
{
	size_t at = 0;

	while (at < tally->len && (tally->list[at].len != len || memcmp(tally->list[at].name, name, len)))
		at++;
	if (at == METRICS_TALLY_MAX) {
		tally->other += number;
		return 0;
	}
	if (at == tally->len) {
		tally->list[at].name = strndup(name, len);
		if (!tally->list[at].name)
			return -ENOMEM;
		tally->list[at].len = len;
		tally->len++;
	}
	tally->list[at].sum += number;
	return 0;
}

void metrics_tally_write(const struct metrics_tally *tally, struct metrics *metrics, const char *label)
{
	for (size_t i = 0; i < tally->len; i++)
		metrics_add(metrics, label, tally->list[i].name, tally->list[i].len, tally->list[i].sum);
	if (tally->other > 0)
		metrics_add(metrics, label, METRICS_OTHER, strlen(METRICS_OTHER), tally->other);
}

void metrics_tally_free(struct metrics_tally *tally)
{
	for (size_t i = 0; i < tally->len; i++)
		free(tally->list[i].name);
	*tally = (struct metrics_tally){ 0 };
}
