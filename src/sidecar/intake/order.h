/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h: a heap of streams, by the times of their next records.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * The problem. Each stream is in order; between streams there are only clock readings, taken by
 * threads that can be preempted between reading the clock and publishing. Applied in the wrong
 * order, "free X, then malloc returns X" becomes a block that is freed while it lives. A wall-clock
 * reorder window (wait 100 ms, hope) is both too long and never long enough.
 *
 * The rule. A round sets T = now; only then it reads, and merges by time all records with time <=
 * T; it leaves later ones to the next round.
 *
 * Why it is enough. Take two records about one address, a before b in the program: a free published
 * before the real free was called and an allocation whose clock was read after the real allocation
 * returned (ring.h, I5). Then
 *     time(a) <= published(a) < real free(a) < real allocation(b) <= time(b).
 * If b is applied in this round, time(b) <= T, so a was published before T, and so before we began
 * to read: it is in this round too, or was in an earlier one, and time(a) < time(b) orders them.
 * The same holds for an allocation a and the free b of its block: the caller sees the block only
 * after a was published, and b's clock is read later. So no window is needed, at any load, under
 * any scheduling.
 *
 * A record can still be late if its thread slept between clock and publication: its time is <= an
 * earlier T. No record about its address can have been applied in between (the free was not
 * executed yet; no thread has seen the block yet), so it is applied on arrival, with its true time,
 * and counted. Times in the session's event stream are therefore nearly sorted, not sorted.
 *
 * Ties cannot happen at one address (a free and a malloc lie between), but if a coarse clock makes
 * one, ends come first.
 *
 * Rejected: sorting each round's records (n log n over all, although each stream is sorted
 * already); a global sequence number taken by writers (one contended cache line for every event).
 */
#ifndef SHINY_ORDER_H
#define SHINY_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct order_entry {
	uint64_t key; /* time * 2, + 1 unless the record is an end */
	void *stream;
};

struct order { /* zeroed: empty. A binary heap, smallest key first, entries from at[1] */
	struct order_entry *at;
	size_t count, room;
};

void order_deinit(struct order *order);
void order_add(struct order *order, uint64_t key, void *stream);
void order_change_first(struct order *order, uint64_t key); /* the first stream has a new next
                                                             * record */
void order_remove_first(struct order *order);

static inline void *order_first(const struct order *order)
{
	return order->count ? order->at[1].stream : NULL;
}

/* The key up to which the first stream may run before another one is due. */
static inline uint64_t order_limit(const struct order *order)
{
	uint64_t a = order->count >= 2 ? order->at[2].key : UINT64_MAX;
	uint64_t b = order->count >= 3 ? order->at[3].key : UINT64_MAX;

	return a < b ? a : b;
}

#endif
