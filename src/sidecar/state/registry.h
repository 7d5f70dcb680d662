/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h: the live blocks of one process: address → what is known about the block.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Extendible hashing: a directory of segments, each a small open-addressing table with linear
 * probing and backward-shift deletion. A segment that is three quarters full splits in two, so
 * growth copies one segment at a time: there is no moment at which an old and a new table of
 * everything stand side by side. 32 bytes a block at a load between 3/8 and 3/4 is 43 to 86 bytes a
 * live block at any time, the directory included (budget: 100). Segments are not merged when blocks
 * go: the peak was paid already.
 *
 * Of two million live blocks the table is larger than any cache, and than what the processor's TLB
 * reaches: a look-up waits for a page walk, then for memory. But blocks come and go in a row:
 * allocators hand out neighbours, garbage is swept page by page. So the region of 1 KiB that a
 * block begins in says in which segment it is, and its address in which cell: what is near in the
 * program is in one segment, of eight pages, and two neighbours are in one cache line. Regions must
 * not be larger: a segment has to hold several full ones, or no number of splits would part them.
 * How full a segment is stands with all the others' fill, not in the segment, where it would be one
 * more line to wait for. (Of 13 million records of Chromium's, `shinyctl collect` took 5.6 to 5.9 s
 * of processor time with a hash of the whole address, and 4.4 to 4.8 so.)
 *
 * Segments lie in slabs, after the first 128 of huge pages: without those, half a million blocks of
 * random addresses cost a page walk each. Rejected: one table that doubles (128 bytes a block while
 * it copies), a tree (4 cache misses instead of 1 or 2); fetching ahead what a swept page holds (no
 * difference that could be measured).
 */
#ifndef SHINY_REGISTRY_H
#define SHINY_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/hash.h"
#include "../../base/mem.h"

enum {
	ENTRY_API = 15,              /* enum shiny_api */
	ENTRY_READING_SHIFT = 4,     /* 2 bits: enum shiny_vptr_api of `vtable` */
	ENTRY_READING = 3 << ENTRY_READING_SHIFT,
	ENTRY_REALLOC = 1 << 6,      /* it began by a realloc */
	ENTRY_INHERITED = 1 << 7,    /* it came along in a fork */
	ENTRY_SECOND_WORD = 1 << 8,  /* `vtable` was in the second word */
	ENTRY_WATCHED = 1 << 9,      /* its end goes to session->watched_ends */
};

struct entry {
	uint64_t address; /* 0: the cell is empty */
	uint64_t birth;   /* ticks */
	uint64_t size : 48;
	uint64_t flags : 16;
	uint32_t site;   /* index in the process's sites */
	uint32_t vtable; /* session-wide id, 0 none */
};
_Static_assert(sizeof(struct entry) == 32, "the budget counts on it");

enum {
	REGISTRY_CELLS = 1024,
	REGISTRY_REGION_SHIFT = 10,
	REGISTRY_PAIR_SHIFT = 6,
	REGISTRY_BLOCK_SHIFT = 5
};
struct segment {
	struct entry *cells; /* REGISTRY_CELLS; none lies across two cache lines */
	uint32_t used, depth;
};

struct slab {
	void *pages;
	size_t bytes, used; /* used: in bytes */
};

struct registry {
	uint32_t *directory; /* 1 << depth numbers of segments; one of local depth d stands in
	                      * 2^(depth - d) of them */
	unsigned depth;
	size_t count;
	VEC(struct segment) segments;
	VEC(struct slab) slabs; /* the memory of their cells, the latest last */
};

void registry_init(struct registry *registry);
void registry_deinit(struct registry *registry);
/* Adds a block (address not 0). The one that was there goes to `*old`, whose address is 0 if there
 * was none. NULL: no room. */
struct entry *registry_put(struct registry *registry, const struct entry *entry, struct entry *old);
/* Adds a block that is not there (address not 0). */
struct entry *registry_add(struct registry *registry, const struct entry *entry);
bool registry_remove(struct registry *registry, uint64_t address, struct entry *out);
size_t registry_bytes(const struct registry *registry);

typedef void registry_each_fn(void *context, const struct entry *entry);
/* no changes meanwhile */
void registry_each(const struct registry *registry, registry_each_fn *each, void *context);

static inline uint64_t registry_hash(uint64_t address)
{
	return hash_mix(address >> REGISTRY_REGION_SHIFT);
}

/* The directory takes the high bits of the region's hash. */
static inline struct segment *registry_segment(const struct registry *r, uint64_t hash)
{
	return &r->segments.at[r->directory[r->depth ? (size_t)(hash >> (64 - r->depth)) : 0]];
}

/* The cell where an address would like to be. */
static inline size_t registry_home(uint64_t address)
{
	return (address >> REGISTRY_PAIR_SHIFT) * UINT64_C(0x9e3779b97f4a7c15) >> 55 << 1 |
	       (address >> REGISTRY_BLOCK_SHIFT & 1);
}
_Static_assert(REGISTRY_CELLS == 1 << (64 - 55 + 1), "homes are all cells");

/* The cell of the address, or the empty one where it would be. A segment always has an empty
 * cell. */
static inline struct entry *registry_cell(const struct segment *s, uint64_t address)
{
	size_t i = registry_home(address);

	while (s->cells[i].address && s->cells[i].address != address)
		i = (i + 1) & (REGISTRY_CELLS - 1);
	return &s->cells[i];
}

/* NULL: not there. Valid until the next change. */
static inline struct entry *registry_find(const struct registry *r, uint64_t address)
{
	struct entry *cell = registry_cell(registry_segment(r, registry_hash(address)), address);

	return address && cell->address ? cell : NULL;
}

/*
 * Brings the cell's cache line: of a busy heap it is in no cache, and waiting for it was a fifth of
 * all the sidecar's time. Inlined always: gcc 12 finds a function that only prefetches without
 * effect, and removes the calls of it that are left.
 */
static inline __attribute__((always_inline)) void registry_prefetch(const struct registry *r,
								    uint64_t address)
{
	__builtin_prefetch(
		&registry_segment(r, registry_hash(address))->cells[registry_home(address)], 1);
}

#endif
