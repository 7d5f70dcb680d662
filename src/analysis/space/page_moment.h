/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_moment.h: the blocks that were live at a moment, in the order of their addresses, with how
 * each ends later; and what lay on their pages before. What pages.c counts.
 *
 * Runs: CLI. Signals: no. Allocates: 24 bytes a live block at the moment, 32 to 64 one that is
 * moved later; what page_history.h says.
 * Threads: one a store.
 *
 * The most live bytes (PAGES_AT_PEAK) are those of all processes of the filter that run, event by
 * event; the moment is the first at which they are reached, which is known only behind a pass. The
 * session says what the sidecar saw: where it is right, which that pass tells, no other is needed.
 */
#ifndef SHINY_PAGE_MOMENT_H
#define SHINY_PAGE_MOMENT_H

#include "../attribute/groups.h"
#include "page_history.h"
#include "../replay/process_ends.h"
#include "touched.h"

/* Larger sizes are clamped to this one: no allocator gives that much. */
#define PAGE_MOMENT_LARGEST (UINT64_C(1) << 40)

struct page_block {
	uint64_t address;
	/* fate: enum page_state; bucket: the owner's; untouched: around the moment (touched.h) */
	uint64_t size : 48, fate : 8, bucket : 7, untouched : 1;
	uint32_t type, site; /* rows of groups.h */
};
struct page_moved {
	uint64_t address; /* where it is now */
	struct page_block *block;
};
struct page_space { /* of a process */
	uint64_t bytes;  /* live: for the peak */
	uint64_t births; /* of its process at the moment: a block with a larger number is younger */
	bool ended;      /* before the moment */
	bool gone;       /* its process has ended: for the peak */
	struct page_block *blocks; /* ascending by address */
	size_t count;
	struct page_history history;
	VEC(struct page_moved) moved;  /* since the moment, by a collection */
	struct hash_table moved_index; /* of moved */
};

enum page_when { PAGE_WHEN_END, PAGE_WHEN_PEAK, PAGE_WHEN_TIME };

struct page_moment {
	enum page_when when;
	uint64_t time; /* asked for; the peak's, found */
	bool history;
	const struct groups *types, *sites;
	const struct touched *touched; /* what is known of accesses */
	struct page_space *spaces; /* process id n is n - 1; only those of the filter have
				    * anything */
	size_t count;
	/* working state */
	bool searching, taken; /* searching: for the peak, and nothing is kept */
	uint64_t expected;     /* bytes that the peak has; 0 unknown */
	uint64_t bytes, most;  /* live, over all; the highest of them in this pass */
	uint64_t now;         /* of the last birth or death */
	struct process_ends ends;
};

/*
 * Goes through the session. The first members up to `touched` are given, the others zero. `others`,
 * `other_count`: observers that see the same pass.
 */
SHINY_MUST_CHECK struct shiny_err *page_moment_run(struct store *store, const struct filter *filter,
						   struct page_moment *moment,
						   const struct replay_observer *others,
						   size_t other_count, bool progress);
void page_moment_deinit(struct page_moment *moment);

#endif
