/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_queue.h: changes of the pages in use, applied by a thread of their own while the replay goes
 * on: nobody asks for the result but at the end of an interval.
 *
 * Runs: CLI. Signals: no. Allocates: 400 kB. Threads: one gives; the other is its own.
 *
 * Counting pages and lines waits for memory a few times an event, which takes half as long as
 * following every block does (bench/README.md). Where no thread is to be had, who gives applies.
 */
#ifndef SHINY_PAGE_QUEUE_H
#define SHINY_PAGE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

enum page_change_kind { PAGE_BLOCK_ADD, PAGE_BLOCK_REMOVE, PAGE_SPACE_EMPTY, PAGE_SPACE_END };
struct page_change {
	uint64_t address, size; /* of a block; else 0 */
	uint32_t process;
	enum page_change_kind kind;
};

struct page_queue;

/* `apply` gets all changes in the order in which they are given; never twice at a time. */
struct page_queue *page_queue_create(void (*apply)(void *context, const struct page_change *changes,
						   size_t count),
				     void *context);
/* Changes that are not applied yet are lost. Accepts NULL. */
void page_queue_destroy(struct page_queue *queue);

void page_queue_give(struct page_queue *queue, struct page_change change);
/* All that was given is applied, and what `apply` wrote can be read until more is given. */
void page_queue_settle(struct page_queue *queue);

#endif
