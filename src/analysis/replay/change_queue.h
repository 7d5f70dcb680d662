/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_queue.h: lets another thread apply an observer's changes while the replay goes on, for
 * results that are only read at the end of an interval or of the session.
 *
 * Runs: CLI. Signals: no. Allocates: 16,384 changes. Threads: one gives; the other is its own.
 *
 * Counting pages and lines (page_count.h) and putting blocks into pools (space/pooling_model.h)
 * wait for memory a few times an event, which takes as long as following every block does
 * (bench/README.md). Changes come in batches, so `apply` can prefetch for later ones. Without a
 * thread, the giver applies them.
 */
#ifndef SHINY_CHANGE_QUEUE_H
#define SHINY_CHANGE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct change_queue;
struct change_batch { /* a queue's first member: the batch being filled */
	char *at, *end;
	size_t size; /* bytes of a change */
};

/* `apply` gets all changes, of `size` bytes each, in the order given; its calls never overlap. */
struct change_queue *change_queue_create(size_t size,
					 void (*apply)(void *context, const void *changes,
						       size_t count),
					 void *context);
/* Drops changes not applied yet. Accepts NULL. */
void change_queue_destroy(struct change_queue *queue);

/* Ends the full batch, and begins the next one. */
void change_queue_hand_over(struct change_queue *queue);
/* Returns the place of the next change, to be written before the next call on the queue. */
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
/* Gives a change, a struct of the queue's size, by assignment to its members' places: copied as
 * bytes, it would be read in words of 16 just after smaller writes, on which a processor stalls. */
#define change_queue_give(queue, ...) \
	((void)(*(__typeof__(__VA_ARGS__) *)change_queue_next(queue) = (__VA_ARGS__)))
/* Waits until all given changes are applied: `apply`'s results can be read until more are given. */
void change_queue_settle(struct change_queue *queue);

#endif
