/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live stream's state. In: a profile of each second. Out: JSON of what is new in it, and of everything for whoever
 * begins to watch. A frame, and who runs, is found by its JSON text, which is what is sent; a stack by its parent and
 * its frame. Numbers are given in the order in which things come and hold for an era.
 *
 * Invariant: the events of an era, put one after the other behind its "all", have every number before it is used.
 */
#include "http/live.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/index.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "out/out.h"
#include "profile/profile.h"

#define NO_STACK "[\"[no stack]\",\"-\",6]" /* as the page has it */
#define NAMELESS 8u                         /* added to the kind of a frame without a name */
#define NODE_BYTES 14                       /* of a node in JSON, and of a count, about */
#define ROW_BYTES 20
#define TEN 10 /* seconds that become one when they are old */
#define KEPT_MAX (LIVE_SINGLE + TEN + LIVE_TENS)

struct row {
	uint32_t node, who;
	uint64_t count;
};

struct second {
	uint64_t at_ms, ms, lost, missed;
	struct row *rows;
	uint32_t len;
};

struct node {
	uint32_t parent, frame;
};

struct dictionary {
	struct intern *frames, *whos; /* JSON texts; number 0 of these is not used, so one less is sent */
	struct map named;             /* keyed hash of a frame that has a name to its number: no text is made again */
	struct map places;            /* parent << 32 | frame to node */
	struct node *nodes;           /* from 1 */
	uint32_t nodes_len, nodes_cap;
	size_t bytes;
};

struct live {
	struct live_options options;
	char *host;
	uint64_t started_ns;
	unsigned era;
	struct dictionary dictionary;
	uint32_t sent_frames, sent_whos, sent_nodes; /* by numbers: those from there on are new */
	struct second kept[KEPT_MAX];                /* tens, then single ones */
	unsigned tens, kept_len;
	struct live_health health;
	uint64_t seed[2][2]; /* of the two halves of hashes */
	struct buf scratch;
	bool broken; /* memory was out in the middle of something */
};

/* ---- The dictionary ---- */

static void dictionary_free(struct dictionary *dictionary)
{
	intern_free(dictionary->frames);
	intern_free(dictionary->whos);
	map_free(&dictionary->named);
	map_free(&dictionary->places);
	free(dictionary->nodes);
	*dictionary = (struct dictionary){ 0 };
}

static int dictionary_init(struct dictionary *dictionary)
{
	*dictionary = (struct dictionary){ .nodes_len = 1 };
	if (!intern_new(&dictionary->frames) && !intern_new(&dictionary->whos))
		return 0;
	dictionary_free(dictionary);
	return -ENOMEM;
}

static uint32_t add_text(struct dictionary *dictionary, struct intern *texts, const char *text, size_t len)
{
	uint32_t before = intern_count(texts), number = intern_bytes(texts, text, len);

	if (number != UINT32_MAX && number >= before)
		dictionary->bytes += len + 1;
	return number;
}

static uint32_t add_node(struct dictionary *dictionary, uint32_t parent, uint32_t frame)
{
	uint64_t *slot = map_put(&dictionary->places, (uint64_t)parent << 32 | frame);

	if (!slot)
		return UINT32_MAX;
	if (*slot)
		return (uint32_t)*slot;
	if (dictionary->nodes_len >= dictionary->nodes_cap) {
		uint32_t cap = dictionary->nodes_cap ? 2 * dictionary->nodes_cap : 1024;
		struct node *nodes = reallocarray(dictionary->nodes, cap, sizeof(*nodes));

		if (!nodes)
			return UINT32_MAX;
		dictionary->nodes = nodes;
		dictionary->nodes_cap = cap;
	}
	dictionary->nodes[dictionary->nodes_len] = (struct node){ parent, frame };
	dictionary->bytes += NODE_BYTES;
	*slot = dictionary->nodes_len++;
	return (uint32_t)*slot;
}

/* ---- Records of a profile as JSON ---- */

static void put_text(struct json *json, struct buf *scratch, const char *key)
{
	json_text(json, key, scratch->data ? scratch->data : "", scratch->len);
	buf_clear(scratch);
}

static void describe_frame(const struct profile *profile, uint32_t number, struct buf *text, struct buf *out)
{
	const struct profile_frame *frame = profile_frame(profile, number);
	struct json json = { .out = out };

	json_array(&json, NULL);
	out_frame_text(profile, number, text);
	put_text(&json, text, NULL);
	out_function_module(profile, number, text);
	put_text(&json, text, NULL);
	json_u64(&json, NULL, frame->kind | (frame->name ? 0 : NAMELESS));
	json_end(&json, ']');
}

static void describe_who(const struct profile *profile, uint32_t number, struct buf *text, struct buf *out)
{
	const struct profile_sample *sample = profile_sample(profile, number);
	const struct profile_process *process = profile_process(profile, sample->process);
	uint32_t set = sample->labels;
	struct json json = { .out = out };

	json_array(&json, NULL);
	json_u64(&json, NULL, process->pid);
	out_string(profile, process->comm ? process->comm : out_comm(profile, number), text);
	put_text(&json, text, NULL);
	out_string(profile, out_comm(profile, number), text);
	put_text(&json, text, NULL);
	json_object(&json, NULL);
	for (unsigned i = 0; set && i < PROFILE_LABELS_MAX; i++) {
		uint32_t key, value;

		profile_label(profile, set, &set, &key, &value);
		out_string(profile, value, text);
		put_text(&json, text, profile_text(profile, key, NULL));
	}
	json_end(&json, '}');
	json_end(&json, ']');
}

static uint32_t add_described(struct live *live, const struct profile *profile, uint32_t number, struct intern *texts,
			      void (*describe)(const struct profile *, uint32_t, struct buf *, struct buf *))
{
	autobuf struct buf text = { 0 };

	buf_clear(&live->scratch);
	describe(profile, number, &text, &live->scratch);
	if (buf_error(&text) || buf_error(&live->scratch))
		return UINT32_MAX;
	return add_text(&live->dictionary, texts, live->scratch.data, live->scratch.len);
}

static uint64_t hash_text(const struct live *live, const struct profile *profile, uint32_t string)
{
	size_t len;
	const char *text = profile_text(profile, string, &len);

	return (uint64_t)index_hash_bytes(live->seed[0], text, len) << 32 | index_hash_bytes(live->seed[1], text, len);
}

/* All that the text of a frame with a name is made of, in 64 bits that nobody can foresee. */
static uint64_t hash_named(const struct live *live, const struct profile *profile, const struct profile_frame *frame)
{
	uint64_t name = hash_text(live, profile, frame->name);
	uint64_t path = hash_text(live, profile, profile_file(profile, frame->file)->path);

	return index_mix(index_mix(name ^ live->seed[0][0], path ^ live->seed[1][0]) ^ frame->kind << 1 ^ !frame->file,
			 live->seed[0][1] | 1);
}

/* Most frames of a second were in the one before. */
static uint32_t place_frame(struct live *live, const struct profile *profile, uint32_t number)
{
	struct dictionary *dictionary = &live->dictionary;
	const struct profile_frame *frame = profile_frame(profile, number);
	uint64_t *slot = frame->name ? map_put(&dictionary->named, hash_named(live, profile, frame)) : NULL;
	uint32_t place = slot ? (uint32_t)*slot : 0;

	if (!place)
		place = add_described(live, profile, number, dictionary->frames, describe_frame);
	if (slot && place != UINT32_MAX)
		*slot = place;
	return place;
}

/* ---- A second ---- */

static int by_place(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	if (left->node != right->node)
		return left->node < right->node ? -1 : 1;
	return left->who < right->who ? -1 : left->who > right->who;
}

/* Each node and who once. */
static void settle_rows(struct second *second)
{
	uint32_t len = 0;

	if (second->len)
		qsort(second->rows, second->len, sizeof(*second->rows), by_place);
	for (uint32_t i = 0; i < second->len; i++)
		if (len && !by_place(&second->rows[len - 1], &second->rows[i]))
			second->rows[len - 1].count += second->rows[i].count;
		else
			second->rows[len++] = second->rows[i];
	second->len = len;
}

/* Only the stacks that have samples: the profile may know others. */
static uint32_t place_of(struct live *live, const struct profile *profile, uint32_t *nodes, uint32_t *frames,
			 uint32_t stack)
{
	const struct profile_node *node = profile_node(profile, stack);
	struct dictionary *dictionary = &live->dictionary;
	uint32_t parent;

	if (!stack || nodes[stack])
		return stack ? nodes[stack] : 0;
	parent = node->parent < stack ? place_of(live, profile, nodes, frames, node->parent) : UINT32_MAX;
	if (!frames[node->frame])
		frames[node->frame] = place_frame(live, profile, node->frame);
	if (parent == UINT32_MAX || frames[node->frame] == UINT32_MAX)
		return UINT32_MAX;
	nodes[stack] = add_node(dictionary, parent, frames[node->frame]);
	return nodes[stack];
}

static uint32_t place_without_stack(struct dictionary *dictionary)
{
	uint32_t frame = add_text(dictionary, dictionary->frames, NO_STACK, strlen(NO_STACK));

	return frame == UINT32_MAX ? frame : add_node(dictionary, 0, frame);
}

static int take_rows(struct live *live, const struct profile *profile, struct second *ret)
{
	uint32_t count = profile_count(profile, PROFILE_SAMPLES);
	autofree uint32_t *nodes = calloc(profile_count(profile, PROFILE_NODES), sizeof(*nodes));
	autofree uint32_t *frames = calloc(profile_count(profile, PROFILE_FRAMES), sizeof(*frames));

	ret->rows = calloc(count, sizeof(*ret->rows));
	if (!nodes || !frames || !ret->rows)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		const struct profile_sample *sample = profile_sample(profile, i);
		struct row *row = &ret->rows[ret->len];

		if (!sample->value)
			continue;
		row->node = sample->stack ? place_of(live, profile, nodes, frames, sample->stack)
					  : place_without_stack(&live->dictionary);
		row->who = add_described(live, profile, i, live->dictionary.whos, describe_who);
		row->count = sample->value;
		if (row->node == UINT32_MAX || row->who == UINT32_MAX)
			return -ENOMEM;
		ret->len++;
	}
	settle_rows(ret);
	return 0;
}

static uint64_t sum_group(const struct profile *profile, const char *group)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_COUNTERS); i++) {
		const struct profile_counter *counter = profile_counter(profile, i);

		if (!strcmp(profile_text(profile, counter->group, NULL), group))
			sum += counter->value;
	}
	return sum;
}

/* The oldest, or all of the first ten single ones as one. */
static void forget_oldest(struct live *live, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		free(live->kept[i].rows);
	memmove(live->kept, live->kept + count, (live->kept_len - count) * sizeof(*live->kept));
	live->kept_len -= count;
	live->tens -= count < live->tens ? count : live->tens;
}

static int make_ten(struct live *live)
{
	struct second *first = &live->kept[live->tens], ten = *first;
	uint32_t len = 0;

	for (unsigned i = 0; i < TEN; i++)
		len += first[i].len;
	ten.rows = calloc(len + 1, sizeof(*ten.rows));
	if (!ten.rows)
		return -ENOMEM;
	ten.len = 0;
	for (unsigned i = 0; i < TEN; i++) {
		memcpy(ten.rows + ten.len, first[i].rows, first[i].len * sizeof(*ten.rows));
		ten.len += first[i].len;
		ten.ms += i ? first[i].ms : 0;
		ten.lost += i ? first[i].lost : 0;
		ten.missed += i ? first[i].missed : 0;
		free(first[i].rows);
	}
	settle_rows(&ten);
	*first = ten;
	live->kept_len -= TEN - 1;
	memmove(first + 1, first + TEN, (live->kept_len - live->tens - 1) * sizeof(*first));
	live->tens++;
	return 0;
}

static int keep(struct live *live, const struct second *second)
{
	int err = 0;

	live->kept[live->kept_len++] = *second;
	if (live->kept_len - live->tens >= LIVE_SINGLE + TEN)
		err = make_ten(live);
	if (err || live->tens > LIVE_TENS)
		forget_oldest(live, 1);
	return 0;
}

/* ---- Eras ---- */

/* Nodes that are used by what is kept, and those they hang on. */
static unsigned char *mark_nodes(const struct live *live)
{
	unsigned char *used = calloc(live->dictionary.nodes_len, 1);

	for (unsigned i = 0; used && i < live->kept_len; i++)
		for (uint32_t j = 0; j < live->kept[i].len; j++)
			used[live->kept[i].rows[j].node] = 1;
	for (uint32_t i = live->dictionary.nodes_len - 1; used && i; i--)
		if (used[i])
			used[live->dictionary.nodes[i].parent] = 1;
	return used;
}

static uint32_t carry_text(struct dictionary *to, struct intern *texts, const struct intern *from, uint32_t number)
{
	size_t len;
	const char *text = intern_get(from, number, &len);

	return add_text(to, texts, text, len);
}

/* The dictionary of what is kept alone; `numbers` become the nodes' new ones. */
static int carry_nodes(const struct live *live, struct dictionary *to, uint32_t *numbers)
{
	const struct dictionary *from = &live->dictionary;
	autofree unsigned char *used = mark_nodes(live);

	if (!used)
		return -ENOMEM;
	for (uint32_t i = 1; i < from->nodes_len; i++) {
		uint32_t frame;

		if (!used[i])
			continue;
		frame = carry_text(to, to->frames, from->frames, from->nodes[i].frame);
		numbers[i] = frame == UINT32_MAX ? frame : add_node(to, numbers[from->nodes[i].parent], frame);
		if (numbers[i] == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

static int begin_era(struct live *live)
{
	autofree uint32_t *numbers = calloc(live->dictionary.nodes_len, sizeof(*numbers));
	struct dictionary fresh;
	int err = numbers ? dictionary_init(&fresh) : -ENOMEM;

	if (err)
		return err;
	err = carry_nodes(live, &fresh, numbers);
	for (unsigned i = 0; !err && i < live->kept_len; i++)
		for (uint32_t j = 0; !err && j < live->kept[i].len; j++) {
			struct row *row = &live->kept[i].rows[j];

			row->node = numbers[row->node];
			row->who = carry_text(&fresh, fresh.whos, live->dictionary.whos, row->who);
			err = row->who == UINT32_MAX ? -ENOMEM : 0;
		}
	if (err) { /* numbers are of both: nothing of it can be kept */
		forget_oldest(live, live->kept_len);
		dictionary_free(&fresh);
		err = dictionary_init(&fresh);
		if (err)
			return err;
	}
	dictionary_free(&live->dictionary);
	live->dictionary = fresh;
	live->era++;
	return 0;
}

/* Until the dictionary is half as large as it may be, so that the next era is not the next second. */
static int renew(struct live *live)
{
	int err = begin_era(live);

	while (!err && live->dictionary.bytes > live->options.era_bytes / 2 && live->kept_len > 1) {
		forget_oldest(live, (live->kept_len + 1) / 2);
		err = begin_era(live);
	}
	return err;
}

/* ---- JSON ---- */

static void put_era(const struct live *live, struct json *json)
{
	char text[48];
	int len = snprintf(text, sizeof(text), "%llx-%u", (unsigned long long)live->started_ns, live->era);

	json_text(json, "era", text, (size_t)len);
}

/* What has been added to the dictionary since these numbers. */
static void put_dictionary(const struct live *live, struct json *json, uint32_t frame, uint32_t who, uint32_t node)
{
	const struct dictionary *dictionary = &live->dictionary;

	json_array(json, "frames");
	for (; frame < intern_count(dictionary->frames); frame++)
		json_raw(json, NULL, intern_get(dictionary->frames, frame, NULL));
	json_end(json, ']');
	json_array(json, "who");
	for (; who < intern_count(dictionary->whos); who++)
		json_raw(json, NULL, intern_get(dictionary->whos, who, NULL));
	json_end(json, ']');
	json_array(json, "nodes");
	for (; node < dictionary->nodes_len; node++) {
		json_u64(json, NULL, dictionary->nodes[node].parent);
		json_u64(json, NULL, dictionary->nodes[node].frame - 1);
	}
	json_end(json, ']');
}

static void put_second(const struct second *second, struct json *json)
{
	json_array(json, "samples");
	for (uint32_t i = 0; i < second->len; i++) {
		json_u64(json, NULL, second->rows[i].node);
		json_u64(json, NULL, second->rows[i].who - 1);
		json_u64(json, NULL, second->rows[i].count);
	}
	json_end(json, ']');
	json_u64(json, "lost", second->lost);
	json_u64(json, "missed", second->missed);
}

static void put_time(const struct second *second, struct json *json)
{
	json_u64(json, "at_ms", second->at_ms);
	json_u64(json, "ms", second->ms);
}

static void put_health(const struct live_health *health, struct json *json, const char *key)
{
	json_object(json, key);
	json_u64(json, "lost", health->lost);
	json_u64(json, "missed", health->missed);
	json_double(json, "whole_percent", health->whole_percent);
	json_double(json, "cpu_percent", health->cpu_percent);
	json_u64(json, "rss_bytes", health->rss_bytes);
	json_u64(json, "store_bytes", health->store_bytes);
	if (health->note[0])
		json_text(json, "note", health->note, strnlen(health->note, sizeof(health->note)));
	else
		json_null(json, "note");
	json_end(json, '}');
}

static void mark_sent(struct live *live)
{
	live->sent_frames = intern_count(live->dictionary.frames);
	live->sent_whos = intern_count(live->dictionary.whos);
	live->sent_nodes = live->dictionary.nodes_len;
}

/* ---- What others call ---- */

int live_new(struct live **ret, const struct live_options *options)
{
	struct live *live = calloc(1, sizeof(*live));

	if (!live)
		return fail(-ENOMEM, "live");
	live->options = *options;
	live->options.era_bytes = options->era_bytes ? options->era_bytes : LIVE_ERA_BYTES;
	live->started_ns = clock_ns(CLOCK_REALTIME);
	index_seed(live->seed[0]);
	index_seed(live->seed[1]);
	live->host = strdup(options->host);
	if (!live->host || dictionary_init(&live->dictionary)) {
		live_free(live);
		return fail(-ENOMEM, "live");
	}
	mark_sent(live);
	*ret = live;
	return 0;
}

void live_free(struct live *live)
{
	if (!live)
		return;
	forget_oldest(live, live->kept_len);
	dictionary_free(&live->dictionary);
	buf_free(&live->scratch);
	free(live->host);
	free(live);
}

int live_all(struct live *live, uint64_t now_ns, struct buf *out)
{
	struct json json = { .out = out };
	size_t room = live->dictionary.bytes < LIVE_GREETING_BYTES ? LIVE_GREETING_BYTES - live->dictionary.bytes : 0;
	unsigned first = live->kept_len;

	while (first && room >= (live->kept[first - 1].len + 10) * (size_t)ROW_BYTES) {
		first--;
		room -= (live->kept[first].len + 10) * (size_t)ROW_BYTES;
	}
	json_object(&json, NULL);
	put_era(live, &json);
	json_text(&json, "host", live->host, strlen(live->host));
	json_u64(&json, "hz", live->options.hz);
	json_u64(&json, "cpus", live->options.cpus);
	json_u64(&json, "window_ms", live->options.window_ms);
	json_u64(&json, "first_ms",
		 live->health.first_ns ? live->health.first_ns / NS_PER_MS
		 : live->kept_len      ? live->kept[0].at_ms
				       : now_ns / NS_PER_MS);
	json_u64(&json, "now_ms", now_ns / NS_PER_MS);
	put_health(&live->health, &json, "health");
	put_dictionary(live, &json, 1, 1, 1);
	json_array(&json, "seconds");
	for (unsigned i = first; i < live->kept_len; i++) {
		json_object(&json, NULL);
		put_time(&live->kept[i], &json);
		put_second(&live->kept[i], &json);
		json_end(&json, '}');
	}
	json_end(&json, ']');
	json_end(&json, '}');
	return buf_error(out);
}

static int take_second(struct live *live, const struct profile *profile)
{
	const struct profile_meta *meta = profile_meta(profile);
	struct second second = { .at_ms = meta->wall_ns / NS_PER_MS,
				 .ms = meta->duration_ns / NS_PER_MS,
				 .lost = sum_group(profile, "lost"),
				 .missed = profile_counter_value(profile, "note", "missed") };
	int err = take_rows(live, profile, &second);

	if (err)
		free(second.rows);
	return err ? err : keep(live, &second);
}

int live_add(struct live *live, const struct profile *profile, struct buf *out, const char **ret_event)
{
	struct json json = { .out = out };
	int err = take_second(live, profile);

	if (err) {
		live->broken = true;
		return err;
	}
	if (live->broken || live->dictionary.bytes > live->options.era_bytes) {
		err = renew(live);
		err = err ? err : live_all(live, clock_ns(CLOCK_REALTIME), out);
		live->broken = err;
		mark_sent(live);
		*ret_event = "all";
		return err;
	}
	json_object(&json, NULL);
	put_era(live, &json);
	put_time(&live->kept[live->kept_len - 1], &json);
	put_dictionary(live, &json, live->sent_frames, live->sent_whos, live->sent_nodes);
	put_second(&live->kept[live->kept_len - 1], &json);
	json_end(&json, '}');
	mark_sent(live);
	*ret_event = "second";
	live->broken = buf_error(out);
	return buf_error(out);
}

int live_set_health(struct live *live, const struct live_health *health, struct buf *out)
{
	struct json json = { .out = out };

	live->health = *health;
	put_health(health, &json, NULL);
	return buf_error(out);
}

int live_sealed(uint64_t from_ns, uint64_t to_ns, uint64_t samples, const char *gap, struct buf *out)
{
	struct json json = { .out = out };

	json_object(&json, NULL);
	json_u64(&json, "from_ms", from_ns / NS_PER_MS);
	json_u64(&json, "to_ms", to_ns / NS_PER_MS);
	json_u64(&json, "samples", samples);
	if (gap)
		json_text(&json, "gap", gap, strlen(gap));
	else
		json_null(&json, "gap");
	json_end(&json, '}');
	return buf_error(out);
}
