/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads, two queues and a bound. In: items. Out: the same items, run. An item belongs to its thread while it runs and
 * to whoever put it otherwise. Threads take no signals: those are for the thread that started them.
 */
#include "http/work.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fail.h"

#define WORK_THREADS_MAX 16

struct queue {
	struct work_item *first, **end;
};

struct work {
	pthread_t threads[WORK_THREADS_MAX];
	unsigned started;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct queue todo, done;
	unsigned count, bound; /* count: put and not yet taken back */
	bool over;
	int fd;
};

static void push(struct queue *queue, struct work_item *item)
{
	item->next = NULL;
	*queue->end = item;
	queue->end = &item->next;
}

static struct work_item *pop(struct queue *queue)
{
	struct work_item *item = queue->first;

	if (item) {
		queue->first = item->next;
		if (!queue->first)
			queue->end = &queue->first;
	}
	return item;
}

static void *work_thread(void *context)
{
	struct work *work = context;

	pthread_mutex_lock(&work->lock);
	while (!work->over) {
		struct work_item *item = pop(&work->todo);

		if (!item) {
			pthread_cond_wait(&work->more, &work->lock);
			continue;
		}
		pthread_mutex_unlock(&work->lock);
		item->run(item);
		pthread_mutex_lock(&work->lock);
		push(&work->done, item);
		(void)!write(work->fd, &(uint64_t){ 1 }, sizeof(uint64_t));
	}
	pthread_mutex_unlock(&work->lock);
	return NULL;
}

static int start_threads(struct work *work, unsigned threads)
{
	sigset_t all, before;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!err && work->started < threads && work->started < WORK_THREADS_MAX) {
		err = pthread_create(&work->threads[work->started], NULL, work_thread, work);
		work->started += !err;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

int work_new(struct work **ret, unsigned threads, unsigned bound, int fd)
{
	struct work *work = calloc(1, sizeof(*work));
	int err;

	if (!work)
		return fail(-ENOMEM, "threads");
	work->fd = fd;
	work->bound = bound;
	work->todo.end = &work->todo.first;
	work->done.end = &work->done.first;
	pthread_mutex_init(&work->lock, NULL);
	pthread_cond_init(&work->more, NULL);
	err = start_threads(work, threads);
	if (err) {
		work_free(work);
		return fail(err, "starting threads");
	}
	*ret = work;
	return 0;
}

void work_free(struct work *work)
{
	if (!work)
		return;
	pthread_mutex_lock(&work->lock);
	work->over = true;
	pthread_cond_broadcast(&work->more);
	pthread_mutex_unlock(&work->lock);
	for (unsigned i = 0; i < work->started; i++)
		pthread_join(work->threads[i], NULL);
	pthread_cond_destroy(&work->more);
	pthread_mutex_destroy(&work->lock);
	free(work);
}

int work_put(struct work *work, struct work_item *item)
{
	int err = 0;

	pthread_mutex_lock(&work->lock);
	if (work->count == work->bound) {
		err = -EBUSY;
	} else {
		work->count++;
		push(&work->todo, item);
		pthread_cond_signal(&work->more);
	}
	pthread_mutex_unlock(&work->lock);
	return err;
}

struct work_item *work_done(struct work *work)
{
	struct work_item *item;

	pthread_mutex_lock(&work->lock);
	item = pop(&work->done);
	work->count -= item != NULL;
	pthread_mutex_unlock(&work->lock);
	return item;
}
