/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h: the live blocks of one process, by address.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Extendible hashing: a directory of segments, each a small open-addressing table. A segment with
 * 13 of 16 cells taken splits in two, so growth copies one segment at a time: never do an old and a
 * new table of everything exist together. 34 bytes a cell at a load between 13/32 and 13/16 is 42
 * to 84 bytes a live block, and up to 94 with the directory and the unused end of a slab (budget:
 * 100). Segments are not merged when blocks end: the memory of the peak stays.
 *
 * With two million live blocks the table exceeds every cache and the reach of the processor's TLB:
 * a look-up waits for a page walk, then for memory. So the region of 1 KiB in which a block begins
 * selects its segment: neighbours in the program are in one segment, of eight pages. Regions must
 * not be larger: a segment has to hold several full ones, or splits could not part them. The fill
 * counts of all segments are in one array, not in the segments, where each would be one more cache
 * line to wait for.
 *
 * Within a segment a block may be in any of the 15 cells of a group, or, where those are taken, of
 * the next one. Two bytes a cell, apart from the cells, say which: those of a group are compared at
 * once, and they are small enough to stay in a cache, so the one line of cells that matters is
 * known, and fetched, before the block is looked up. A group counts, in the same 32 bytes, the
 * blocks that had to pass it, so a group without any ends the search, and a removal moves no other
 * block. (With linear probing of single cells, one block of four was in another line than the one
 * fetched, and each removal moved 3 others on average. bench/README.md has the figures.)
 *
 * Segments lie in slabs, which are huge pages after the first 128 segments: without those, half a
 * million blocks of random addresses cost a page walk each. Rejected: one table that doubles (128
 * bytes a block while it copies), a tree (4 cache misses instead of 1 or 2); fetching two lines of
 * cells without knowing which one matters (no measurable difference).
 */
#ifndef SHINY_REGISTRY_H
#define SHINY_REGISTRY_H

#include <emmintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/hash.h"
#include "../../base/mem.h"

enum {
	ENTRY_API = 31,              /* enum shiny_api */
	ENTRY_READING_SHIFT = 5,     /* 2 bits: enum shiny_vptr_api of `vtable` */
	ENTRY_READING = 3 << ENTRY_READING_SHIFT,
	ENTRY_REALLOC = 1 << 7,      /* born by a realloc */
	ENTRY_INHERITED = 1 << 8,    /* inherited by a fork */
	ENTRY_SECOND_WORD = 1 << 9,  /* `vtable` was in the second word */
	ENTRY_WATCHED = 1 << 10,      /* its end goes to output->watched_ends */
	ENTRY_DOUBTED = 1 << 11,     /* `vtable` may have been read during its construction */
	ENTRY_GIVEN = 1 << 12,       /* `vtable` is what the program's run time or the
	                              * allocator said of the block */
	ENTRY_LEVEL_SHIFT = 13,      /* 3 bits: level of its sample (the wire's sample_weight.h) */
	/* all that is known of `vtable` */
	ENTRY_OF_VTABLE = ENTRY_READING | ENTRY_SECOND_WORD | ENTRY_DOUBTED | ENTRY_GIVEN,
};

struct entry {
	uint64_t address; /* 0: none; an empty cell has arbitrary contents */
	uint64_t birth;   /* ticks */
	uint64_t size : 48;
	uint64_t flags : 16;
	uint32_t site;   /* index in the process's sites */
	uint32_t vtable; /* session-wide id, 0 none */
};
_Static_assert(sizeof(struct entry) == 32, "the budget counts on it");

/* Copies field by field, for an entry that was just written: a copy of the whole would wait until
 * all of its narrower writes have reached the cache. */
static inline __attribute__((always_inline)) void entry_fill(struct entry *to,
							     const struct entry *from)
{
	to->address = from->address;
	to->birth = from->birth;
	to->size = from->size;
	to->flags = from->flags;
	to->site = from->site;
	to->vtable = from->vtable;
}

enum {
	REGISTRY_REGION_SHIFT = 10,
	REGISTRY_SPAN_SHIFT = 6, /* blocks within 64 bytes share a group */
	REGISTRY_GROUP = 15,
	REGISTRY_GROUPS = 64,
	REGISTRY_CELLS = REGISTRY_GROUPS * REGISTRY_GROUP,
	REGISTRY_SPLIT_AT = REGISTRY_CELLS * 13 / 16,
};
struct cell_group {
	uint16_t tags[REGISTRY_GROUP]; /* hashes of the cells' addresses; 0: the cell is empty */
	uint16_t passed; /* blocks in later groups that had to pass this one */
};
/* No cell crosses a cache line. */
struct cells {
	struct entry entries[REGISTRY_CELLS];
	struct cell_group groups[REGISTRY_GROUPS];
};
_Static_assert(sizeof(struct cells) % 64 == 0, "they stand one behind the other");

struct segment {
	struct cells *cells;
	uint32_t used, depth;
};

struct slab {
	void *pages;
	size_t bytes, used; /* used: in bytes */
};

struct registry {
	uint32_t *directory; /* 1 << depth numbers of segments; a segment of depth d has 2^(depth -
	                      * d) entries */
	unsigned depth;
	size_t count;
	VEC(struct segment) segments;
	VEC(struct slab) slabs; /* the memory of their cells, the latest last */
};

void registry_init(struct registry *registry);
void registry_deinit(struct registry *registry);
/* Adds a block (address not 0). *old: the block that was at the address; its address is 0 if there
 * was none. NULL: no room. */
struct entry *registry_put(struct registry *registry, const struct entry *entry, struct entry *old);
/* Adds a block whose address (not 0) has none. */
struct entry *registry_add(struct registry *registry, const struct entry *entry);
bool registry_remove(struct registry *registry, uint64_t address, struct entry *out);
/* For the inline functions below, if the first group of cells does not decide. */
struct entry *registry_enter_slow(struct registry *registry, uint64_t address, bool *there);
const struct entry *registry_leave_slow(struct registry *registry, uint64_t address);

typedef void registry_each_fn(void *context, const struct entry *entry);
/* `each` must not change the registry */
void registry_each(const struct registry *registry, registry_each_fn *each, void *context);

/* A bijection of regions, of which only the high bits are good and used. */
static inline uint64_t registry_hash(uint64_t address)
{
	return (address >> REGISTRY_REGION_SHIFT) * UINT64_C(0x9fb21c651e98df25);
}

/* The directory takes the high bits of the region's hash. */
static inline struct segment *registry_segment(const struct registry *r, uint64_t hash)
{
	return &r->segments.at[r->directory[r->depth ? (size_t)(hash >> (64 - r->depth)) : 0]];
}

/* The group in which the search for an address begins, and its tag. */
struct registry_place {
	unsigned group;
	uint16_t tag;
};

static inline struct registry_place registry_place(uint64_t address)
{
	uint64_t span = (address >> REGISTRY_SPAN_SHIFT) * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t whole = address * UINT64_C(0xd6e8feb86659fd93);

	return (struct registry_place){ (unsigned)(span >> 58), (uint16_t)(whole >> 48) | 1 };
}
_Static_assert(REGISTRY_GROUPS == 1 << (64 - 58), "groups are all groups");

/* Returns a mask of the group's cells that have the tag. */
static inline unsigned registry_tagged(const struct cells *c, unsigned group, uint16_t tag)
{
	const __m128i *tags = (const __m128i *)&c->groups[group]; /* with `passed`, masked out
	                                                           * below */
	__m128i same = _mm_set1_epi16((short)tag);
	unsigned bits = (unsigned)_mm_movemask_epi8(
		_mm_packs_epi16(_mm_cmpeq_epi16(_mm_load_si128(tags), same),
				_mm_cmpeq_epi16(_mm_load_si128(tags + 1), same)));

	return bits & ((1 << REGISTRY_GROUP) - 1);
}

static inline struct entry *registry_in_group(struct cells *c, unsigned group, unsigned bit)
{
	return &c->entries[(size_t)group * REGISTRY_GROUP + bit];
}

/* NULL: not there. */
static inline struct entry *registry_search(struct cells *c, uint64_t address)
{
	struct registry_place place = registry_place(address);

	for (unsigned n = 0; n < REGISTRY_GROUPS; n++) {
		unsigned group = (place.group + n) % REGISTRY_GROUPS;

		for (unsigned some = registry_tagged(c, group, place.tag); some; some &= some - 1) {
			struct entry *entry =
				registry_in_group(c, group, (unsigned)__builtin_ctz(some));

			if (entry->address == address)
				return entry;
		}
		if (!c->groups[group].passed)
			break;
	}
	return NULL;
}

/* NULL: there is none. Valid until the next change. */
static inline struct entry *registry_find(const struct registry *r, uint64_t address)
{
	return registry_search(registry_segment(r, registry_hash(address))->cells, address);
}

/*
 * Returns the block that contains `address`, and begins at it or a multiple of 16 bytes below it,
 * at most `most`; NULL: there is none. It looks at each such place: call it for rare events.
 */
static inline struct entry *registry_containing(const struct registry *r, uint64_t address,
						uint64_t most)
{
	for (uint64_t back = 0; back <= most && back < address; back += 16) {
		struct entry *entry = registry_find(r, address - back);

		if (entry)
			return back < entry->size ? entry : NULL;
	}
	return NULL;
}

/*
 * Returns the cell for a block at `address` (not 0), which the caller must fill at once. `*there`:
 * the cell holds the block that was at the address. NULL: no room.
 */
static inline __attribute__((always_inline)) struct entry *
registry_enter(struct registry *r, uint64_t address, bool *there)
{
	struct segment *s = registry_segment(r, registry_hash(address));
	struct registry_place place = registry_place(address);
	struct cell_group *group = &s->cells->groups[place.group];
	unsigned some = registry_tagged(s->cells, place.group, 0);

	if (__builtin_expect(group->passed || !some || s->used >= REGISTRY_SPLIT_AT ||
				     registry_tagged(s->cells, place.group, place.tag),
			     0))
		return registry_enter_slow(r, address, there);
	some = (unsigned)__builtin_ctz(some);
	group->tags[some] = place.tag;
	s->used++;
	r->count++;
	*there = false;
	return registry_in_group(s->cells, place.group, some);
}

/* Removes the block at `address` and returns it; valid until the next change. NULL: there is
 * none. */
static inline __attribute__((always_inline)) const struct entry *
registry_leave(struct registry *r, uint64_t address)
{
	struct segment *s = registry_segment(r, registry_hash(address));
	struct registry_place place = registry_place(address);
	unsigned some = registry_tagged(s->cells, place.group, place.tag);
	struct entry *entry;

	if (__builtin_expect(!some, 0))
		return registry_leave_slow(r, address);
	some = (unsigned)__builtin_ctz(some);
	entry = registry_in_group(s->cells, place.group, some);
	if (__builtin_expect(entry->address != address, 0))
		return registry_leave_slow(r, address);
	s->cells->groups[place.group].tags[some] = 0;
	s->used--;
	r->count--;
	return entry;
}

/*
 * Prefetch in two steps: the tags of the address's group, and, when these have arrived, the line of
 * the cell that has the block, or will have it. With a busy heap they are in no cache, and waiting
 * for them was a fifth of the sidecar's time. Always inlined: gcc 12 considers a function that only
 * prefetches to be without effect, and removes calls of it.
 */
static inline __attribute__((always_inline)) void
registry_prefetch_tags(const struct registry *r, uint64_t address)
{
	const struct cells *c = registry_segment(r, registry_hash(address))->cells;

	__builtin_prefetch(&c->groups[registry_place(address).group], 1);
}

static inline __attribute__((always_inline)) void registry_prefetch(const struct registry *r,
								    uint64_t address)
{
	struct cells *c = registry_segment(r, registry_hash(address))->cells;
	struct registry_place place = registry_place(address);
	unsigned some = registry_tagged(c, place.group, place.tag);

	if (!some)
		some = registry_tagged(c, place.group, 0);
	if (some)
		__builtin_prefetch(
			registry_in_group(c, place.group, (unsigned)__builtin_ctz(some)), 1);
}

#endif
