/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_moment.h: lists the blocks live at a moment by address, with the way each ends later, and
 * the states of objects that lay on their pages before, for pages.c.
 *
 * Runs: CLI. Signals: no. Allocates: 24 bytes a live block at the moment, 32 to 64 one that is
 * moved later; what page_history.h says.
 * Threads: one a store.
 *
 * The peak (PAGES_AT_PEAK) is the most live bytes of all running processes of the filter, event by
 * event; its moment is the first with that value, which is known only after a pass. The session has
 * the sidecar's value: if the pass confirms it, no other is needed.
 */
#ifndef SHINY_PAGE_MOMENT_H
#define SHINY_PAGE_MOMENT_H

#include "../attribute/groups.h"
#include "page_history.h"
#include "../replay/process_ends.h"
#include "touched.h"

/* Larger sizes are clamped to this one: no allocator returns as much. */
#define PAGE_MOMENT_LARGEST (UINT64_C(1) << 40)

struct page_block {
	uint64_t address;
	/* fate: enum page_state; bucket: the owner's; untouched: around the moment (touched.h) */
	uint64_t size : 48, fate : 8, bucket : 7, untouched : 1;
	uint32_t type, site; /* numbers of groups.h */
};
struct page_moved {
	uint64_t address; /* its present address */
	struct page_block *block;
};
struct page_space { /* of a process */
	uint64_t bytes;  /* live; to find the peak */
	uint64_t births; /* at the moment: a block with a larger number is younger */
	bool ended;      /* the process ended before the moment */
	bool gone;       /* the process has ended; to find the peak */
	struct page_block *blocks; /* sorted by address */
	size_t count;
	struct page_history history;
	VEC(struct page_moved) moved;  /* blocks that a collection moved since the moment */
	struct hash_table moved_index; /* index of `moved` */
};

enum page_when { PAGE_WHEN_END, PAGE_WHEN_PEAK, PAGE_WHEN_TIME };

struct page_moment {
	enum page_when when;
	uint64_t time; /* the requested time, or the peak's that was found */
	bool history;
	const struct groups *types, *sites;
	const struct touched *touched; /* accesses of the session */
	struct page_space *spaces; /* process id n is [n - 1]; only the filter's have data */
	size_t count;
	/* working state */
	bool searching, taken; /* searching: this pass finds the peak, and keeps no blocks */
	uint64_t expected;     /* bytes of the peak; 0: unknown */
	uint64_t bytes, most;  /* live in all processes; the most in this pass */
	uint64_t now;         /* time of the last birth or death */
	struct process_ends ends;
};

/* Passes over the session. The caller sets the members up to `touched`, the others are zero.
 * `others`, `other_count`: further observers of the pass. */
SHINY_MUST_CHECK struct shiny_err *page_moment_run(struct store *store, const struct filter *filter,
						   struct page_moment *moment,
						   const struct replay_observer *others,
						   size_t other_count, bool progress);
void page_moment_deinit(struct page_moment *moment);

#endif
