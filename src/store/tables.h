/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for SQL whose rows are made as they are read: samples, frames and windows (docs/store.md). */
#ifndef WICK_STORE_TABLES_H
#define WICK_STORE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/filter.h"

struct store;

/* What the tables need; it has to be there for as long as statements use them. */
struct store_tables {
	struct store *store;
	filter_text *function, *module;
	uint64_t until_ns; /* monotonic; 0: no limit */
};

bool store_tables_late(const struct store_tables *tables);
int store_add_tables(struct store_tables *tables);
int store_add_listing(struct store_tables *tables); /* what the view of windows is made of */

#endif
