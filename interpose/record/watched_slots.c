/* SPDX-License-Identifier: Apache-2.0 */
/* watched_slots.c: see watched_slots.h. */
#include "watched_slots.h"

#include "process.h"

enum { WATCHED = 4, FUNCTION = 1 }; /* FUNCTION: word of the struct */

static struct watched_slots {
	const uintptr_t *at; /* NULL: none, or it has been counted */
	uintptr_t ours, start, end;
} watched[WATCHED];

void si_slots_watch(const uintptr_t *slots, uintptr_t start, uintptr_t end)
{
	for (unsigned i = 0; i < WATCHED; i++)
		if (!watched[i].at) {
			watched[i] =
				(struct watched_slots){ slots, slots[FUNCTION], start, end };
			return;
		}
}

static bool leads_to_us(const struct watched_slots *w)
{
	uintptr_t context = w->at[0];
	const uintptr_t *inner = (const uintptr_t *)context;

	if (w->at[FUNCTION] == w->ours)
		return true;
	if (context % sizeof(context) || context - w->start >= w->end - w->start ||
	    w->end - context < (FUNCTION + 2) * sizeof(context))
		return false;
	return inner[FUNCTION] == w->ours || inner[FUNCTION + 1] == w->ours;
}

void si_slots_check(void)
{
	for (unsigned i = 0; i < WATCHED; i++)
		if (watched[i].at && !leads_to_us(&watched[i])) {
			watched[i].at = NULL;
			si_count(SHINY_COUNT_HOOKS_REPLACED);
		}
}
