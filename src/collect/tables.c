/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slabs are BPF arrays of one large value, written here and read there; little of them is mapped at a time. A table's
 * pages lie in any slabs; its rules are shared with all other tables. What the worker sent is checked while it is
 * copied: it may not be what it seems. Each table is charged to the user whose process met its file; who has used up
 * his share gives up tables of his own.
 *
 * Invariant: what a published table points to is not written again until a grace period after it was unpublished, and
 * its id is never given to another.
 */
#include "collect/tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/extent.h"
#include "base/fail.h"
#include "base/map.h"
#include "bpf/wire.h"
#include "collect/sampler.h"
#include "collect/slabs.h"
#include "elf/cfi.h"
#include "sym/symbols.h"
#include "unwind/replay.h"
#include "unwind/rows.h"
#include "unwind/rulebook.h"
#include "worker/pool.h"
#include "worker/protocol.h"

#define REASON_LEN 32

struct table {
	struct tables *tables;
	uint64_t id; /* of the file */
	int fd;
	struct origin origin; /* of the file; who is charged may change when the table is made anew */
	bool asked, refused, published, debug_tried, jit;
	bool denied; /* to this user, who had his share */
	uint64_t denied_user;
	char reason[REASON_LEN]; /* if refused */
	struct wire_table wire;
	uint64_t rows;
	uint16_t *rules; /* numbers of those that it uses */
	uint32_t rules_len;
};

/* What a user's tables take. */
struct usage {
	uint64_t user;
	uint64_t pages, cells;
};

struct tables {
	struct tables_options options;
	struct slabs slabs;
	struct wire_page *pages; /* mapped */
	struct wire_rule *rules; /* mapped */
	struct extents free_pages;
	struct rulebook book;
	struct usage *usages;
	size_t usages_len, usages_cap;
	uint64_t pages_taken, cells_taken;
	struct map by_file; /* id → index + 1 */
	struct table **list;
	size_t len, cap;
	uint32_t last_id;
	uint32_t epoch;
	size_t asking; /* requests under way */
	struct tables_stats stats;
};

static void *map_of(struct sampler *sampler, enum sampler_map map, size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, sampler_map_fd(sampler, map), 0);

	return at == MAP_FAILED ? NULL : at;
}

int tables_new(struct tables **ret, const struct tables_options *options)
{
	struct tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return -ENOMEM;
	*ret = tables;
	tables->options = *options;
	slabs_open(&tables->slabs, options->bytes, sampler_map_fd(options->sampler, SAMPLER_SLABS));
	tables->free_pages.size = WIRE_PAGES_MAX;
	tables->pages = map_of(options->sampler, SAMPLER_PAGES, WIRE_PAGES_MAX * sizeof(struct wire_page));
	tables->rules = map_of(options->sampler, SAMPLER_RULES, WIRE_RULES_MAX * sizeof(struct wire_rule));
	if (!tables->pages || !tables->rules)
		return fail(-errno, "mapping the unwind tables");
	return rulebook_open(&tables->book, tables->rules, sampler_seed(options->sampler));
}

void tables_free(struct tables *tables)
{
	if (!tables)
		return;
	slabs_close(&tables->slabs);
	if (tables->pages)
		munmap(tables->pages, WIRE_PAGES_MAX * sizeof(struct wire_page));
	if (tables->rules)
		munmap(tables->rules, WIRE_RULES_MAX * sizeof(struct wire_rule));
	for (size_t i = 0; i < tables->len; i++) {
		free(tables->list[i]->rules);
		free(tables->list[i]);
	}
	free(tables->list);
	map_free(&tables->by_file);
	extent_clear(&tables->free_pages);
	rulebook_close(&tables->book);
	free(tables->usages);
	free(tables);
}

static struct table *table_of(struct tables *tables, uint64_t id)
{
	uint64_t *slot = map_put(&tables->by_file, id);
	struct table *table;

	if (!slot || *slot)
		return slot ? tables->list[*slot - 1] : NULL;
	if (tables->len == tables->cap) {
		size_t cap = tables->cap ? tables->cap * 2 : 64;
		struct table **grown = reallocarray(tables->list, cap, sizeof(*grown));

		if (!grown)
			return NULL;
		tables->list = grown;
		tables->cap = cap;
	}
	table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	*table = (struct table){ .tables = tables, .id = id };
	tables->list[tables->len++] = table;
	*slot = tables->len;
	return table;
}

static void refuse(struct table *table, const char *reason)
{
	struct tables *tables = table->tables;

	const struct wire_table none = { 0 };

	table->refused = true;
	tables->stats.refused += !strcmp(reason, "unwind_memory") || !strcmp(reason, "too_many_tables") ||
				 !strcmp(reason, "user_budget");
	bpf_map_update_elem(sampler_map_fd(tables->options.sampler, SAMPLER_TABLES), &table->id, &none, BPF_ANY);
	sampler_tables_changed(tables->options.sampler);
	snprintf(table->reason, sizeof(table->reason), "%s", reason);
}

/* ---- whose ---- */

static struct usage *usage_of(struct tables *tables, uint64_t user)
{
	for (size_t i = 0; i < tables->usages_len; i++)
		if (tables->usages[i].user == user)
			return &tables->usages[i];
	if (tables->usages_len == tables->usages_cap) {
		size_t cap = tables->usages_cap ? tables->usages_cap * 2 : 16;
		struct usage *grown = reallocarray(tables->usages, cap, sizeof(*grown));

		if (!grown)
			return NULL;
		tables->usages = grown;
		tables->usages_cap = cap;
	}
	tables->usages[tables->usages_len] = (struct usage){ .user = user };
	return &tables->usages[tables->usages_len++];
}

static bool fits(const struct tables *tables, const struct usage *usage, uint64_t pages, uint64_t cells)
{
	uint64_t all = slabs_cells_max(&tables->slabs);

	return WIRE_USER_MAY(usage->user, usage->pages + pages, tables->pages_taken + pages, WIRE_PAGES_MAX) &&
	       WIRE_USER_MAY(usage->user, usage->cells + cells, tables->cells_taken + cells, all);
}

static void charge(struct table *table, bool take)
{
	struct tables *tables = table->tables;
	struct usage *usage = usage_of(tables, table->origin.user);
	uint64_t sign = take ? 1 : -1ULL, pages = sign * table->wire.pages, cells = sign * table->rows * 2;

	tables->pages_taken += pages;
	tables->cells_taken += cells;
	if (usage) {
		usage->pages += pages;
		usage->cells += cells;
	}
}

/* ---- room ---- */

static void give_rules(struct table *table)
{
	for (uint32_t i = 0; i < table->rules_len; i++)
		rulebook_drop(&table->tables->book, table->rules[i]);
	free(table->rules);
	table->rules = NULL;
	table->rules_len = 0;
}

static void give_back(struct table *table)
{
	struct tables *tables = table->tables;

	charge(table, false);
	for (uint32_t i = 0; i < table->wire.pages; i++)
		slabs_give(&tables->slabs, &tables->pages[table->wire.first_index + i]);
	extent_give(&tables->free_pages, table->wire.first_index, table->wire.pages);
	tables->stats.rows -= table->rows;
	table->wire = (struct wire_table){ 0 };
	table->rows = 0;
	give_rules(table);
}

static uint32_t last_use(const struct table *table)
{
	uint32_t latest = 0;

	for (uint32_t i = 0; i < table->wire.pages; i++) {
		uint32_t used =
			__atomic_load_n(&table->tables->pages[table->wire.first_index + i].used, __ATOMIC_RELAXED);

		latest = used > latest ? used : latest;
	}
	return latest;
}

/*
 * The table that was used least recently of those before an epoch; of one user, or of all (NULL). NULL if there is
 * none.
 */
static struct table *oldest_before(struct tables *tables, uint32_t epoch, const uint64_t *user)
{
	struct table *oldest = NULL;
	uint32_t oldest_use = epoch;

	for (size_t i = 0; i < tables->len; i++) {
		struct table *table = tables->list[i];

		if (table->published && (!user || table->origin.user == *user) && last_use(table) < oldest_use) {
			oldest = table;
			oldest_use = last_use(table);
		}
	}
	return oldest;
}

static int give_up(struct tables *tables, struct table *table)
{
	int err;

	if (!table)
		return -ENOSPC;
	bpf_map_delete_elem(sampler_map_fd(tables->options.sampler, SAMPLER_TABLES), &table->id);
	sampler_tables_changed(tables->options.sampler); /* before the wait: nobody goes on with what was remembered */
	err = sampler_grace(tables->options.sampler);
	if (err)
		return err;
	table->published = table->asked = table->debug_tried = false;
	give_back(table);
	tables->stats.files--;
	tables->stats.evicted++;
	return 0;
}

/* Not one of this epoch: those are in use. */
static int evict(struct tables *tables)
{
	return give_up(tables, oldest_before(tables, tables->epoch, NULL));
}

/* A user who wants more than his share gives up his own, in use or not. */
static int keep_to_share(struct table *table, uint64_t pages, uint64_t cells)
{
	struct tables *tables = table->tables;
	struct usage *usage = usage_of(tables, table->origin.user);
	uint64_t user = table->origin.user;

	if (!usage)
		return -ENOMEM;
	while (!fits(tables, usage, pages, cells)) {
		struct table *oldest = oldest_before(tables, UINT32_MAX, &user);
		int err = oldest ? give_up(tables, oldest) : -EDQUOT;

		if (err)
			return err;
	}
	return 0;
}

static int take_cells(struct tables *tables, uint32_t count, struct wire_page *ret)
{
	int err = slabs_take(&tables->slabs, count, ret);

	while (err == -ENOSPC) {
		err = evict(tables);
		err = err ? err : slabs_take(&tables->slabs, count, ret);
	}
	ret->used = tables->epoch;
	return err;
}

/* ---- filling ---- */

/* Nearly all rules are: the kernel side has a short way for them. */
static bool is_plain(const struct wire_rule *rule)
{
	return rule->kind == WIRE_RULE_REGISTER && (rule->reg == CFI_SP || rule->reg == CFI_FP) &&
	       rule->ra_offset == -8 && !(rule->from_fp & 1) && !(rule->flags & ~WIRE_RULE_SAVES);
}

/* The table's own numbers of rules become those that all tables share. */
static int take_rules(struct table *table, struct rows_reader *reader)
{
	struct tables *tables = table->tables;
	int err = 0;

	table->rules = calloc(reader->rules, sizeof(*table->rules));
	if (!table->rules)
		return -ENOMEM;
	for (uint32_t i = 0; i < reader->rules && !err; i++) {
		struct wire_rule rule;
		int number;

		err = rows_next_rule(reader, &rule);
		if (err)
			break;
		rule.flags &= (uint8_t)~WIRE_RULE_PLAIN;
		rule.flags |= is_plain(&rule) ? WIRE_RULE_PLAIN : 0;
		number = rulebook_take(&tables->book, &rule, table->origin.user);
		if (number < 0)
			err = number;
		else
			table->rules[table->rules_len++] = (uint16_t)number;
	}
	if (err)
		give_rules(table);
	return err;
}

/* As many pages that follow each other, in the index of all of them. */
static int64_t take_index(struct tables *tables, uint32_t pages)
{
	int64_t index = extent_take(&tables->free_pages, pages);

	while (index < 0 && !evict(tables))
		index = extent_take(&tables->free_pages, pages);
	return index;
}

/* Copied first and looked at there: nobody else reads them yet, and the checks need no branch for each. */
static int copy_page(struct tables *tables, const struct rows_page *from, const uint16_t *numbers, uint32_t rules,
		     struct wire_page *to)
{
	struct wire_page place;
	uint16_t *offsets, *cells;
	int err = take_cells(tables, from->count, &place);
	bool bad;

	if (err)
		return err;
	offsets = slabs_write(&tables->slabs, &place);
	if (!offsets) {
		slabs_give(&tables->slabs, &place);
		return -ENOMEM;
	}
	cells = offsets + from->count;
	memcpy(offsets, from->offsets, from->count * sizeof(*offsets));
	bad = offsets[0];
	for (uint32_t i = 1; i < from->count; i++)
		bad |= offsets[i] <= offsets[i - 1];
	for (uint32_t i = 0; i < from->count; i++) {
		uint16_t rule;

		memcpy(&rule, (const char *)from->rules + i * sizeof(rule), sizeof(rule));
		bad |= rule >= rules;
		cells[i] = numbers[rule < rules ? rule : 0];
	}
	if (bad) {
		slabs_give(&tables->slabs, &place);
		return -EBADMSG;
	}
	*to = place;
	return 0;
}

static int fill_pages(struct table *table, struct rows_reader *reader)
{
	struct tables *tables = table->tables;
	int64_t index = take_index(tables, reader->pages);
	uint32_t count = 0;
	int err = index < 0 ? (int)index : 0;

	if (err)
		return err;
	table->wire = (struct wire_table){ ++tables->last_id, (uint32_t)index, reader->first_page, reader->pages };
	for (; count < reader->pages && !err; count++) {
		struct rows_page page;

		err = rows_next_page(reader, &page);
		if (!err && page.number != reader->first_page + count)
			err = -EBADMSG;
		err = err ? err
			  : copy_page(tables, &page, table->rules, table->rules_len, &tables->pages[index + count]);
		table->rows += err ? 0 : page.count;
	}
	tables->stats.rows += table->rows;
	charge(table, true);
	if (err)
		give_back(table);
	return err;
}

static int fill(struct table *table, struct rows_reader *reader)
{
	struct tables *tables = table->tables;
	int err;

	if (reader->rows > slabs_cells_max(&tables->slabs) / 2 || reader->pages > WIRE_PAGES_MAX ||
	    tables->last_id >= WIRE_TABLE_ID_MAX)
		return -ENOSPC; /* nothing that could be given up would make room */
	err = keep_to_share(table, reader->pages, reader->rows * 2);
	err = err ? err : take_rules(table, reader);
	if (err)
		return err;
	err = fill_pages(table, reader);
	if (err)
		give_rules(table);
	return err;
}

static void publish(struct table *table)
{
	struct tables *tables = table->tables;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (bpf_map_update_elem(sampler_map_fd(tables->options.sampler, SAMPLER_TABLES), &table->id, &table->wire,
				BPF_ANY)) {
		give_back(table);
		refuse(table, "too_many_tables");
		return;
	}
	sampler_tables_changed(tables->options.sampler);
	table->published = true;
	tables->stats.files++;
}

static void ask_rows(struct table *table, int debug, bool last);

static void deny(struct table *table)
{
	table->asked = table->debug_tried = false;
	table->denied = true;
	table->denied_user = table->origin.user;
	table->tables->stats.refused++;
}

static void take_rows(struct table *table, struct answer_reader *answer)
{
	struct rows_reader reader;
	int err = rows_open(&reader, answer->in.at, cursor_left(&answer->in));

	err = err ? err : fill(table, &reader);
	if (!err)
		publish(table);
	else if (err == -EDQUOT && !table->origin.maker)
		deny(table); /* root's file has a table all the same, if another asks for it */
	else
		refuse(table, err == -ENOSPC ? "unwind_memory" : err == -EDQUOT ? "user_budget" : "unwind_failed");
}

static void debug_found(void *arg, const struct opened *opened, int fd, const char *text, size_t len)
{
	struct table *table = arg;
	struct origin debug = table->origin;

	(void)text, (void)len;
	table->tables->asking--;
	ask_rows(table, fd, true); /* which duplicates it */
	if (fd < 0)
		return;
	close(fd);
	origin_opened(&debug, opened);
	if (debug.copied)
		helpers_copy_closed(table->tables->options.helpers, debug.user, debug.copied);
}

/* The file says nothing itself: its debug file may. Asked once. */
static void find_debug(struct table *table, struct answer_reader *answer)
{
	const struct tables_options *options = &table->tables->options;
	const char *path = options->path_of ? options->path_of(options->arg, table->id) : NULL;
	struct symbols_debug debug;

	if (table->debug_tried || answer_read_debug(answer, &debug)) {
		refuse(table, "unwind_failed");
		return;
	}
	table->debug_tried = true;
	if (!path || origin_find_debug(&table->origin, options->helpers, options->sampler, OPENING_DEBUG, path, &debug,
				       debug_found, table))
		ask_rows(table, -1, true);
	else
		table->tables->asking++;
}

static void built(void *arg, int err, const void *reply, size_t len)
{
	struct table *table = arg;
	struct answer_reader answer = { 0 };
	enum answer_kind kind = ANSWER_NO_ROWS;
	char reason[REASON_LEN] = "unwind_failed";
	const char *text;
	size_t text_len;

	table->tables->asking--;
	if (err) {
		refuse(table, pool_reason(err));
		return;
	}
	if (answer_open(&answer, reply, len, &kind)) {
		refuse(table, reason);
	} else if (kind == ANSWER_ROWS) {
		take_rows(table, &answer);
	} else if (kind == ANSWER_WANTS_DEBUG) {
		find_debug(table, &answer);
	} else {
		if (kind == ANSWER_NO_ROWS && !answer_read_reason(&answer, &text, &text_len) &&
		    text_len < sizeof(reason)) {
			memcpy(reason, text, text_len);
			reason[text_len] = 0;
		}
		refuse(table, reason);
	}
	answer_close(&answer);
}

static void ask_rows(struct table *table, int debug, bool last)
{
	const int fds[] = { table->fd, debug };
	autobuf struct buf request = { 0 };

	ask_write(&(struct ask){ .kind = ASK_ROWS, .last = last }, &request);
	if (buf_error(&request) || pool_ask(table->tables->options.pool, &(struct worker_request){
										 .bytes = request.data,
										 .len = request.len,
										 .fds = fds,
										 .fds_len = debug >= 0 ? 2 : 1,
										 .user = table->origin.user,
										 .maker = table->origin.maker,
										 .done = built,
										 .arg = table,
									 }))
		refuse(table, "unwind_failed");
	else
		table->tables->asking++;
}

static void ask_table(struct table *table)
{
	if (table->asked || table->refused)
		return;
	table->asked = true;
	ask_rows(table, -1, false);
}

void tables_want(struct tables *tables, uint64_t id, int fd, const struct origin *origin)
{
	struct table *table = table_of(tables, id);

	if (!table)
		return;
	table->fd = fd;
	table->origin = *origin;
	ask_table(table);
}

void tables_refuse(struct tables *tables, uint64_t id, const char *reason)
{
	struct table *table = table_of(tables, id);

	if (table && !table->published)
		refuse(table, reason);
}

void tables_is_jit(struct tables *tables, uint64_t id)
{
	struct table *table = table_of(tables, id);

	if (!table)
		return;
	table->jit = table->refused = true;
	sampler_mark_jit(tables->options.sampler, id);
}

void tables_again(struct tables *tables, uint64_t id, uint64_t user)
{
	uint64_t *slot = map_get(&tables->by_file, id);
	struct table *table = slot ? tables->list[*slot - 1] : NULL;

	if (!table || table->asked || table->refused || (table->denied && table->denied_user == user))
		return;
	table->origin.user = user;
	ask_table(table);
}

bool tables_waits(const struct tables *tables)
{
	return tables->asking;
}

bool tables_knows(const struct tables *tables, uint64_t id)
{
	return map_get(&tables->by_file, id);
}

const char *tables_refusal(const struct tables *tables, uint64_t id)
{
	uint64_t *slot = map_get(&tables->by_file, id);

	const struct table *table = slot ? tables->list[*slot - 1] : NULL;

	return table && table->refused && !table->jit ? table->reason : NULL;
}

/* The last row of the page that is not above the offset, as the kernel side finds it. */
int tables_rule(struct tables *tables, uint64_t id, uint64_t offset, struct wire_rule *ret)
{
	uint64_t *slot = map_get(&tables->by_file, id);
	const struct table *table = slot ? tables->list[*slot - 1] : NULL;
	uint64_t number = offset >> WIRE_PAGE_SHIFT;
	const struct wire_page *page;
	const uint16_t *cells;
	uint32_t low = 0, high;

	if (!table || (!table->published && !table->refused))
		return -EAGAIN;
	if (table->jit)
		return REPLAY_JIT;
	if (offset >> WIRE_TABLE_OFFSETS || !table->published || number < table->wire.first_page ||
	    number - table->wire.first_page >= table->wire.pages)
		return 0;
	page = &tables->pages[table->wire.first_index + (number - table->wire.first_page)];
	cells = page->count ? slabs_read(&tables->slabs, page) : NULL;
	if (!cells)
		return 0;
	for (high = page->count; high - low > 1;) {
		uint32_t middle = low + (high - low) / 2;

		if (cells[middle] <= (offset & 0xffff))
			low = middle;
		else
			high = middle;
	}
	*ret = tables->rules[cells[page->count + low]];
	return 1;
}

bool tables_has_row(struct tables *tables, uint64_t id, uint64_t offset)
{
	struct wire_rule rule;
	int have = tables_rule(tables, id, offset, &rule);

	if (have == -EAGAIN)
		return map_get(&tables->by_file, id);
	return have == 1 && rule.kind != WIRE_RULE_NONE;
}

void tables_age(struct tables *tables)
{
	tables->epoch++;
	sampler_set_epoch(tables->options.sampler, tables->epoch);
}

void tables_stats(const struct tables *tables, struct tables_stats *ret)
{
	*ret = tables->stats;
	ret->bytes = slabs_bytes(&tables->slabs);
}
