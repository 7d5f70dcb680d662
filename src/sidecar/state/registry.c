/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c: see registry.h. */
#include "registry.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 40, SPARSE = 32 };
/* with fewer segments, huge pages would exceed the budget */
enum { FEW = 128, SMALL_SLAB = 4 };

/* Index in the directory. */
static size_t directory_index(const struct registry *r, uint64_t hash)
{
	return r->depth ? (size_t)(hash >> (64 - r->depth)) : 0;
}

/* Adds an empty segment; returns its number. */
static uint32_t segment_new(struct registry *r, uint32_t depth)
{
	struct slab *slab = r->slabs.count ? &r->slabs.at[r->slabs.count - 1] : NULL;

	if (!slab || slab->bytes - slab->used < sizeof(struct cells)) {
		size_t bytes = r->segments.count < FEW ? SMALL_SLAB * sizeof(struct cells)
						       : (size_t)MEM_HUGE;

		slab = vec_push(&r->slabs);
		*slab = (struct slab){ mem_pages(bytes), bytes, 0 };
	}
	*vec_push(&r->segments) = (struct segment){
		(struct cells *)((char *)slab->pages + slab->used), 0, depth
	};
	slab->used += sizeof(struct cells);
	return (uint32_t)(r->segments.count - 1);
}

void registry_init(struct registry *r)
{
	*r = (struct registry){ 0 };
	r->directory = mem_zero(1, sizeof(*r->directory));
	r->directory[0] = segment_new(r, 0);
}

void registry_deinit(struct registry *r)
{
	for (size_t i = 0; i < r->slabs.count; i++)
		mem_pages_free(r->slabs.at[i].pages, r->slabs.at[i].bytes);
	free(r->slabs.at);
	free(r->segments.at);
	free(r->directory);
	*r = (struct registry){ 0 };
}

/* Takes a cell for an address that is not in the segment, which has room. */
static inline struct entry *take_cell(struct segment *s, uint64_t address)
{
	struct registry_place place = registry_place(address);
	struct cells *c = s->cells;
	unsigned group = place.group, some;

	while (!(some = registry_tagged(c, group, 0))) {
		c->groups[group].passed++;
		group = (group + 1) % REGISTRY_GROUPS;
	}
	some = (unsigned)__builtin_ctz(some);
	c->groups[group].tags[some] = place.tag;
	s->used++;
	return registry_in_group(c, group, some);
}

static inline void leave_cell(struct segment *s, const struct entry *entry)
{
	struct cells *c = s->cells;
	size_t cell = (size_t)(entry - c->entries);

	for (unsigned group = registry_place(entry->address).group; group != cell / REGISTRY_GROUP;
	     group = (group + 1) % REGISTRY_GROUPS)
		c->groups[group].passed--;
	c->groups[cell / REGISTRY_GROUP].tags[cell % REGISTRY_GROUP] = 0;
	s->used--;
}

static void split(struct registry *r, uint64_t hash)
{
	size_t index = directory_index(r, hash), size, first, span;
	uint32_t number = r->directory[index], one;
	struct segment *old;

	if (r->segments.at[number].depth == r->depth) {
		size = (size_t)1 << r->depth;
		r->directory = mem_resize(r->directory, size * 2, sizeof(*r->directory));
		for (size_t i = size; i-- > 0;)
			r->directory[2 * i] = r->directory[2 * i + 1] = r->directory[i];
		r->depth++;
		index = directory_index(r, hash);
	}
	one = segment_new(r, r->segments.at[number].depth + 1);
	old = &r->segments.at[number];
	old->depth++;
	span = (size_t)1 << (r->depth - old->depth); /* directory entries of each half */
	first = index / (2 * span) * (2 * span);
	for (size_t i = 0; i < span; i++)
		r->directory[first + span + i] = one;
	for (unsigned group = 0; group < REGISTRY_GROUPS; group++)
		for (unsigned i = 0; i < REGISTRY_GROUP; i++) {
			struct entry *entry = registry_in_group(old->cells, group, i);
			struct segment *to = &r->segments.at[one];

			if (!old->cells->groups[group].tags[i] ||
			    registry_segment(r, registry_hash(entry->address)) != to)
				continue;
			*take_cell(to, entry->address) = *entry;
			leave_cell(old, entry);
		}
}

/* Makes room for one more in the segment of `hash`; NULL: impossible. */
static __attribute__((noinline, cold)) struct segment *make_room(struct registry *r, uint64_t hash)
{
	struct segment *s;

	/* The hash is a bijection: two regions cannot share all high bits. The bounds are for a
	 * hostile choice of addresses. */
	while ((s = registry_segment(r, hash))->used >= REGISTRY_SPLIT_AT) {
		if (s->depth >= DEPTH_MAX ||
		    (s->depth == r->depth &&
		     (size_t)1 << r->depth >= SPARSE * (r->segments.count + SPARSE)))
			/* many blocks in one place: fill the segment further rather than double a
			 * sparse directory */
			return s->used < REGISTRY_CELLS - 1 ? s : NULL;
		split(r, hash);
	}
	return s;
}

struct entry *registry_enter_slow(struct registry *r, uint64_t address, bool *there)
{
	uint64_t hash = registry_hash(address);
	struct segment *s = registry_segment(r, hash);
	struct entry *cell = registry_search(s->cells, address);

	*there = cell;
	if (cell)
		return cell;
	if (s->used >= REGISTRY_SPLIT_AT) {
		s = make_room(r, hash);
		if (!s)
			return NULL;
	}
	r->count++;
	return take_cell(s, address);
}

const struct entry *registry_leave_slow(struct registry *r, uint64_t address)
{
	struct segment *s = registry_segment(r, registry_hash(address));
	struct entry *cell = registry_search(s->cells, address);

	if (!cell)
		return NULL;
	leave_cell(s, cell);
	r->count--;
	return cell;
}

struct entry *registry_put(struct registry *r, const struct entry *entry, struct entry *old)
{
	bool there;
	struct entry *cell = registry_enter(r, entry->address, &there);

	old->address = 0;
	if (!cell)
		return NULL;
	if (there)
		*old = *cell;
	*cell = *entry;
	return cell;
}

struct entry *registry_add(struct registry *r, const struct entry *entry)
{
	struct entry old;

	return registry_put(r, entry, &old);
}

bool registry_remove(struct registry *r, uint64_t address, struct entry *out)
{
	const struct entry *entry = registry_leave(r, address);

	if (entry)
		*out = *entry;
	return entry;
}

void registry_each(const struct registry *r, registry_each_fn *each, void *context)
{
	for (size_t i = 0; i < r->segments.count; i++) {
		struct cells *c = r->segments.at[i].cells;

		for (unsigned group = 0; group < REGISTRY_GROUPS; group++)
			for (unsigned k = 0; k < REGISTRY_GROUP; k++)
				if (c->groups[group].tags[k])
					each(context, registry_in_group(c, group, k));
	}
}
