/* SPDX-License-Identifier: Apache-2.0 */
/* watched_slots.c: see watched_slots.h. */
#include "watched_slots.h"

#include <stdbool.h>

#include "process.h"

static struct watched_slots {
	uintptr_t *at; /* the struct's word behind its context; NULL: none */
	uintptr_t ours[SI_SLOT_FUNCTIONS], real[SI_SLOT_FUNCTIONS], raw, start, end;
	bool replaced; /* and counted */
} watched[SI_SLOTS_WATCHED];

void si_slots_watch(uintptr_t *slots, const uintptr_t *real, uintptr_t raw, uintptr_t start,
		    uintptr_t end)
{
	struct watched_slots *w = watched;

	while (w->at)
		if (++w == watched + SI_SLOTS_WATCHED)
			return;
	*w = (struct watched_slots){ .at = slots + 1, .raw = raw, .start = start, .end = end };
	__builtin_memcpy(w->ours, w->at, sizeof(w->ours));
	__builtin_memcpy(w->real, real, sizeof(w->real));
}

/* Returns the place of the functions of which `first` is the first one: the struct's, or that to
 * which its context leads; NULL: neither. */
static uintptr_t *place_of(const struct watched_slots *w, uintptr_t first)
{
	uintptr_t context = w->at[-1];
	uintptr_t *inner = (uintptr_t *)context;

	if (*w->at == first)
		return w->at;
	if (context % sizeof(context) || context - w->start >= w->end - w->start)
		return NULL;
	for (uintptr_t at = 1; at <= 2; at++)
		if (w->end - context >= (at + SI_SLOT_FUNCTIONS) * sizeof(context) &&
		    inner[at] == first)
			return inner + at;
	return NULL;
}

void si_slots_check(void)
{
	for (struct watched_slots *w = watched; w < watched + SI_SLOTS_WATCHED && w->at; w++)
		if (!w->replaced && !place_of(w, w->ours[0]) && !place_of(w, w->raw)) {
			w->replaced = true;
			si_count(SHINY_COUNT_HOOKS_REPLACED);
		}
}

static void exchange(uintptr_t *place, const uintptr_t *from, const uintptr_t *to)
{
	for (unsigned i = 0; i < SI_SLOT_FUNCTIONS; i++)
		if (place[i] == from[i])
			__atomic_store_n(&place[i], to[i], __ATOMIC_RELAXED);
}

void si_slots_step_aside(uintptr_t *places[SI_SLOTS_WATCHED])
{
	for (unsigned i = 0; i < SI_SLOTS_WATCHED; i++) {
		const struct watched_slots *w = &watched[i];

		places[i] = w->at ? place_of(w, w->ours[0]) : NULL;
		if (places[i])
			exchange(places[i], w->ours, w->real);
	}
}

void si_slots_step_back(uintptr_t *const places[SI_SLOTS_WATCHED])
{
	for (unsigned i = 0; i < SI_SLOTS_WATCHED; i++)
		if (places[i])
			exchange(places[i], watched[i].real, watched[i].ours);
}
