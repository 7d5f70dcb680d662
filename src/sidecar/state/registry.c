/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c: see registry.h. */
#include "registry.h"

#include <stdlib.h>
#include <string.h>

enum { CELLS = REGISTRY_CELLS, SPLIT_AT = CELLS / 4 * 3, DEPTH_MAX = 40, SPARSE = 32 };
/* a huge page for fewer would be over the budget */
enum { CELL_BYTES = CELLS * sizeof(struct entry), FEW = 128, SMALL_SLAB = 4 };

/* Index in the directory. */
static size_t directory_index(const struct registry *r, uint64_t hash)
{
	return r->depth ? (size_t)(hash >> (64 - r->depth)) : 0;
}

/* An empty segment's number. */
static uint32_t segment_new(struct registry *r, uint32_t depth)
{
	struct slab *slab = r->slabs.count ? &r->slabs.at[r->slabs.count - 1] : NULL;

	if (!slab || slab->used == slab->bytes) {
		size_t bytes = r->segments.count < FEW ? SMALL_SLAB * (size_t)CELL_BYTES
						       : (size_t)MEM_HUGE;

		slab = vec_push(&r->slabs);
		*slab = (struct slab){ mem_pages(bytes), bytes, 0 };
	}
	*vec_push(&r->segments) = (struct segment){
		(struct entry *)((char *)slab->pages + slab->used), 0, depth
	};
	slab->used += CELL_BYTES;
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
	span = (size_t)1 << (r->depth - old->depth); /* numbers that each half now has */
	first = index / (2 * span) * (2 * span);
	for (size_t i = 0; i < span; i++)
		r->directory[first + span + i] = one;
	/* Rebuild the old half from a copy of its cells: linear probing leaves no cheaper way to
	 * take half of them out. */
	{
		struct entry copy[CELLS];

		memcpy(copy, old->cells, sizeof(copy));
		memset(old->cells, 0, sizeof(copy));
		old->used = 0;
		for (size_t i = 0; i < CELLS; i++) {
			struct segment *to;

			if (!copy[i].address)
				continue;
			to = registry_segment(r, registry_hash(copy[i].address));
			*registry_cell(to, copy[i].address) = copy[i];
			to->used++;
		}
	}
}

/* Makes room for one more in the segment of `hash`; NULL: there is none. */
static __attribute__((noinline, cold)) struct segment *make_room(struct registry *r, uint64_t hash)
{
	struct segment *s;

	/* The hash is a bijection: two regions do not share the high bits for ever. The bounds are
	 * for a hostile choice of addresses. */
	while ((s = registry_segment(r, hash))->used >= SPLIT_AT) {
		if (s->depth >= DEPTH_MAX ||
		    (s->depth == r->depth &&
		     (size_t)1 << r->depth >= SPARSE * (r->segments.count + SPARSE)))
			/* a crowd at one place: fill the segment further rather than double a
			 * directory that says next to nothing */
			return s->used < CELLS - 1 ? s : NULL;
		split(r, hash);
	}
	return s;
}

struct entry *registry_put(struct registry *r, const struct entry *entry, struct entry *old)
{
	uint64_t hash = registry_hash(entry->address);
	struct segment *s = registry_segment(r, hash);
	struct entry *cell = registry_cell(s, entry->address);

	old->address = 0;
	if (cell->address) {
		*old = *cell;
	} else {
		if (s->used >= SPLIT_AT) {
			s = make_room(r, hash);
			if (!s)
				return NULL;
			cell = registry_cell(s, entry->address);
		}
		s->used++;
		r->count++;
	}
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
	struct segment *s = registry_segment(r, registry_hash(address));
	struct entry *cell = registry_cell(s, address);

	if (!address || !cell->address)
		return false;
	*out = *cell;
	hash_take_out(s->cells, CELLS - 1, cell, address, other, registry_home(other->address));
	s->used--;
	r->count--;
	return true;
}

size_t registry_bytes(const struct registry *r)
{
	size_t bytes = ((size_t)1 << r->depth) * sizeof(*r->directory) +
		       r->segments.room * sizeof(*r->segments.at);

	for (size_t i = 0; i < r->slabs.count; i++)
		bytes += r->slabs.at[i].bytes;
	return bytes;
}

void registry_each(const struct registry *r, registry_each_fn *each, void *context)
{
	for (size_t i = 0; i < r->segments.count; i++)
		for (size_t k = 0; k < CELLS; k++)
			if (r->segments.at[i].cells[k].address)
				each(context, &r->segments.at[i].cells[k]);
}
