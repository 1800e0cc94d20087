/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that writes. In: windows, and names that came late, in a queue within bounds. Out: transactions of the
 * store, and results in a queue of their own. The store is this thread's alone once it runs.
 *
 * Invariant: each window that was put in has one result, or is dropped when the disk has not answered for minutes, and
 * that has one too.
 */
#include "cmd/serve_keep.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/file.h"
#include "profile/copy.h"
#include "profile/profile.h"
#include "store/store.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define QUEUE_MAX 32   /* windows, and names, that wait */
#define RESULTS_MAX 64 /* that nobody has taken */
#define STOP_STEP_MS 5

struct item {
	struct profile *profile;
	bool names;
};

struct keep {
	struct store *store;
	struct buf boot;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool running, stop, ended;
	int nice;
	struct item queue[QUEUE_MAX];
	unsigned queue_len;
	struct keep_result results[RESULTS_MAX];
	unsigned results_len;
};

int keep_open(struct keep **ret, const struct store_options *options, int nice)
{
	struct keep *keep = calloc(1, sizeof(*keep));
	int err;

	if (!keep)
		return fail(-ENOMEM, "store");
	pthread_mutex_init(&keep->lock, NULL);
	pthread_cond_init(&keep->changed, NULL);
	keep->nice = nice;
	err = file_read(BOOT_ID, 64, &keep->boot);
	if (err)
		err = fail(err, "reading '" BOOT_ID "'");
	else
		keep->boot.data[strcspn(keep->boot.data, "\n")] = '\0';
	err = err ? err : store_open(&keep->store, options);
	if (err)
		keep_free(keep);
	else
		*ret = keep;
	return err;
}

void keep_free(struct keep *keep)
{
	if (!keep)
		return;
	for (unsigned i = 0; i < keep->queue_len; i++)
		profile_free(keep->queue[i].profile);
	store_free(keep->store);
	buf_free(&keep->boot);
	pthread_mutex_destroy(&keep->lock);
	pthread_cond_destroy(&keep->changed);
	free(keep);
}

/* ---- The thread ---- */

static uint64_t sum_of(const struct profile *profile)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		sum += profile_sample(profile, i)->value;
	return sum;
}

static struct keep_result result_of(const struct profile *window, int err, const char *words)
{
	const struct profile_meta *meta = profile_meta(window);
	struct keep_result result = { .sealed = { .from_ns = meta->wall_ns,
						  .to_ns = meta->wall_ns + meta->duration_ns,
						  .samples = sum_of(window) } };

	if (err) {
		snprintf(result.sealed.gap, sizeof(result.sealed.gap), "%s",
			 err == -ENOSPC ? "disk full" : "not written");
		snprintf(result.words, sizeof(result.words), "%s", words);
	}
	return result;
}

/* With the lock held. If nobody takes them the oldest goes: only what is told is lost. */
static void add_result(struct keep *keep, const struct keep_result *result)
{
	if (keep->results_len == RESULTS_MAX) {
		memmove(keep->results, keep->results + 1, (RESULTS_MAX - 1) * sizeof(*keep->results));
		keep->results_len--;
	}
	keep->results[keep->results_len++] = *result;
}

void keep_size(struct keep *keep, uint64_t *ret_bytes, uint64_t *ret_first_ns)
{
	struct store_range extent = { 0 };

	*ret_bytes = 0;
	store_bytes(keep->store, ret_bytes);
	store_extent(keep->store, &extent);
	*ret_first_ns = extent.from;
}

static void seal(struct keep *keep, const struct profile *window)
{
	int err = store_seal(keep->store, window, keep->boot.data, NULL);
	struct keep_result result = result_of(window, err, err ? fail_text() : "");

	keep_size(keep, &result.store_bytes, &result.first_ns);
	pthread_mutex_lock(&keep->lock);
	result.waiting = keep->queue_len;
	add_result(keep, &result);
	pthread_mutex_unlock(&keep->lock);
}

/* The next of the queue; false: it is to end, or there is something else to do. */
static bool next_item(struct keep *keep, bool busy, struct item *ret)
{
	bool found;

	pthread_mutex_lock(&keep->lock);
	while (!keep->queue_len && !keep->stop && !busy)
		pthread_cond_wait(&keep->changed, &keep->lock);
	found = keep->queue_len;
	if (found) {
		*ret = keep->queue[0];
		memmove(keep->queue, keep->queue + 1, --keep->queue_len * sizeof(*keep->queue));
	}
	pthread_mutex_unlock(&keep->lock);
	return found;
}

static bool is_stopped(struct keep *keep)
{
	bool stop;

	pthread_mutex_lock(&keep->lock);
	stop = keep->stop && !keep->queue_len;
	pthread_mutex_unlock(&keep->lock);
	return stop;
}

static void *run(void *context)
{
	struct keep *keep = context;
	bool busy = true;

	setpriority(PRIO_PROCESS, 0, keep->nice); /* of this thread: whoever samples is in a hurry, it is not */
	while (!is_stopped(keep)) {
		struct item item;

		if (!next_item(keep, busy, &item)) {
			busy = !is_stopped(keep) && store_tend(keep->store) > 0;
			continue;
		}
		if (item.names)
			store_improve(keep->store, item.profile); /* nothing is missing but names, if it fails */
		else
			seal(keep, item.profile);
		profile_free(item.profile);
		busy = true;
	}
	pthread_mutex_lock(&keep->lock);
	keep->ended = true;
	pthread_mutex_unlock(&keep->lock);
	return NULL;
}

/* ---- Whoever samples ---- */

int keep_start(struct keep *keep)
{
	int err = pthread_create(&keep->thread, NULL, run, keep);

	keep->running = !err;
	return err ? fail(-err, "starting the thread that writes") : 0;
}

/* With the lock held: names are not worth a window. */
static void make_room(struct keep *keep)
{
	unsigned at = 0;

	while (at < keep->queue_len && !keep->queue[at].names)
		at++;
	at = at < keep->queue_len ? at : 0;
	if (!keep->queue[at].names) {
		struct keep_result result = result_of(keep->queue[at].profile, -EIO,
						      "the disk does not answer: the oldest window was dropped");

		result.waiting = keep->queue_len;
		add_result(keep, &result);
	}
	profile_free(keep->queue[at].profile);
	memmove(keep->queue + at, keep->queue + at + 1, (keep->queue_len - at - 1) * sizeof(*keep->queue));
	keep->queue_len--;
}

static void add_item(struct keep *keep, struct item item)
{
	pthread_mutex_lock(&keep->lock);
	if (keep->queue_len == QUEUE_MAX)
		make_room(keep);
	keep->queue[keep->queue_len++] = item;
	pthread_cond_signal(&keep->changed);
	pthread_mutex_unlock(&keep->lock);
}

void keep_put(struct keep *keep, struct profile *window)
{
	add_item(keep, (struct item){ window, false });
}

int keep_names(struct keep *keep, const struct profile *named)
{
	struct profile *copied = NULL;
	struct copy copy = { 0 };
	int err = profile_new(&copied);

	err = err ? err : copy_begin(&copy, named, copied);
	copy_free(&copy);
	if (err)
		profile_free(copied);
	else
		add_item(keep, (struct item){ copied, true });
	return err;
}

bool keep_take(struct keep *keep, struct keep_result *ret)
{
	bool found;

	pthread_mutex_lock(&keep->lock);
	found = keep->results_len;
	if (found) {
		*ret = keep->results[0];
		memmove(keep->results, keep->results + 1, --keep->results_len * sizeof(*keep->results));
	}
	pthread_mutex_unlock(&keep->lock);
	return found;
}

static bool has_ended(struct keep *keep)
{
	bool ended;

	pthread_mutex_lock(&keep->lock);
	ended = keep->ended;
	pthread_mutex_unlock(&keep->lock);
	return ended;
}

bool keep_stop(struct keep *keep, uint64_t patience_ms)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + patience_ms * NS_PER_MS;

	if (!keep->running)
		return true;
	pthread_mutex_lock(&keep->lock);
	keep->stop = true;
	pthread_cond_signal(&keep->changed);
	pthread_mutex_unlock(&keep->lock);
	while (!has_ended(keep)) {
		if (clock_ns(CLOCK_MONOTONIC) > end)
			return false;
		poll(NULL, 0, STOP_STEP_MS);
	}
	pthread_join(keep->thread, NULL);
	keep->running = false;
	return true;
}
