/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_count.h: counts the 4 KiB pages, 64-byte cache lines and 2 MiB ranges with live blocks, from
 * birth to death (F11, F12 of "Shiny Objects", Upadhyay & Venkat, POMACS 10(1):20, 2026).
 *
 * Runs: CLI. Signals: no. Allocates: 272 bytes a range and 1,056 a group of 16 pages that ever had
 * an end of a block; nothing for pages that one block fills. Threads: one; another of its own
 * counts (change_queue.h), up to page_counts_settle(). `counts` must not move.
 *
 * Counts are exact: a page, line or range counts while it has at least one requested byte of a live
 * block (the allocator's rounding is not live); a block of 0 bytes occupies its address. Each line
 * of a block's first and last page counts its blocks; the pages between belong to the block alone,
 * and are only added up: so an event costs the same whatever the size of its block. If blocks
 * overlap (the end of one was not seen), pages that both fill count twice.
 *
 * Counts are read only at moments, and most blocks do not live from one to the next: so a block
 * waits, and is counted, as it is then, at the next moment or when too many wait. One that is
 * removed before is never counted.
 *
 * With `group_of`, which returns a block's group, such as its type, groups with live blocks are
 * counted too.
 *
 * Address spaces are kept apart: a fork doubles what its parent has, although the kernel copies
 * pages only when they are written.
 *
 * As part of an observer of lives (replay.h), with `struct page_counts counts` zeroed in its
 * context:
 *   birth     page_counts_add(&counts, process->id, life);
 *   death     if (death->end != LIFE_NEVER) page_counts_remove(&counts, process->id, life);
 *             else page_counts_last(&counts);
 *   resize    page_counts_resize(&counts, process->id, life, before);
 *   move      page_counts_move(&counts, process->id, life, before);
 *   vtable    page_counts_vtable(&counts, process->id, life, before); where it may change groups
 *   fork      page_counts_inherit(&counts, child);
 *   moment    page_counts_end(&counts, p->id) for each process with p->end <= moment: the replay
 *             reports no end of a process
 * After page_counts_settle(&counts), at any time, counts.pages, lines, ranges, blocks and bytes are
 * the sums over all processes; page_counts_of() returns one process's.
 */
#ifndef SHINY_PAGE_COUNT_H
#define SHINY_PAGE_COUNT_H

#include <stdbool.h>

#include "change_queue.h"
#include "live_groups.h"
#include "replay.h"
#include "../query/range_map.h"

struct page_count { /* an address space */
	struct range_map map;
	uint64_t pages, lines, ranges, blocks, bytes;
	struct live_groups groups;
	bool ended; /* later events of the process do not count */
};
/* Most entries of `waiting`, 4 MiB of them. Tests lower it. */
extern size_t page_counts_most;

struct page_waiting { /* a block that was added */
	const struct life *life; /* its place may have another block by now */
	uint32_t process, place;
};
struct page_counts {
	struct page_count *spaces; /* process id n is [n - 1] */
	size_t count;
	/* Set by the caller; the other members are zero. Returns a block's group, 0: none. NULL:
	 * groups are not counted. */
	uint32_t (*group_of)(void *context, uint32_t process, const struct life *life);
	void *context;
	uint64_t pages, lines, ranges, blocks, bytes; /* sums of all processes */
	struct live_groups groups;                      /* sum of all processes */
	struct change_queue *queue;                     /* NULL: no event yet */
	/* the last entry of a place waits if its bit in `waits` is set; other entries are void */
	VEC(struct page_waiting) waiting;
	uint64_t *waits; /* a bit for each place of a life */
	size_t words;    /* words of `waits` */
};

void page_counts_add(struct page_counts *counts, uint32_t process, const struct life *life);
/* Removes a block that was added, or copied by a fork; call before its place is reused. */
void page_counts_remove(struct page_counts *counts, uint32_t process, const struct life *life);
/* Changes a block's size, or its address, from `before`. */
void page_counts_resize(struct page_counts *counts, uint32_t process, const struct life *life,
			uint64_t before);
void page_counts_move(struct page_counts *counts, uint32_t process, const struct life *life,
		      uint64_t before);
/* Changes a block's vtable from `before`, and so perhaps its group. */
void page_counts_vtable(struct page_counts *counts, uint32_t process, const struct life *life,
			uint32_t before);
/* Adds the blocks of `child->blocks` to a child that has none. */
void page_counts_inherit(struct page_counts *counts, const struct replay_process *child);
/* Subtracts a process from the sums for good, with its waiting blocks. Later calls do nothing. */
void page_counts_end(struct page_counts *counts, uint32_t process);
/* Call when no more events come: counts the waiting blocks while their lives still exist. */
void page_counts_last(struct page_counts *counts);
/* Counts everything so far: `counts` can be read until the next event. */
void page_counts_settle(struct page_counts *counts);
/* Returns a process's counts; NULL: it had no event. */
const struct page_count *page_counts_of(const struct page_counts *counts, uint32_t process);
void page_counts_deinit(struct page_counts *counts);

#endif
