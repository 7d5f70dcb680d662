/* SPDX-License-Identifier: Apache-2.0 */
/* space.c: see space.h. */
#include "space.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/lower_bound.h"

static void drop_caches(struct space *space)
{
	free(space->frames);
	free(space->vtables);
	space->frames = space->vtables = NULL;
	space->changes++;
}

void space_deinit(struct space *space)
{
	drop_caches(space);
	free(space->live.at);
	free(space->past.at);
	*space = (struct space){ .changes = space->changes };
}

void space_clone(struct space *space, const struct space *parent, uint64_t time)
{
	for (size_t i = 0; i < parent->live.count; i++) {
		struct mapping *m = vec_push(&space->live);

		*m = parent->live.at[i];
		m->loaded = time;
	}
}

/* Returns the index of the first live mapping that ends behind `address`. */
static size_t first_behind(const struct space *space, uint64_t address)
{
	return lower_bound(space->live.count, i, space->live.at[i].end <= address);
}

void space_remove(struct space *space, uint64_t start, uint64_t end, uint64_t time)
{
	size_t first = first_behind(space, start), last = first;

	for (; last < space->live.count && space->live.at[last].start < end; last++) {
		struct mapping *m = vec_push(&space->past);

		*m = space->live.at[last];
		m->unloaded = time ? time : 1;
	}
	if (last == first)
		return;
	memmove(&space->live.at[first], &space->live.at[last],
		(space->live.count - last) * sizeof(*space->live.at));
	space->live.count -= last - first;
	drop_caches(space);
}

void space_add(struct space *space, const struct mapping *mapping)
{
	const struct mapping *there = space_find(space, mapping->start);
	size_t at;

	if (there && there->start == mapping->start && there->end == mapping->end &&
	    there->module == mapping->module)
		return;
	space_remove(space, mapping->start, mapping->end, mapping->loaded);
	at = first_behind(space, mapping->start);
	(void)vec_push(&space->live);
	memmove(&space->live.at[at + 1], &space->live.at[at],
		(space->live.count - 1 - at) * sizeof(*space->live.at));
	space->live.at[at] = *mapping;
	drop_caches(space);
}

const struct mapping *space_find(const struct space *space, uint64_t address)
{
	size_t i = first_behind(space, address);

	return i < space->live.count && space->live.at[i].start <= address ? &space->live.at[i]
									   : NULL;
}

static struct space_hit *hit_of(struct space_hit **cache, uint64_t address)
{
	if (!*cache)
		*cache = mem_zero(SPACE_CACHE, sizeof(**cache));
	return &(*cache)[hash_mix(address) & (SPACE_CACHE - 1)];
}

uint32_t space_frame(struct space *space, struct ids *ids, uint64_t address)
{
	struct space_hit *hit = hit_of(&space->frames, address);

	if (hit->address != address || !hit->id) {
		/* A return address behind a call that never returns may be one past its module:
		 * look the call up. */
		const struct mapping *m = space_find(space, address - 1);

		hit->address = address;
		hit->id = m ? ids_frame(ids, m->module, address - m->bias)
			    : ids_frame(ids, 0, address);
	}
	return hit->id;
}

uint32_t space_vtable(struct space *space, struct ids *ids, uint64_t address)
{
	struct space_hit *hit = hit_of(&space->vtables, address);

	if (hit->address != address) {
		const struct mapping *m = space_find(space, address);

		hit->address = address;
		hit->id = m ? ids_vtable(ids, m->module, address - m->bias, false) : 0;
	}
	return hit->id;
}
