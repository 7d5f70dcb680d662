/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain_head.h: skips the frames of functions in dispatch tables that the program puts in front of
 * ours.
 *
 * Runs: inside: `si_front_watch` in the constructor, `si_front_skip` in every hook of
 *            partition_alloc.c.
 * Signals: safe. Allocates: nothing. Threads: any; see chain_head.c.
 */
#ifndef SI_CHAIN_HEAD_H
#define SI_CHAIN_HEAD_H

#include "../core/base.h"

struct si_image;

enum { SI_FRONT_TABLES = 4, SI_FRONT_KINDS = 28 };

/* The tables in front of ours in a chain with this head. Never changed once it is published. */
struct si_front {
	uintptr_t head;
	uint32_t tables;
	/* the tables' functions for a kind of slot, beginning with the one that calls us;
	 * bytes == 0: its frame cannot be left out */
	struct { uintptr_t start, bytes; } function[SI_FRONT_KINDS][SI_FRONT_TABLES];
};
SI_INTERNAL const struct si_front *si_front; /* stored with release, read with acquire */
SI_INTERNAL const uintptr_t *si_front_head;  /* the program's pointer to the first table */

/* Notes that `*head` will point to `ours`, a table of `slots` pointers of which the last one points
 * to the next; kinds[i] < SI_FRONT_KINDS. */
void si_front_watch(const struct si_image *image, const uintptr_t *head, uintptr_t ours,
		    unsigned slots, const uint8_t *kinds);

/* Looks at the tables behind a head that is not `si_front`'s. */
SI_COLD const struct si_front *si_front_look(uintptr_t head);

/* Returns the innermost frame, from the hook's frame `fp` on, whose caller is no function of a
 * table in front. */
SI_HOT const uintptr_t *si_front_skip(const uintptr_t *fp, unsigned kind)
{
	const struct si_front *front = __atomic_load_n(&si_front, __ATOMIC_ACQUIRE);
	uintptr_t head = __atomic_load_n(__atomic_load_n(&si_front_head, __ATOMIC_RELAXED),
					 __ATOMIC_ACQUIRE);

	if (SI_UNLIKELY(head != front->head))
		front = si_front_look(head);
	for (uint32_t t = 0; t < front->tables; t++)
		if (fp[1] - front->function[kind][t].start < front->function[kind][t].bytes)
			fp = (const uintptr_t *)fp[0];
	return fp;
}

#endif
