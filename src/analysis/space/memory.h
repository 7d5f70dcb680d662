/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h: the owners of each process's memory when the sidecar sampled it: reserved,
 * accessible, resident.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 *
 * The resident bytes of a process's owners add up to what the kernel said of the process,
 * `unclassified` included.
 */
#ifndef SHINY_MEMORY_H
#define SHINY_MEMORY_H

#include "../query/filter.h"
#include "../attribute/tree.h"

/* Bytes. */
struct memory_sums {
	uint64_t segments, reserved, committed, rss, pss, private, swap;
	uint64_t live_blocks, live_bytes; /* of the owner malloc: its blocks; of others:
	                                   * garbage-collected objects */
};
struct memory_owner {
	char *owner, *detail; /* detail "": nothing more to say */
	struct memory_sums sums;
};
struct memory_sample {
	uint64_t time, rss;
};
struct memory_process {
	uint32_t id, pid;
	char *name;      /* role, or program */
	uint64_t time;	 /* of the sample that this is about */
	uint64_t areas;  /* mappings that the kernel listed; 0: it let us see the sum only */
	struct memory_sums sums; /* live: malloc's */
	struct memory_owner *owners; /* by owner, the one with most resident bytes first; within it
	                              * by detail, likewise */
	size_t owner_count, owner_room;
	struct memory_sample *samples; /* all of them */
	size_t sample_count, sample_room;
};
struct memory_history {
	struct memory_process *processes; /* most resident bytes first */
	size_t count, room;
	size_t unseen; /* processes of the filter without a sample: they lived too short, or
			* samples were off */
	uint64_t period, cost, duration; /* ns; cost: of the sidecar's processor, for all samples */
};

enum memory_moment {
	MEMORY_LAST,
	MEMORY_PEAK,
	MEMORY_AT
}; /* the last sample; that with most
    * resident bytes; the last until a
    * time */

SHINY_MUST_CHECK struct shiny_err *memory_load(struct store *store, const struct filter *filter,
					       enum memory_moment moment, uint64_t time,
					       struct memory_history *out);
void memory_deinit(struct memory_history *memory);

/* The owner that begins at `i`, all of its details added up; returns the index behind them. */
size_t memory_owner_sums(const struct memory_process *p, size_t i, struct memory_sums *out);

/* Resident bytes of all details of an owner; 0: it has none. */
uint64_t memory_owner_total(const struct memory_process *p, const char *owner);

/*
 * Resident bytes as a tree: process, owner, detail; where events were kept, malloc's and the
 * garbage collector's are the types of what was live at that moment, and the rest.
 */
SHINY_MUST_CHECK struct shiny_err *memory_tree(struct store *store,
					       const struct memory_history *memory,
					       const char *match, double threshold, bool full,
					       struct tree_node *root);

#endif
