/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c: see registry.h. */
#include "registry.h"

#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"

enum { CELLS = REGISTRY_CELLS, SPLIT_AT = CELLS / 4 * 3, DEPTH_MAX = 40 };

/* Index in the directory. */
static size_t directory_index(const struct registry *r, uint64_t hash)
{
	return r->depth ? (size_t)(hash >> (64 - r->depth)) : 0;
}

struct slab {
	struct slab *next;
	size_t bytes, used; /* used: in segments */
	_Alignas(64) struct segment segments[];
};
enum { FEW = 128, SMALL_SLAB = 4 }; /* a huge page for fewer would be over the budget */

static struct segment *segment_new(struct registry *r, uint32_t depth)
{
	struct slab *slab = r->slabs;
	struct segment *s;

	if (!slab || sizeof *slab + (slab->used + 1) * sizeof *s > slab->bytes) {
		size_t bytes = r->segments < FEW ? sizeof *slab + SMALL_SLAB * sizeof *s : (size_t)MEM_HUGE;

		slab = mem_pages(bytes);
		slab->bytes = bytes;
		slab->next = r->slabs;
		r->slabs = slab;
	}
	s = &slab->segments[slab->used++];
	s->depth = depth;
	r->segments++;
	return s;
}

void registry_init(struct registry *r)
{
	*r = (struct registry){ 0 };
	r->directory = mem_zero(1, sizeof *r->directory);
	r->directory[0] = segment_new(r, 0);
}

void registry_deinit(struct registry *r)
{
	struct slab *next;

	for (struct slab *slab = r->slabs; slab; slab = next) {
		next = slab->next;
		mem_pages_free(slab, slab->bytes);
	}
	free(r->directory);
	*r = (struct registry){ 0 };
}

static void split(struct registry *r, uint64_t hash)
{
	size_t index = directory_index(r, hash), size, first, span;
	struct segment *old = r->directory[index], *one;

	if (old->depth == r->depth) {
		size = (size_t)1 << r->depth;
		r->directory = mem_resize(r->directory, size * 2, sizeof *r->directory);
		for (size_t i = size; i-- > 0;)
			r->directory[2 * i] = r->directory[2 * i + 1] = r->directory[i];
		r->depth++;
		index = directory_index(r, hash);
	}
	old->depth++;
	one = segment_new(r, old->depth);
	span = (size_t)1 << (r->depth - old->depth); /* pointers that each half now has */
	first = index / (2 * span) * (2 * span);
	for (size_t i = 0; i < span; i++)
		r->directory[first + span + i] = one;
	/* Rebuild the old half from a copy of its cells: linear probing leaves no cheaper way to take half of them out. */
	{
		struct entry copy[CELLS];

		memcpy(copy, old->cells, sizeof copy);
		memset(old->cells, 0, sizeof old->cells);
		old->used = 0;
		for (size_t i = 0; i < CELLS; i++) {
			uint64_t h;
			struct segment *to;

			if (!copy[i].address)
				continue;
			h = hash_mix(copy[i].address);
			to = r->directory[directory_index(r, h)];
			*registry_cell(to, h, copy[i].address) = copy[i];
			to->used++;
		}
	}
}

/* Makes room for one more in the segment of `hash`; NULL: there is none. */
static __attribute__((noinline, cold)) struct segment *make_room(struct registry *r, uint64_t hash)
{
	struct segment *s;

	/* hash_mix is a bijection: 768 addresses cannot share the high bits for ever. The bound is for a hostile choice of addresses. */
	while ((s = registry_segment(r, hash))->used >= SPLIT_AT) {
		if (s->depth >= DEPTH_MAX || (s->depth == r->depth && r->depth >= 24))
			/* a crowd at one place: fill the segment further rather than double a directory of 128 MiB */
			return s->used < CELLS - 1 ? s : NULL;
		split(r, hash);
	}
	return s;
}

struct entry *registry_put(struct registry *r, const struct entry *entry, struct entry *old)
{
	uint64_t hash = hash_mix(entry->address);
	struct segment *s = registry_segment(r, hash);
	struct entry *cell = registry_cell(s, hash, entry->address);

	old->address = 0;
	if (cell->address) {
		*old = *cell;
	} else {
		if (s->used >= SPLIT_AT) {
			s = make_room(r, hash);
			if (!s)
				return NULL;
			cell = registry_cell(s, hash, entry->address);
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
	uint64_t hash = hash_mix(address);
	struct segment *s = r->directory[directory_index(r, hash)];
	struct entry *cell = registry_cell(s, hash, address);

	if (!address || !cell->address)
		return false;
	*out = *cell;
	hash_take_out(s->cells, CELLS - 1, cell, address, other, hash_mix(other->address) & (CELLS - 1));
	s->used--;
	r->count--;
	return true;
}

size_t registry_bytes(const struct registry *r)
{
	size_t slabs = 0;

	for (const struct slab *slab = r->slabs; slab; slab = slab->next)
		slabs += slab->bytes;
	return slabs + ((size_t)1 << r->depth) * sizeof *r->directory;
}

/* Each segment once: where the run of equal pointers begins. */
static bool stands_first(const struct registry *r, size_t i)
{
	return i == 0 || r->directory[i] != r->directory[i - 1];
}

void registry_each(const struct registry *r, registry_each_fn *each, void *context)
{
	size_t size = (size_t)1 << r->depth;

	for (size_t i = 0; i < size; i++)
		if (stands_first(r, i))
			for (size_t k = 0; k < CELLS; k++)
				if (r->directory[i]->cells[k].address)
					each(context, &r->directory[i]->cells[k]);
}
