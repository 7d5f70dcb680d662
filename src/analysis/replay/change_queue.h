/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_queue.h: what an observer has seen, applied by a thread of its own while the replay goes
 * on: where nobody asks for the result but at the end of an interval, or of the session.
 *
 * Runs: CLI. Signals: no. Allocates: 16,384 changes. Threads: one gives; the other is its own.
 *
 * Counting pages and lines (page_count.h) and putting blocks into pools (space/pooling_model.h)
 * wait for memory a few times an event, which takes as long as following every block does
 * (bench/README.md). Changes come many at a time, so whoever applies them can ask for what later
 * ones of them need. Where no thread is to be had, who gives applies.
 */
#ifndef SHINY_CHANGE_QUEUE_H
#define SHINY_CHANGE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct change_queue;
struct change_batch { /* a queue's first member: what is being filled */
	char *at, *end;
	size_t size; /* of a change */
};

/* `apply` gets all changes, of `size` bytes each, in the order in which they are given; never twice
 * at a time. */
struct change_queue *change_queue_create(size_t size,
					 void (*apply)(void *context, const void *changes,
						       size_t count),
					 void *context);
/* Changes that are not applied yet are lost. Accepts NULL. */
void change_queue_destroy(struct change_queue *queue);

/* The batch is full; the next one is begun. */
void change_queue_hand_over(struct change_queue *queue);
/* Where the next change is to be written, before anything else is asked of the queue. */
static inline void *change_queue_next(struct change_queue *queue)
{
	struct change_batch *batch = (struct change_batch *)queue;
	void *next;

	if (batch->at == batch->end)
		change_queue_hand_over(queue);
	next = batch->at;
	batch->at += batch->size;
	return next;
}
/* The change, a struct of the size that the queue was made for. It is assigned, so that its members
 * go to where they belong: copied as bytes, it is read as words of 16 just behind their writing,
 * which a processor waits for. */
#define change_queue_give(queue, ...) \
	((void)(*(__typeof__(__VA_ARGS__) *)change_queue_next(queue) = (__VA_ARGS__)))
/* All that was given is applied, and what `apply` wrote can be read until more is given. */
void change_queue_settle(struct change_queue *queue);

#endif
