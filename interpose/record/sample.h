/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.h: SHINY_SAMPLE: decides which blocks are recorded, and knows them until they end.
 *
 * Runs:      inside.
 * Signals:   safe: an interrupted decision draws another distance, and is as random as before.
 * Allocates: one region at boot, by mmap (65 MiB of addresses), touched as used.
 * Threads:   any. Each has its own distance to the next point (sample.h of the wire).
 *
 * A block that is not drawn costs a subtraction and a branch. Its end costs a look at one line of a
 * table of the drawn ones. The table has three levels, each 64 times as large as the one before.
 * An entry is in the first level whose line has room; a line counts the entries that it passed
 * on, so that a search ends at the first line without any. All words change by compare-and-swap or
 * atomic addition, and an address has one owner at a time, who enters it after the real allocation
 * and takes it out before the real free, so no locks are needed. A forked child has a copy, as it
 * has copies of the blocks.
 *
 * An entry that ends unseen (its pool was reset, its arena given back) stays until the address is
 * drawn again, or freed: then the record names a block that the sidecar has ended already. Those of
 * pools are dropped where an entry finds no room. A block that finds none then is not recorded, and
 * counted.
 */
#ifndef SI_SAMPLE_H
#define SI_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

#include "../core/base.h"

/* Mean distance of the points at level 0, bytes; 0: every block is recorded. Set at boot. */
SI_INTERNAL uint64_t si_sample_mean;

/* A thread's points. Zeroed: it has none yet. */
struct si_sample {
	int64_t left;  /* bytes up to the next point or to the next look, less 1 */
	uint64_t more; /* bytes from that look to the point */
	uint64_t seed; /* 0: no point was drawn yet */
	uint64_t last;    /* key of the block drawn last; 0: none */
	size_t last_bytes;
	bool young;       /* its vptr is to be read at the next look */
	uint8_t level;    /* of its points (the wire's sample_weight.h) */
	uint8_t move;     /* enum si_sample_move of the realloc that was begun last */
	uint64_t moving;  /* key of its old block */
};
SI_INTERNAL __thread struct si_sample si_sample __attribute__((tls_model("initial-exec")));

/* Maps the table and starts to sample; false: there is no memory. Called in boot. */
bool si_sample_make(uint64_t mean, struct shiny_header *header);

/* A realloc ends a block that may be in the sample, and begins one that is drawn anew. */
enum si_sample_move { SI_MOVE_UNSEEN = 0, SI_MOVE_ENDS = 1, SI_MOVE_BEGINS = 2, SI_MOVE_STAYS = 3 };

SI_COLD bool si_sample_drawn(const void *block, size_t size, enum shiny_api api);
SI_COLD bool si_sample_find_slow(uint64_t key, bool take);
SI_COLD enum si_sample_move si_sample_move_slow(const void *block, size_t size, enum shiny_api api);
SI_COLD enum si_sample_move si_sample_moved_slow(const void *block, size_t size);

/* Counts the bytes of a new block; true: it is to be recorded. */
static inline __attribute__((always_inline)) bool si_sample_birth(const void *block, size_t size,
								  enum shiny_api api)
{
	if (SI_LIKELY(!si_sample_mean))
		return true;
	si_sample.left -= (int64_t)(size + !size);
	return SI_UNLIKELY(si_sample.left < 0) && si_sample_drawn(block, size, api);
}

/* The lines of the first level, which those of the others follow. */
enum { SI_SAMPLED_LANES = 7, SI_SAMPLED_BITS = 8, SI_SAMPLED_API_SHIFT = 58 };
struct si_sampled_line {
	_Alignas(64) uint64_t at[SI_SAMPLED_LANES]; /* keys; 0: none */
	uint64_t passed; /* entries of later levels that found no room in this line */
};
SI_INTERNAL struct si_sampled_line *si_sampled;

/* Heaps beside malloc may have a block at an address of malloc's. */
static inline uint64_t si_sampled_key(const void *block, enum shiny_api api)
{
	return (uintptr_t)block |
	       (uint64_t)(api >= SHINY_API_COLLECTED ? api : 0) << SI_SAMPLED_API_SHIFT;
}

static inline uint64_t si_sampled_hash(uint64_t key)
{
	return (key >> 3) * UINT64_C(0x9e3779b97f4a7c15);
}

/* True if the key has an entry, which `take` removes. */
static inline __attribute__((always_inline)) bool si_sample_find(uint64_t key, bool take)
{
	const struct si_sampled_line *line =
		&si_sampled[si_sampled_hash(key) >> (64 - SI_SAMPLED_BITS)];
	bool any = __atomic_load_n(&line->passed, __ATOMIC_RELAXED);

#pragma GCC unroll 7
	for (unsigned i = 0; i < SI_SAMPLED_LANES; i++)
		any |= __atomic_load_n(&line->at[i], __ATOMIC_RELAXED) == key;
	return SI_UNLIKELY(any) && si_sample_find_slow(key, take);
}

/* Forgets a block that is about to end; true: it is recorded. */
static inline __attribute__((always_inline)) bool si_sample_end(const void *block,
								enum shiny_api api)
{
	return SI_LIKELY(!si_sample_mean) || si_sample_find(si_sampled_key(block, api), true);
}

/* Call before a realloc of `block` to `size` bytes. */
static inline enum si_sample_move si_sample_move(const void *block, size_t size,
						 enum shiny_api api)
{
	return SI_LIKELY(!si_sample_mean) ? SI_MOVE_STAYS : si_sample_move_slow(block, size, api);
}

/* Call after it; returns the same. */
static inline enum si_sample_move si_sample_moved(const void *block, size_t size)
{
	return SI_LIKELY(!si_sample_mean) ? SI_MOVE_STAYS : si_sample_moved_slow(block, size);
}

/* Call instead if it failed: the old block is as it was. */
void si_sample_not_moved(void);

/* True if an object of a recorded block, the block that this thread allocated last or one that
 * begins at it, is at `object`. */
bool si_sample_has_object(const void *object);

/* ---- garbage-collected objects ---- */

/* Forgets an object; true: it was recorded. */
bool si_sample_end_object(const void *object);
/* Forgets those in a range; true: there were some. */
bool si_sample_sweep(const void *address, size_t bytes);
/* Knows an object at another address; true: it is recorded. */
bool si_sample_move_object(const void *from, const void *to);

/* Forgets all blocks of a heap. */
void si_sample_drop(enum shiny_api api);

#endif
