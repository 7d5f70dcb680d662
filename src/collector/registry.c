/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c: see registry.h. */
#include "registry.h"

#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/mem.h"

enum { CELLS = 1024, SPLIT_AT = CELLS / 4 * 3, DEPTH_MAX = 40 };

struct segment {
	uint32_t used, depth;
	uint64_t reserved;
	struct entry cells[CELLS];
};

/* The directory takes the hash's high bits, the cell its low bits. */
static size_t directory_index(const struct registry *r, uint64_t hash)
{
	return r->depth ? (size_t)(hash >> (64 - r->depth)) : 0;
}

static struct segment *segment_new(struct registry *r, uint32_t depth)
{
	struct segment *s = mem_zero(1, sizeof *s);

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

/* Each segment once: where the run of equal pointers begins. */
static bool stands_first(const struct registry *r, size_t i)
{
	return i == 0 || r->directory[i] != r->directory[i - 1];
}

void registry_deinit(struct registry *r)
{
	size_t size = (size_t)1 << r->depth;

	if (!r->directory)
		return;
	for (size_t i = size; i-- > 0;)
		if (stands_first(r, i))
			free(r->directory[i]);
	free(r->directory);
	*r = (struct registry){ 0 };
}

static struct entry *cell_for(struct segment *s, uint64_t hash, uint64_t address)
{
	size_t i = hash & (CELLS - 1);

	while (s->cells[i].address && s->cells[i].address != address)
		i = (i + 1) & (CELLS - 1);
	return &s->cells[i];
}

struct entry *registry_find(const struct registry *r, uint64_t address)
{
	uint64_t hash = hash_mix(address);
	struct entry *cell = cell_for(r->directory[directory_index(r, hash)], hash, address);

	return address && cell->address ? cell : NULL;
}

void registry_prefetch(const struct registry *r, uint64_t address)
{
	uint64_t hash = hash_mix(address);

	__builtin_prefetch(&r->directory[directory_index(r, hash)]->cells[hash & (CELLS - 1)], 1);
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
			*cell_for(to, h, copy[i].address) = copy[i];
			to->used++;
		}
	}
}

struct entry *registry_add(struct registry *r, const struct entry *entry)
{
	uint64_t hash = hash_mix(entry->address);
	struct segment *s;
	struct entry *cell;

	/* hash_mix is a bijection: 768 addresses cannot share the high bits for ever. The bound is for a hostile choice of addresses. */
	while ((s = r->directory[directory_index(r, hash)])->used >= SPLIT_AT) {
		if (s->depth >= DEPTH_MAX) {
			if (s->used < CELLS - 1)
				break;
			return NULL;
		}
		if (s->depth == r->depth && r->depth >= 24 && s->used < CELLS - 1)
			break; /* a crowd at one place: fill the segment further rather than double a directory of 128 MiB */
		if (s->depth == r->depth && r->depth >= 24)
			return NULL;
		split(r, hash);
	}
	cell = cell_for(s, hash, entry->address);
	*cell = *entry;
	s->used++;
	r->count++;
	return cell;
}

bool registry_remove(struct registry *r, uint64_t address, struct entry *out)
{
	uint64_t hash = hash_mix(address);
	struct segment *s = r->directory[directory_index(r, hash)];
	struct entry *cell = cell_for(s, hash, address);
	size_t hole, i;

	if (!address || !cell->address)
		return false;
	*out = *cell;
	hole = (size_t)(cell - s->cells);
	for (i = (hole + 1) & (CELLS - 1); s->cells[i].address; i = (i + 1) & (CELLS - 1)) {
		size_t home = hash_mix(s->cells[i].address) & (CELLS - 1);

		/* it may move into the hole unless its home lies cyclically in (hole, i] */
		if (((i - home) & (CELLS - 1)) >= ((i - hole) & (CELLS - 1))) {
			s->cells[hole] = s->cells[i];
			hole = i;
		}
	}
	s->cells[hole].address = 0;
	s->used--;
	r->count--;
	return true;
}

size_t registry_bytes(const struct registry *r)
{
	return r->segments * sizeof(struct segment) + ((size_t)1 << r->depth) * sizeof *r->directory;
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
