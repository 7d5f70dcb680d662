/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h: the owners of each process's memory when the sidecar sampled it: reserved,
 * accessible, resident.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 *
 * The resident bytes of a process's owners, with `unclassified`, add up to those that the kernel
 * reports.
 */
#ifndef SHINY_MEMORY_H
#define SHINY_MEMORY_H

#include "../../answer/field.h"
#include "../query/filter.h"
#include "../attribute/tree.h"

/* Bytes. */
struct memory_sums {
	uint64_t segments, reserved, committed, rss, pss, private, swap;
	uint64_t live_blocks, live_bytes; /* of malloc, or of another heap, its blocks; of others
					   * garbage-collected objects */
};
struct memory_detail {
	char *detail; /* "": none */
	struct memory_sums sums;
};
struct memory_owner {
	char *owner;
	struct memory_sums sums;       /* of the details, of which there is at least one */
	struct memory_detail *details; /* most resident bytes first */
	size_t count, room;
};
struct memory_sample {
	uint64_t time, rss;
};
struct memory_process {
	uint32_t id, pid;
	char *name;		 /* role, or program */
	uint64_t time;		 /* time of this sample */
	uint64_t areas;		 /* mappings listed by the kernel; 0: it showed only their sum */
	struct memory_sums sums; /* live: malloc's */
	struct memory_owner *owners; /* most resident bytes first */
	size_t owner_count, owner_room;
	struct memory_sample *samples; /* all samples of the process */
	size_t sample_count, sample_room;
};
struct memory_history {
	struct memory_process *processes; /* most resident bytes first */
	size_t count, room;
	size_t unseen; /* processes of the filter without a sample: too short, or samples were
			* off */
	uint64_t period, cost, duration; /* ns; cost: the sidecar's, for all samples */
};

enum memory_moment {
	MEMORY_LAST,
	MEMORY_PEAK,
	MEMORY_AT
}; /* the last sample; the one with most resident bytes; the last one up to a time */

SHINY_MUST_CHECK struct shiny_err *memory_load(struct store *store, const struct filter *filter,
					       enum memory_moment moment, uint64_t time,
					       struct memory_history *out);
void memory_deinit(struct memory_history *memory);

/* Returns the enum shiny_api of the blocks in an owner's memory, SHINY_API_MALLOC for malloc's;
 * SHINY_APIS: none are its own. */
unsigned memory_heap(const char *owner);

/* Returns the resident bytes of an owner; 0: there is none. */
uint64_t memory_owner_total(const struct memory_process *p, const char *owner);

/* Returns true if the details say more than the owner. */
static inline bool memory_has_details(const struct memory_owner *owner)
{
	return owner->count > 1 || *owner->details->detail;
}

/* Makes a tree of resident bytes: process, owner, detail. With events, those of malloc, of another
 * heap and of the garbage collector are the types of the blocks live at that time, and the rest. */
SHINY_MUST_CHECK struct shiny_err *memory_tree(struct store *store,
					       const struct memory_history *memory,
					       const char *match, double threshold, bool full,
					       struct tree_node *root);

extern const struct field memory_sums_fields[]; /* of struct memory_sums */
extern const struct field memory_fields[];	/* of struct memory_history */

#endif
