/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slabs are BPF arrays of one large value, written here and read there; little of them is mapped at a time. A table's
 * pages lie in any slabs; its rules are shared with all other tables. What the worker sent is checked while it is
 * copied: it may not be what it seems.
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
#include "base/intern.h"
#include "base/map.h"
#include "bpf/wire.h"
#include "collect/sampler.h"
#include "elf/cfi.h"
#include "sym/symbols.h"
#include "unwind/rows.h"
#include "worker/protocol.h"
#include "worker/worker.h"

#define SLABS_MAX 256
#define MAPPED_MAX 4  /* of them are mapped here, to be written: the kernel side has them in any case */
#define VIEWS_MAX 128 /* pages of tables that are mapped here, to be read */
#define REASON_LEN 32

struct slab {
	int fd;
	struct wire_slab *cells; /* NULL: not mapped */
	uint64_t used;           /* the greatest was used last */
	struct extents free;
};

/* A page of a table, wherever it lies in its slab. */
struct view {
	uint32_t slab, start, count;
	char *at; /* NULL: free */
	size_t len, skip;
	uint64_t used;
};

struct table {
	struct tables *tables;
	uint64_t id; /* of the file */
	int fd;
	bool asked, refused, published, debug_tried;
	char reason[REASON_LEN]; /* if refused */
	struct wire_table wire;
	uint64_t rows;
};

struct tables {
	struct tables_options options;
	struct slab slabs[SLABS_MAX];
	unsigned int slabs_len, slabs_max, mapped;
	uint64_t uses;
	struct view views[VIEWS_MAX];
	struct wire_page *pages; /* mapped */
	struct wire_rule *rules; /* mapped */
	struct extents free_pages;
	struct intern *known_rules; /* number n is rule n - 1 */
	struct map by_file;         /* id → index + 1 */
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
	uint64_t slabs = options->bytes / sizeof(struct wire_slab);

	if (!tables)
		return -ENOMEM;
	*ret = tables;
	tables->options = *options;
	tables->slabs_max = slabs < SLABS_MAX ? (slabs ? (unsigned int)slabs : 1) : SLABS_MAX;
	tables->free_pages.size = WIRE_PAGES_MAX;
	tables->pages = map_of(options->sampler, SAMPLER_PAGES, WIRE_PAGES_MAX * sizeof(struct wire_page));
	tables->rules = map_of(options->sampler, SAMPLER_RULES, WIRE_RULES_MAX * sizeof(struct wire_rule));
	if (!tables->pages || !tables->rules)
		return fail(-errno, "mapping the unwind tables");
	return intern_new(&tables->known_rules);
}

void tables_free(struct tables *tables)
{
	if (!tables)
		return;
	for (unsigned int i = 0; i < tables->slabs_len; i++) {
		if (tables->slabs[i].cells)
			munmap(tables->slabs[i].cells, sizeof(struct wire_slab));
		close(tables->slabs[i].fd);
		extent_clear(&tables->slabs[i].free);
	}
	for (size_t i = 0; i < VIEWS_MAX; i++)
		if (tables->views[i].at)
			munmap(tables->views[i].at, tables->views[i].len);
	if (tables->pages)
		munmap(tables->pages, WIRE_PAGES_MAX * sizeof(struct wire_page));
	if (tables->rules)
		munmap(tables->rules, WIRE_RULES_MAX * sizeof(struct wire_rule));
	for (size_t i = 0; i < tables->len; i++)
		free(tables->list[i]);
	free(tables->list);
	map_free(&tables->by_file);
	extent_clear(&tables->free_pages);
	intern_free(tables->known_rules);
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
	tables->stats.refused += !strcmp(reason, "unwind_memory") || !strcmp(reason, "too_many_tables");
	bpf_map_update_elem(sampler_map_fd(tables->options.sampler, SAMPLER_TABLES), &table->id, &none, BPF_ANY);
	sampler_tables_changed(tables->options.sampler);
	snprintf(table->reason, sizeof(table->reason), "%s", reason);
}

/* ---- room ---- */

/* Unmaps the slab that was not looked at for the longest. */
static void unmap_one(struct tables *tables)
{
	struct slab *oldest = NULL;

	for (unsigned int i = 0; i < tables->slabs_len; i++) {
		struct slab *slab = &tables->slabs[i];

		if (slab->cells && (!oldest || slab->used < oldest->used))
			oldest = slab;
	}
	munmap(oldest->cells, sizeof(*oldest->cells));
	oldest->cells = NULL;
	tables->mapped--;
}

/* The cells of a page, to be written, good until those of another are asked for. NULL: they cannot be mapped. */
static uint16_t *cells_of(struct tables *tables, const struct wire_page *page)
{
	struct slab *slab = &tables->slabs[page->slab];
	void *cells;

	slab->used = ++tables->uses;
	if (!slab->cells) {
		if (tables->mapped >= MAPPED_MAX)
			unmap_one(tables);
		cells = mmap(NULL, sizeof(*slab->cells), PROT_READ | PROT_WRITE, MAP_SHARED, slab->fd, 0);
		if (cells == MAP_FAILED)
			return NULL;
		slab->cells = cells;
		tables->mapped++;
	}
	return slab->cells->cells + page->start;
}

/* Maps a page in the place of one that was not looked at for the longest. */
static bool view_map(struct tables *tables, struct view *view, const struct wire_page *page)
{
	size_t unit = (size_t)sysconf(_SC_PAGESIZE), from = page->start * sizeof(uint16_t);
	size_t skip = from % unit, len = skip + page->count * 2 * sizeof(uint16_t);
	void *at = mmap(NULL, len, PROT_READ, MAP_SHARED, tables->slabs[page->slab].fd, (off_t)(from - skip));

	if (at == MAP_FAILED)
		return false;
	if (view->at)
		munmap(view->at, view->len);
	*view = (struct view){ page->slab, page->start, page->count, at, len, skip, 0 };
	return true;
}

/* The cells of a page that has some, to be read, good until those of another are asked for. NULL: they cannot be. */
static const uint16_t *view_of(struct tables *tables, const struct wire_page *page)
{
	struct view *view = NULL, *oldest = &tables->views[0];

	for (size_t i = 0; i < VIEWS_MAX && !view; i++) {
		struct view *one = &tables->views[i];

		if (one->at && one->slab == page->slab && one->start == page->start && one->count == page->count)
			view = one;
		if (one->used < oldest->used)
			oldest = one;
	}
	if (!view && !view_map(tables, view = oldest, page))
		return NULL;
	view->used = ++tables->uses;
	return (const uint16_t *)(view->at + view->skip);
}

static int add_slab(struct tables *tables)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct slab *slab = &tables->slabs[tables->slabs_len];
	int fd;

	if (tables->slabs_len >= tables->slabs_max)
		return -ENOSPC;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "wick_slab", sizeof(uint32_t), sizeof(struct wire_slab), 1, &options);
	if (fd < 0)
		return -errno;
	if (bpf_map_update_elem(sampler_map_fd(tables->options.sampler, SAMPLER_SLABS), &tables->slabs_len, &fd,
				BPF_ANY)) {
		int err = -errno;

		close(fd);
		return err;
	}
	*slab = (struct slab){ .fd = fd, .free = { .size = WIRE_SLAB_CELLS } };
	tables->slabs_len++;
	return 0;
}

static void give_page(struct tables *tables, struct wire_page *page)
{
	if (page->count)
		extent_give(&tables->slabs[page->slab].free, page->start, page->count * 2);
	*page = (struct wire_page){ 0 };
}

static void give_back(struct table *table)
{
	struct tables *tables = table->tables;

	for (uint32_t i = 0; i < table->wire.pages; i++)
		give_page(tables, &tables->pages[table->wire.first_index + i]);
	extent_give(&tables->free_pages, table->wire.first_index, table->wire.pages);
	tables->stats.rows -= table->rows;
	table->wire = (struct wire_table){ 0 };
	table->rows = 0;
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

/* Gives up the table that was used least recently, though not one of this epoch: those are in use. */
static int evict(struct tables *tables)
{
	struct table *oldest = NULL;
	uint32_t oldest_use = tables->epoch;
	int err;

	for (size_t i = 0; i < tables->len; i++) {
		struct table *table = tables->list[i];

		if (table->published && last_use(table) < oldest_use) {
			oldest = table;
			oldest_use = last_use(table);
		}
	}
	if (!oldest)
		return -ENOSPC;
	bpf_map_delete_elem(sampler_map_fd(tables->options.sampler, SAMPLER_TABLES), &oldest->id);
	sampler_tables_changed(tables->options.sampler); /* before the wait: nobody goes on with what was remembered */
	err = sampler_grace(tables->options.sampler);
	if (err)
		return err;
	oldest->published = oldest->asked = oldest->debug_tried = false;
	give_back(oldest);
	tables->stats.files--;
	tables->stats.evicted++;
	return 0;
}

static int take_cells(struct tables *tables, uint32_t count, struct wire_page *ret)
{
	for (;;) {
		int err;

		for (unsigned int i = 0; i < tables->slabs_len; i++) {
			int64_t start = extent_take(&tables->slabs[i].free, count * 2);

			if (start < 0)
				continue;
			*ret = (struct wire_page){
				.slab = i, .start = (uint32_t)start, .count = count, .used = tables->epoch
			};
			return 0;
		}
		err = add_slab(tables);
		if (err == -ENOSPC)
			err = evict(tables);
		if (err)
			return err;
	}
}

/* ---- filling ---- */

/* Nearly all rules are: the kernel side has a short way for them. */
static bool is_plain(const struct wire_rule *rule)
{
	return rule->kind == WIRE_RULE_REGISTER && (rule->reg == CFI_SP || rule->reg == CFI_FP) &&
	       rule->ra_offset == -8 && !(rule->from_fp & 1) && !(rule->flags & ~WIRE_RULE_SAVES);
}

/* The table's own numbers of rules become those that all tables share. */
static int take_rules(struct tables *tables, struct rows_reader *reader, uint16_t **ret)
{
	uint16_t *numbers = calloc(reader->rules, sizeof(*numbers));
	int err = numbers ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < reader->rules && !err; i++) {
		struct wire_rule rule;
		uint32_t number;

		err = rows_next_rule(reader, &rule);
		if (err)
			break;
		rule.flags &= (uint8_t)~WIRE_RULE_PLAIN;
		rule.flags |= is_plain(&rule) ? WIRE_RULE_PLAIN : 0;
		number = intern_bytes(tables->known_rules, &rule, sizeof(rule)) - 1;
		if (number >= WIRE_RULES_MAX) {
			err = -ENOSPC;
			break;
		}
		tables->rules[number] = rule;
		numbers[i] = (uint16_t)number;
	}
	if (err)
		free(numbers);
	else
		*ret = numbers;
	return err;
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
	offsets = cells_of(tables, &place);
	if (!offsets) {
		give_page(tables, &place);
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
		give_page(tables, &place);
		return -EBADMSG;
	}
	*to = place;
	return 0;
}

static int fill(struct table *table, struct rows_reader *reader)
{
	struct tables *tables = table->tables;
	uint16_t *numbers = NULL;
	uint32_t rules = reader->rules;
	int64_t index;
	int err;

	if (reader->rows > (uint64_t)tables->slabs_max * WIRE_SLAB_CELLS / 2)
		return -ENOSPC; /* nothing that could be given up would make room */
	err = take_rules(tables, reader, &numbers);
	if (err)
		return err;
	index = extent_take(&tables->free_pages, reader->pages);
	if (index < 0) {
		free(numbers);
		return (int)index;
	}
	table->wire = (struct wire_table){ ++tables->last_id, (uint32_t)index, reader->first_page, reader->pages };
	for (uint32_t i = 0; i < reader->pages && !err; i++) {
		struct rows_page page;

		err = rows_next_page(reader, &page);
		if (!err && page.number != reader->first_page + i)
			err = -EBADMSG;
		err = err ? err : copy_page(tables, &page, numbers, rules, &tables->pages[index + i]);
		table->rows += err ? 0 : page.count;
	}
	tables->stats.rows += table->rows;
	if (err)
		give_back(table);
	free(numbers);
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

static void take_rows(struct table *table, struct answer_reader *answer)
{
	struct rows_reader reader;
	int err = rows_open(&reader, answer->in.at, cursor_left(&answer->in));

	err = err ? err : fill(table, &reader);
	if (!err)
		publish(table);
	else
		refuse(table, err == -ENOSPC ? "unwind_memory" : "unwind_failed");
}

/* The file says nothing itself: its debug file may. Asked once. */
static void find_debug(struct table *table, struct answer_reader *answer)
{
	const struct tables_options *options = &table->tables->options;
	struct symbols_debug debug;
	autoclose int fd = -1;

	if (table->debug_tried || answer_read_debug(answer, &debug)) {
		refuse(table, "unwind_failed");
		return;
	}
	table->debug_tried = true;
	if (options->find_debug)
		fd = options->find_debug(options->arg, table->id, &debug);
	ask_rows(table, fd, true);
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
		refuse(table, err == -ETIME ? "too_slow" : "worker_died");
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
	if (buf_error(&request) ||
	    worker_ask(table->tables->options.worker, request.data, request.len, fds, debug >= 0 ? 2 : 1, built, table))
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

void tables_want(struct tables *tables, uint64_t id, int fd)
{
	struct table *table = table_of(tables, id);

	if (!table)
		return;
	table->fd = fd;
	if (fd < 0) /* its samples need not wait for anything */
		refuse(table, "file_gone");
	else
		ask_table(table);
}

void tables_again(struct tables *tables, uint64_t id)
{
	uint64_t *slot = map_get(&tables->by_file, id);

	if (slot)
		ask_table(tables->list[*slot - 1]);
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

	return slot && tables->list[*slot - 1]->refused ? tables->list[*slot - 1]->reason : NULL;
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
	if (!table->published || number < table->wire.first_page ||
	    number - table->wire.first_page >= table->wire.pages)
		return 0;
	page = &tables->pages[table->wire.first_index + (number - table->wire.first_page)];
	cells = page->count ? view_of(tables, page) : NULL;
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
	return have && rule.kind != WIRE_RULE_NONE;
}

void tables_age(struct tables *tables)
{
	tables->epoch++;
	sampler_set_epoch(tables->options.sampler, tables->epoch);
}

void tables_stats(const struct tables *tables, struct tables_stats *ret)
{
	*ret = tables->stats;
	ret->bytes = tables->slabs_len * sizeof(struct wire_slab);
}
