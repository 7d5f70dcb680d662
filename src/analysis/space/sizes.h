/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizes.h: sums block sizes and allocators' room, and correlates size with lifetime.
 *
 * Runs: CLI. Signals: no. Allocates: 160 bytes a size class that is used, a type and a call site;
 * never by events. Threads: one a store.
 *
 * requested, usable, slot, slop: size_class.h. Each is summed over the blocks that began, and over
 * those live at the end of their process or of the recording; those that a fork copied are live in
 * the child, too, and began in the parent. Blocks of a program that exec replaced are not live. A
 * garbage-collected object counts with its last size.
 *
 * F8 of "Shiny Objects" (Upadhyay & Venkat, POMACS 10(1):20, 2026): geometric mean of the lifetime,
 * exp(1/n * sum(ln lifetime)), by size: in octaves as requested, (2^(k-1), 2^k], the first up to 8
 * bytes; and in size classes. The mean is over the blocks that ended, a lifetime of 0 ns taken as
 * 1; persistent ones, whose lifetime is unknown, are counted separately. In one number: Pearson's
 * correlation of ln(size) and ln(lifetime) over the blocks that ended, sizes of 0 taken as 1. 0:
 * unrelated; 1 or -1: one determines the other.
 *
 * Smallest and largest types are ordered by their blocks' mean size, among types with at least one
 * block or one byte in SIZES_NOTABLE.
 *
 * Cost: one pass over the events (replay.h), all of the above at once.
 */
#ifndef SHINY_SIZES_H
#define SHINY_SIZES_H

#include "../../answer/field.h"
#include "../query/distribution.h"
#include "../attribute/groups.h"
#include "size_class.h"

enum { SIZES_OCTAVES = 46, SIZES_NOTABLE = 1000, SIZES_EXTREMES = 5 };

struct size_sums {
	/* blocks that began; bytes requested, usable, of slots */
	uint64_t blocks, bytes, usable, slots;
	uint64_t live, live_bytes, live_usable, live_slots;        /* at the end */
};
static inline uint64_t size_slop(const struct size_sums *sums)
{
	return sums->usable - sums->bytes;
}
static inline uint64_t size_live_slop(const struct size_sums *sums)
{
	return sums->live_usable - sums->live_bytes;
}

struct sizes_row {
	char *name;                      /* of a class: allocator and slot, "glibc 48" */
	struct size_sums sums;
	uint64_t least, most;            /* requested sizes of the blocks that began */
	uint64_t ended, persistent;      /* blocks = their sum */
	double log_sum;                  /* sum over the ended: ln(ns) */
	uint64_t slot, usable;           /* of a class: of one block; usable 0: varies, as the exact
					  * size is kept */
	enum size_allocator allocator;   /* of a class */
	bool mapped;                     /* of a class: a mapping of its own */
	bool is_class;
	bool unknown;                    /* the row of blocks without a type, or call site */
};
/* Returns ns; 0: none ended. */
double sizes_geometric_mean(const struct sizes_row *row);

struct sizes_rows {
	struct sizes_row *rows;
	size_t count;
};
struct sizes_octave {
	uint64_t up_to; /* bytes */
	struct size_sums sums;
	struct distribution ages; /* ns; persistent blocks are censored */
};
struct sizes {
	struct sizes_row total;
	struct sizes_row allocators[SIZE_ALLOCATORS];
	struct sizes_octave octaves[SIZES_OCTAVES];
	struct sizes_rows classes, types, sites; /* those with blocks, in the requested order */
	struct sizes_rows chosen; /* one of these, for sizes_fields; set by the caller */
	const struct sizes_row *smallest[SIZES_EXTREMES], *largest[SIZES_EXTREMES]; /* types */
	size_t smallest_count, largest_count;
	double correlation; /* of size and lifetime, -1 to 1; NAN: one size or one lifetime only, or
			     * none ended */
	uint64_t aligned; /* blocks of memalign and the like: their room is a lower bound */
	uint64_t duration; /* of the session, ns */
};

enum sizes_order {
	SIZES_BY_LIVE_SLOP,
	SIZES_BY_SLOP,
	SIZES_BY_BLOCKS,
	SIZES_BY_BYTES,
	SIZES_BY_SIZE
};

/* Counts sizes. `match`: pattern of types' and sites' names (text_matches()); NULL: all. Sums
 * include all. */
SHINY_MUST_CHECK struct shiny_err *sizes_load(struct store *store, const struct filter *filter,
					      const char *match, enum sizes_order order,
					      bool full_names, bool progress, struct sizes *out);
void sizes_deinit(struct sizes *sizes);

/* Finds the types of the smallest or largest blocks, at most `room`, the most extreme first.
 * Returns their number. */
size_t sizes_extremes(const struct sizes *sizes, bool largest, size_t room,
		      const struct sizes_row **out);

extern const struct field sizes_fields[]; /* of struct sizes */

#endif
