/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.c: see slot.h. The sidecar allocates space for more slots as they are used ([grow] in
 * wire.h), and frees those of processes and streams that have ended.
 */
#include "slot.h"

#include "../core/clock.h"
#include "process.h"
#include "wait.h"

uint32_t si_slot_claim(uint32_t *states, size_t stride, uint32_t count, uint32_t *hint)
{
	uint32_t from = shiny_slot_start(hint, count);

	for (uint32_t n = 0; n < count; n++) {
		uint32_t i = from + n < count ? from + n : from + n - count, free = SHINY_SLOT_FREE;
		uint32_t *state = (uint32_t *)(void *)((char *)states + i * stride);

		if (__atomic_load_n(state, __ATOMIC_RELAXED) == SHINY_SLOT_FREE &&
		    __atomic_compare_exchange_n(state, &free, SHINY_SLOT_CLAIMED, 0,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) /* [slot] */
			return i;
	}
	return UINT32_MAX;
}

bool si_slot_wait_for(bool (*attempt)(void *context), void *context)
{
	bool waited, had = attempt(context);

	if (had)
		return true;
	had = si_wait_for(attempt, context, &waited);
	if (waited)
		si_count(SHINY_COUNT_WAITED_SLOT);
	return had;
}

/* Claims a slot once; `context` is a struct si_descent. */
static bool claim_process(void *context)
{
	const struct si_descent *descent = context;
	struct shiny_header *h = si_ring.header;
	uint32_t ready = __atomic_load_n(&h->processes_ready, __ATOMIC_ACQUIRE); /* [grow] */
	uint32_t count = ready < si_ring.process_count ? ready : si_ring.process_count;
	uint32_t i = si_slot_claim(&si_ring.processes->state, sizeof(*si_ring.processes), count,
				   &h->process_hint);
	struct shiny_process *p;

	if (i == UINT32_MAX)
		return false;
	p = &si_ring.processes[i];
	si_process.slot = (int32_t)i;
	si_process.generation = ++p->generation;
	si_process.pid = descent->pid;
	p->pid = si_process.pid; /* 0: the sidecar finds it */
	p->parent_slot = descent->parent;
	p->parent_generation = descent->parent_generation;
	p->start = si_ticks();
	p->fork_at = descent->fork_at;
	p->exec = 0;
	p->exit_at = 0;
	p->waits = p->may_sleep = p->looked = 0;
	p->snapshots_wanted = p->snapshots_taken = 0;
	p->parent_pid = descent->parent_pid;
	for (unsigned c = 0; c < SHINY_COUNTERS; c++)
		p->counters[c] = 0;
	si_self->slot = (struct shiny_self){ .generation = si_process.generation, .slot = i };
	shiny_slot_claimed(&h->process_hint, &h->processes_used, i);
	__atomic_store_n(&p->state, SHINY_SLOT_LIVE, __ATOMIC_RELEASE); /* [slot] */
	return true;
}

bool si_process_claim(const struct si_descent *descent, bool waits)
{
	void *context = (void *)(uintptr_t)descent;

	return waits ? si_slot_wait_for(claim_process, context) : claim_process(context);
}
