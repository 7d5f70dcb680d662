/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_queue.c: see page_queue.h.
 *
 * A ring of batches; the numbers only grow, a place is its number modulo the ring's size. Batches
 * in [applied, given) are the other thread's, batch `given` is being filled. Whoever waits for it
 * is woken when half of the ring is free again.
 */
#include "page_queue.h"

#include <stdbool.h>
#include <stdlib.h>

#include "../../base/mem.h"
#include "../../base/worker_thread.h"

enum { BATCHES = 8, BATCH_CHANGES = 2048 };

struct page_queue {
	void (*apply)(void *context, const struct page_change *changes, size_t count);
	void *context;
	struct page_change *changes; /* BATCHES times BATCH_CHANGES */
	size_t count;                /* in batch `given` */
	uint64_t given, applied;
	bool threaded, stop, worker_waits, giver_waits;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t to_worker, to_giver;
};

static struct page_change *batch_at(const struct page_queue *q, uint64_t number)
{
	return &q->changes[number % BATCHES * BATCH_CHANGES];
}

static void *work(void *context)
{
	struct page_queue *q = context;

	pthread_mutex_lock(&q->lock);
	while (!q->stop) {
		if (q->applied == q->given) {
			q->worker_waits = true;
			pthread_cond_wait(&q->to_worker, &q->lock);
			q->worker_waits = false;
			continue;
		}
		pthread_mutex_unlock(&q->lock);
		q->apply(q->context, batch_at(q, q->applied), BATCH_CHANGES);
		pthread_mutex_lock(&q->lock);
		q->applied++;
		if (q->giver_waits && q->given - q->applied <= BATCHES / 2)
			pthread_cond_signal(&q->to_giver);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

struct page_queue *page_queue_create(void (*apply)(void *context, const struct page_change *changes,
						   size_t count),
				     void *context)
{
	struct page_queue *q = mem_zero(1, sizeof(*q));

	q->apply = apply;
	q->context = context;
	q->changes = mem_pages(BATCHES * BATCH_CHANGES * sizeof(*q->changes));
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->to_worker, NULL);
	pthread_cond_init(&q->to_giver, NULL);
	q->threaded = thread_start(&q->thread, work, q);
	return q;
}

void page_queue_destroy(struct page_queue *q)
{
	if (!q)
		return;
	if (q->threaded) {
		pthread_mutex_lock(&q->lock);
		q->stop = true;
		pthread_cond_signal(&q->to_worker);
		pthread_mutex_unlock(&q->lock);
		pthread_join(q->thread, NULL);
	}
	pthread_cond_destroy(&q->to_giver);
	pthread_cond_destroy(&q->to_worker);
	pthread_mutex_destroy(&q->lock);
	mem_pages_free(q->changes, BATCHES * BATCH_CHANGES * sizeof(*q->changes));
	free(q);
}

/* Until no more than so many batches are the other thread's. */
static void wait_for(struct page_queue *q, uint64_t most)
{
	while (q->given - q->applied > most) {
		q->giver_waits = true;
		pthread_cond_wait(&q->to_giver, &q->lock);
		q->giver_waits = false;
	}
}

/* A batch is full, and the next one is free. */
static void hand_over(struct page_queue *q)
{
	q->count = 0;
	if (!q->threaded) {
		q->apply(q->context, batch_at(q, q->given), BATCH_CHANGES);
		return;
	}
	pthread_mutex_lock(&q->lock);
	q->given++;
	if (q->worker_waits)
		pthread_cond_signal(&q->to_worker);
	wait_for(q, BATCHES - 1);
	pthread_mutex_unlock(&q->lock);
}

void page_queue_give(struct page_queue *q, struct page_change change)
{
	batch_at(q, q->given)[q->count++] = change;
	if (q->count == BATCH_CHANGES)
		hand_over(q);
}

void page_queue_settle(struct page_queue *q)
{
	if (q->threaded) {
		pthread_mutex_lock(&q->lock);
		wait_for(q, 0);
		pthread_mutex_unlock(&q->lock);
	}
	q->apply(q->context, batch_at(q, q->given), q->count);
	q->count = 0;
}
