/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_count.h: how many 4 KiB pages, 64-byte cache lines and 2 MiB ranges hold live blocks, kept
 * up to date from birth to death (F11, F12 of "Shiny Objects", Upadhyay & Venkat, POMACS 10(1):20,
 * 2026).
 *
 * Runs: CLI. Signals: no. Allocates: 272 bytes a range and 1,056 a group of 16 pages in which an
 * end of a block has ever lain; nothing for the pages that one block fills from end to end.
 * Threads: one; the counting is done by another of its own (change_queue.h), as long as
 * page_counts_settle() does not ask for it. `counts` must stay where it is.
 *
 * Exact: a page, line or range is counted while at least one byte of a live block lies in it, as
 * requested (the allocator's own rounding is not live); a block of 0 bytes holds the place where it
 * begins. Every line of a block's first and last page has a count of the blocks on it, every page
 * in between is its own, and only added up: so an event costs the same whatever the size of its
 * block. Blocks that overlap (the end of one was not seen) count twice what both fill from end to
 * end.
 *
 * Nobody asks between two moments, and most blocks do not live from one to the next: so a block
 * waits, and is counted, as it is then, when somebody asks, or too many wait. One that is removed
 * before is counted by nobody.
 *
 * Where `group_of` says of which group a block is, such as its type, groups with live blocks are
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
 *   moment    page_counts_end(&counts, p->id) for each process with p->end <= moment: lives are
 *             told of no end of a process
 * and then, behind page_counts_settle(&counts), counts.pages, lines, ranges, blocks and bytes are
 * the sums over all processes, at any time; page_counts_of() is one process.
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
	bool ended; /* later events of it do not count */
};
/* Blocks that wait, and that waited: 4 MiB of them. Tests lower it. */
extern size_t page_counts_most;

struct page_waiting { /* a block that was added */
	const struct life *life; /* it may be another's by now */
	uint32_t process, place;
};
struct page_counts {
	struct page_count *spaces; /* process id n is n - 1 */
	size_t count;
	/* 0: of none. NULL: groups are not counted. Given; the others zero */
	uint32_t (*group_of)(void *context, uint32_t process, const struct life *life);
	void *context;
	uint64_t pages, lines, ranges, blocks, bytes; /* over all */
	struct live_groups groups;                      /* likewise */
	struct change_queue *queue;                     /* NULL: nothing was ever told */
	/* of each place the last one waits, if its bit is set; the others are removed */
	VEC(struct page_waiting) waiting;
	uint64_t *waits; /* by place of a life: a bit */
	size_t words;    /* of it */
};

void page_counts_add(struct page_counts *counts, uint32_t process, const struct life *life);
/* It was added, or came along in a fork; before its place is another's. */
void page_counts_remove(struct page_counts *counts, uint32_t process, const struct life *life);
/* It was of `before` bytes; it was at `before`. */
void page_counts_resize(struct page_counts *counts, uint32_t process, const struct life *life,
			uint64_t before);
void page_counts_move(struct page_counts *counts, uint32_t process, const struct life *life,
		      uint64_t before);
/* Its vtable was `before`: it was of another group, perhaps. */
void page_counts_vtable(struct page_counts *counts, uint32_t process, const struct life *life,
			uint32_t before);
/* The child holds what `child->blocks` has, and nothing else. */
void page_counts_inherit(struct page_counts *counts, const struct replay_process *child);
/* Takes a process out of the sums for good; again: nothing. Also what waits of it. */
void page_counts_end(struct page_counts *counts, uint32_t process);
/* Nothing more is told: what waits is counted while its lives are still there. */
void page_counts_last(struct page_counts *counts);
/* Counts what it was told so far: what stands in `counts` may be read until more is told. */
void page_counts_settle(struct page_counts *counts);
/* NULL: nothing was ever told of it. */
const struct page_count *page_counts_of(const struct page_counts *counts, uint32_t process);
void page_counts_deinit(struct page_counts *counts);

#endif
