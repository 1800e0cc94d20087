/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time for which nothing could be written, as the store recorded it when it could again. In: a range. Out: the gaps
 * that reach into it. Time in which nobody sampled is no gap: there are no windows, that is all.
 */
#include "store/store.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/fail.h"
#include "store/parts.h"
#include "store/sql.h"

int store_gaps(struct store *store, const struct store_range *range, struct store_gap **ret, size_t *ret_len)
{
	autostatement sqlite3_stmt *rows = NULL;
	int64_t from = range->from > INT64_MAX ? INT64_MAX : (int64_t)range->from;
	int64_t to = range->to > INT64_MAX ? INT64_MAX : (int64_t)range->to;
	struct buf gaps = { 0 };
	int err = sql_begin(store->db, &rows,
			    "SELECT from_ns, to_ns, windows, value, why FROM gap WHERE from_ns < ? AND to_ns > ?"
			    " ORDER BY id",
			    "ii", to, from);

	while (!err && (err = sql_row(rows)) > 0) {
		const char *why = (const char *)sqlite3_column_text(rows, 4);
		struct store_gap gap = {
			.range = { (uint64_t)sqlite3_column_int64(rows, 0), (uint64_t)sqlite3_column_int64(rows, 1) },
			.windows = (uint64_t)sqlite3_column_int64(rows, 2),
			.value = (uint64_t)sqlite3_column_int64(rows, 3),
		};

		snprintf(gap.why, sizeof(gap.why), "%s", why ? why : "");
		buf_add(&gaps, &gap, sizeof(gap));
		err = 0;
	}
	if (!err && buf_error(&gaps))
		err = fail(-ENOMEM, "store: gaps");
	if (err) {
		buf_free(&gaps);
		return err;
	}
	*ret = (void *)gaps.data;
	*ret_len = gaps.len / sizeof(**ret);
	return 0;
}
