/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tables for SQLite, made of windows while they are read. In: a range of time, as arguments of the table or as
 * conditions on it. Out: a row for each stack of each one who ran it in each window (samples); or one for each function
 * in stacks of each one who ran in each window (frames). Texts are made when a statement asks for that column, so a
 * question costs what it asks.
 *
 * A cursor keeps numbers of the dictionary of its window's era, never pointers into it: another cursor may make the
 * store load that of another era in between.
 */
#include "store/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/map.h"
#include "base/when.h"
#include "profile/profile.h"
#include "store/dict.h"
#include "store/parts.h"
#include "store/sql.h"
#include "store/window.h"

#define STACK_MAX 4096 /* frames of a stack that are looked at */

enum column {
	COLUMN_START,
	COLUMN_END,
	COLUMN_PROCESS,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_THREAD,
	COLUMN_CONTAINER,
	COLUMN_UNIT,
	COLUMN_FUNCTION,
	COLUMN_MODULE,
	COLUMN_STACK,
	COLUMN_SAMPLES,
	COLUMN_SELF,
	COLUMN_SINCE, /* arguments from here on */
	COLUMN_UNTIL,
	COLUMN_DETAIL,
};

#define MINUTE (60 * STORE_NS_PER_SEC)
#define ARGUMENTS 3
#define FOR_ALL (1 << ARGUMENTS) /* a plan that tells nobody apart */
#define WHO_COLUMNS (((1 << (COLUMN_UNIT + 1)) - 1) & ~((1 << COLUMN_PROCESS) - 1))

static const char schema[] = "CREATE TABLE x(start REAL, end REAL, process TEXT, pid INTEGER, tid INTEGER, thread TEXT,"
			     " container TEXT, unit TEXT, function TEXT, module TEXT, stack TEXT, samples INTEGER,"
			     " self INTEGER, since HIDDEN, until HIDDEN, detail HIDDEN)";

struct table {
	sqlite3_vtab base;
	struct store_tables *tables;
	bool by_frame;
};

/* What is made of a window: of a stack, or of a function in several. */
struct entry {
	uint64_t samples, self;
	uint32_t who;
	uint32_t what; /* a stack; of frames: a frame */
};

struct cursor_of_table {
	sqlite3_vtab_cursor base;
	struct store_range range;
	enum store_level detail;
	struct store_row *rows; /* of the range */
	size_t rows_len, row;
	struct buf entries; /* of rows[row] */
	size_t at;
	bool unpacked; /* rows[row] is in the entries */
	bool for_all;  /* frames: who ran them is not asked for, and added up */
	int64_t count;
};

static int say(struct table *table, int err)
{
	sqlite3_free(table->base.zErrMsg);
	table->base.zErrMsg = sqlite3_mprintf("%s", fail_text());
	return err == -ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

bool store_tables_late(const struct store_tables *tables)
{
	return tables->until_ns && clock_ns(CLOCK_MONOTONIC) > tables->until_ns;
}

static int table_connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **ret,
			 char **error)
{
	struct table *table;
	int code = sqlite3_declare_vtab(db, schema);

	(void)error;
	if (code != SQLITE_OK)
		return code;
	table = calloc(1, sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	table->tables = context;
	table->by_frame = argc > 0 && !strcmp(argv[0], "frames");
	*ret = &table->base;
	return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

/* Arguments are conditions on hidden columns; idxNum has a bit for each that there is, and FOR_ALL. */
static int table_plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
	int found[ARGUMENTS] = { -1, -1, -1 }, next = 1;

	(void)base;
	for (int i = 0; i < info->nConstraint; i++) {
		int argument = info->aConstraint[i].iColumn - COLUMN_SINCE;

		if (argument < 0 || argument >= ARGUMENTS || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!info->aConstraint[i].usable)
			return SQLITE_CONSTRAINT;
		found[argument] = i;
	}
	for (int argument = 0; argument < ARGUMENTS; argument++) {
		if (found[argument] < 0)
			continue;
		info->aConstraintUsage[found[argument]].argvIndex = next++;
		info->aConstraintUsage[found[argument]].omit = 1;
		info->idxNum |= 1 << argument;
	}
	if (!(info->colUsed & WHO_COLUMNS))
		info->idxNum |= FOR_ALL;
	info->estimatedCost = info->idxNum & 1 ? 1e5 : 1e8;
	info->estimatedRows = info->idxNum & 1 ? 100000 : 100000000;
	return SQLITE_OK;
}

static int table_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct cursor_of_table *cursor = calloc(1, sizeof(*cursor));

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	*ret = &cursor->base;
	return SQLITE_OK;
}

static void empty_cursor(struct cursor_of_table *cursor)
{
	buf_free(&cursor->entries);
	free(cursor->rows);
	cursor->rows = NULL;
	cursor->rows_len = cursor->row = cursor->at = 0;
	cursor->unpacked = false;
}

static int table_close(sqlite3_vtab_cursor *base)
{
	empty_cursor((struct cursor_of_table *)base);
	free(base);
	return SQLITE_OK;
}

/* A moment as an argument: a text as for --from, or seconds since 1970. */
static int read_moment(sqlite3_value *value, uint64_t *ret)
{
	double seconds;

	switch (sqlite3_value_type(value)) {
	case SQLITE_NULL:
		return 0;
	case SQLITE_TEXT:
		return when_parse((const char *)sqlite3_value_text(value), clock_ns(CLOCK_REALTIME), ret);
	default:
		seconds = sqlite3_value_double(value);
		if (!(seconds >= 0 && seconds < (double)(INT64_MAX / STORE_NS_PER_SEC)))
			return fail_plain(-EINVAL, "%g is no time: seconds since 1970, or a text as -15m", seconds);
		*ret = (uint64_t)(seconds * (double)STORE_NS_PER_SEC);
		return 0;
	}
}

static int read_detail(sqlite3_value *value, enum store_level *ret)
{
	static const char *const words[STORE_LEVELS] = { "window", "minute", "hour" };
	const char *text = (const char *)sqlite3_value_text(value);

	for (int i = 0; i < STORE_LEVELS; i++)
		if (!text || !strcmp(text, words[i])) {
			*ret = (enum store_level)i;
			return 0;
		}
	return fail_plain(-EINVAL, "'%.40s' is no detail: window, minute or hour", text);
}

static struct store *store_of(const struct cursor_of_table *cursor)
{
	return ((const struct table *)cursor->base.pVtab)->tables->store;
}

static size_t entries_of(const struct cursor_of_table *cursor)
{
	return cursor->entries.len / sizeof(struct entry);
}

static const struct entry *entry_at(const struct cursor_of_table *cursor)
{
	return (const struct entry *)(const void *)cursor->entries.data + cursor->at;
}

/* The dictionary that the cursor's numbers are of. */
static int load_dict(const struct cursor_of_table *cursor)
{
	struct store *store = store_of(cursor);
	int64_t era = cursor->rows[cursor->row].era;

	return store->dict && store->era == era ? 0 : store_load_dict(store, era);
}

/* Functions of a stack, leaf first, each once. */
static size_t list_functions(const struct dict *dict, uint32_t node, uint32_t *ret)
{
	size_t len = 0;

	for (; node && len < STACK_MAX; node = profile_node(dict->model, node)->parent) {
		uint32_t frame = dict_function(dict, profile_node(dict->model, node)->frame);
		size_t i = 0;

		while (i < len && ret[i] != frame)
			i++;
		if (i == len)
			ret[len++] = frame;
	}
	if (!len)
		ret[len++] = PROFILE_NONE;
	return len;
}

/* Adds a stack to its functions; `places` has where in the entries each of them is, from 1, for who ran it. */
static int add_functions(struct buf *entries, const struct dict *dict, const struct window_row *row, struct map *places)
{
	uint32_t frames[STACK_MAX];
	size_t len = list_functions(dict, row->stack, frames);

	for (size_t i = 0; i < len; i++) {
		uint64_t *place = map_put(places, (uint64_t)row->who << 32 | frames[i]);
		struct entry *entry;

		if (place && !*place) {
			buf_add(entries, &(struct entry){ .who = row->who, .what = frames[i] }, sizeof(*entry));
			*place = entries->len / sizeof(*entry);
		}
		if (!place || buf_error(entries))
			return fail(-ENOMEM, "sql");
		entry = (struct entry *)(void *)entries->data + *place - 1;
		entry->samples += row->value; /* no more than the sum of the window, which fits */
		entry->self += i ? 0 : row->value;
	}
	return 0;
}

static int unpack(struct cursor_of_table *cursor)
{
	const struct table *table = (const struct table *)cursor->base.pVtab;
	struct store *store = table->tables->store;
	struct map places = { 0 };
	struct window window = { 0 };
	int err = load_dict(cursor);

	buf_clear(&cursor->entries);
	cursor->at = 0;
	cursor->unpacked = true;
	err = err ? err : store_read_window(store, &cursor->rows[cursor->row], STORE_BODY, &window);
	for (size_t i = 0; !err && i < window.rows_len; i++) {
		struct window_row *row = &window.rows[i];

		row->who = cursor->for_all ? 0 : row->who;
		if (table->by_frame)
			err = add_functions(&cursor->entries, store->dict, row, &places);
		else
			buf_add(&cursor->entries, &(struct entry){ row->value, row->value, row->who, row->stack },
				sizeof(struct entry));
	}
	window_free(&window);
	map_free(&places);
	return !err && buf_error(&cursor->entries) ? fail(-ENOMEM, "sql") : err;
}

static bool is_in(const struct store_row *row, const struct store_range *range)
{
	uint64_t middle = row->range.from + (row->range.to - row->range.from) / 2;

	return row->whole || (middle >= range->from && middle < range->to);
}

/* From where the cursor is to the next thing there is; past the last row if there is none. */
static int settle(struct cursor_of_table *cursor)
{
	struct table *table = (struct table *)cursor->base.pVtab;
	int err;

	while (cursor->row < cursor->rows_len && !(cursor->unpacked && cursor->at < entries_of(cursor))) {
		if (cursor->unpacked || !is_in(&cursor->rows[cursor->row], &cursor->range)) {
			cursor->row++;
			cursor->unpacked = false;
			continue;
		}
		if (store_tables_late(table->tables))
			return SQLITE_INTERRUPT;
		err = unpack(cursor);
		if (err)
			return say(table, err);
	}
	return SQLITE_OK;
}

static int table_filter(sqlite3_vtab_cursor *base, int arguments, const char *name, int argc, sqlite3_value **argv)
{
	struct cursor_of_table *cursor = (struct cursor_of_table *)base;
	struct store *store = store_of(cursor);
	int err = 0, at = 0;

	(void)name;
	empty_cursor(cursor);
	cursor->range = (struct store_range){ 0, INT64_MAX };
	cursor->for_all = arguments & FOR_ALL;
	cursor->detail = STORE_WINDOW;
	if (arguments & 1 && at < argc)
		err = read_moment(argv[at++], &cursor->range.from);
	if (!err && arguments & 2 && at < argc)
		err = read_moment(argv[at++], &cursor->range.to);
	if (!err && arguments & 4 && at < argc)
		err = read_detail(argv[at++], &cursor->detail);
	err = err ? err : store_cover(store, &cursor->range, cursor->detail, &cursor->rows, &cursor->rows_len);
	return err ? say((struct table *)base->pVtab, err) : settle(cursor);
}

static int table_next(sqlite3_vtab_cursor *base)
{
	struct cursor_of_table *cursor = (struct cursor_of_table *)base;

	cursor->count++;
	cursor->at++;
	return settle(cursor);
}

static int table_end(sqlite3_vtab_cursor *base)
{
	struct cursor_of_table *cursor = (struct cursor_of_table *)base;

	return cursor->row >= cursor->rows_len;
}

static void give_string(sqlite3_context *context, const struct profile *model, uint32_t string)
{
	size_t len;
	const char *text = profile_text(model, string, &len);

	if (string)
		sqlite3_result_text64(context, text, len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void give_label(sqlite3_context *context, const struct profile *model, uint32_t set, const char *wanted)
{
	uint32_t rest, key, value;

	for (int i = 0; set && i < PROFILE_LABELS_MAX; set = rest, i++) {
		profile_label(model, set, &rest, &key, &value);
		if (!strcmp(profile_text(model, key, NULL), wanted)) {
			give_string(context, model, value);
			return;
		}
	}
}

static void give_text(sqlite3_context *context, const struct buf *text)
{
	if (buf_error(text))
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_text64(context, text->data ? text->data : "", text->len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* From the root to the leaf, as folded stacks have it. */
static void give_stack(sqlite3_context *context, const struct store_tables *tables, uint32_t node)
{
	const struct profile *model = tables->store->dict->model;
	autobuf struct buf text = { 0 };
	uint32_t frames[STACK_MAX];
	size_t len = 0;

	for (; node && len < STACK_MAX; node = profile_node(model, node)->parent)
		frames[len++] = profile_node(model, node)->frame;
	while (len-- > 0) {
		tables->function(model, frames[len], &text);
		if (len)
			buf_addc(&text, ';');
	}
	give_text(context, &text);
}

static void give_frame(sqlite3_context *context, const struct cursor_of_table *cursor, enum column column)
{
	const struct table *table = (const struct table *)cursor->base.pVtab;
	const struct store_tables *tables = table->tables;
	const struct profile *model = tables->store->dict->model;
	uint32_t what = entry_at(cursor)->what, frame = table->by_frame ? what : profile_node(model, what)->frame;
	autobuf struct buf text = { 0 };

	if (column == COLUMN_STACK) {
		if (!table->by_frame)
			give_stack(context, tables, what);
		return;
	}
	(column == COLUMN_FUNCTION ? tables->function : tables->module)(model, frame, &text);
	give_text(context, &text);
}

static void give_who(sqlite3_context *context, const struct cursor_of_table *cursor, enum column column)
{
	const struct dict *dict = store_of(cursor)->dict;
	struct dict_who who = dict_who(dict, entry_at(cursor)->who);
	const struct profile_process *process = profile_process(dict->model, who.process);
	uint32_t labels = who.labels ? who.labels : process->labels;

	if (column == COLUMN_PROCESS)
		give_string(context, dict->model, process->comm ? process->comm : who.comm);
	else if (column == COLUMN_THREAD)
		give_string(context, dict->model, who.comm);
	else if (column == COLUMN_PID)
		sqlite3_result_int64(context, process->pid);
	else if (column == COLUMN_TID)
		sqlite3_result_int64(context, who.tid);
	else
		give_label(context, dict->model, labels, column == COLUMN_UNIT ? "unit" : "container");
}

/* When a row was; in minutes, if these were asked for. */
static struct store_range time_of(const struct cursor_of_table *cursor)
{
	const struct store_row *row = &cursor->rows[cursor->row];
	uint64_t minute = row->range.from / MINUTE * MINUTE;

	if (cursor->detail != STORE_MINUTE || row->level == STORE_HOUR)
		return row->range;
	return (struct store_range){ minute, minute + MINUTE };
}

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct cursor_of_table *cursor = (struct cursor_of_table *)base;
	struct store_range time = time_of(cursor);
	int err = column >= COLUMN_PROCESS && column <= COLUMN_STACK ? load_dict(cursor) : 0;

	if (err)
		return say((struct table *)base->pVtab, err);
	if (column == COLUMN_START)
		sqlite3_result_double(context, (double)time.from / (double)STORE_NS_PER_SEC);
	else if (column == COLUMN_END)
		sqlite3_result_double(context, (double)time.to / (double)STORE_NS_PER_SEC);
	else if (column >= COLUMN_PROCESS && column <= COLUMN_UNIT)
		give_who(context, cursor, (enum column)column);
	else if (column >= COLUMN_FUNCTION && column <= COLUMN_STACK)
		give_frame(context, cursor, (enum column)column);
	else if (column == COLUMN_SAMPLES)
		sqlite3_result_int64(context, (int64_t)entry_at(cursor)->samples);
	else if (column == COLUMN_SELF)
		sqlite3_result_int64(context, (int64_t)entry_at(cursor)->self);
	return SQLITE_OK;
}

static int table_number(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((struct cursor_of_table *)base)->count;
	return SQLITE_OK;
}

int store_add_tables(struct store_tables *tables)
{
	static const sqlite3_module module = {
		.xConnect = table_connect,
		.xBestIndex = table_plan,
		.xDisconnect = table_disconnect,
		.xOpen = table_open,
		.xClose = table_close,
		.xFilter = table_filter,
		.xNext = table_next,
		.xEof = table_end,
		.xColumn = table_column,
		.xRowid = table_number,
	};
	sqlite3 *db = tables->store->db;
	int code = sqlite3_create_module(db, "samples", &module, tables);

	code = code == SQLITE_OK ? sqlite3_create_module(db, "frames", &module, tables) : code;
	return sql_error(db, code);
}
