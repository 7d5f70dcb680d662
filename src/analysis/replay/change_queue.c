/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_queue.c: see change_queue.h.
 *
 * A ring of batches. Their numbers only grow; a batch's slot is its number modulo the ring's size.
 * The other thread owns batches [applied, given); batch `given` is being filled. A full ring wakes
 * the giver when half of it is free again.
 */
#include "change_queue.h"

#include <stdbool.h>
#include <stdlib.h>

#include "../../base/mem.h"
#include "../../base/worker_thread.h"

enum { BATCHES = 8, BATCH_CHANGES = 2048 };

struct change_queue {
	struct change_batch batch; /* the batch numbered `given` */
	void (*apply)(void *context, const void *changes, size_t count);
	void *context;
	char *changes;    /* BATCHES times BATCH_CHANGES */
	uint64_t given, applied;
	bool threaded, stop, worker_waits, giver_waits;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t to_worker, to_giver;
};

static char *batch_at(const struct change_queue *q, uint64_t number)
{
	return q->changes + number % BATCHES * BATCH_CHANGES * q->batch.size;
}

static void begin_batch(struct change_queue *q)
{
	q->batch.at = batch_at(q, q->given);
	q->batch.end = q->batch.at + BATCH_CHANGES * q->batch.size;
}

static void *work(void *context)
{
	struct change_queue *q = context;

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

struct change_queue *change_queue_create(size_t size,
					 void (*apply)(void *context, const void *changes,
						       size_t count),
					 void *context)
{
	struct change_queue *q = mem_zero(1, sizeof(*q));

	q->apply = apply;
	q->context = context;
	q->batch.size = size;
	q->changes = mem_pages(BATCHES * BATCH_CHANGES * size);
	begin_batch(q);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->to_worker, NULL);
	pthread_cond_init(&q->to_giver, NULL);
	q->threaded = thread_start(&q->thread, work, q);
	return q;
}

void change_queue_destroy(struct change_queue *q)
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
	mem_pages_free(q->changes, BATCHES * BATCH_CHANGES * q->batch.size);
	free(q);
}

/* Waits until the other thread owns at most `most` batches. */
static void wait_for(struct change_queue *q, uint64_t most)
{
	if (q->worker_waits && q->given - q->applied > most)
		pthread_cond_signal(&q->to_worker);
	while (q->given - q->applied > most) {
		q->giver_waits = true;
		pthread_cond_wait(&q->to_giver, &q->lock);
		q->giver_waits = false;
	}
}

void change_queue_hand_over(struct change_queue *q)
{
	if (!q->threaded) {
		q->apply(q->context, batch_at(q, q->given), BATCH_CHANGES);
	} else {
		pthread_mutex_lock(&q->lock);
		q->given++;
		if (q->worker_waits && q->given - q->applied >= BATCHES / 2)
			pthread_cond_signal(&q->to_worker);
		wait_for(q, BATCHES - 1);
		pthread_mutex_unlock(&q->lock);
	}
	begin_batch(q);
}

void change_queue_settle(struct change_queue *q)
{
	char *first = batch_at(q, q->given);

	if (q->threaded) {
		pthread_mutex_lock(&q->lock);
		wait_for(q, 0);
		pthread_mutex_unlock(&q->lock);
	}
	q->apply(q->context, first, (size_t)(q->batch.at - first) / q->batch.size);
	begin_batch(q);
}
