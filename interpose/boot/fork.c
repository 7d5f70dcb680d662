/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c: lets a forked child notice that it is one, and start recording anew.
 *
 * pthread_atfork and fork() itself cannot be relied on: Chromium creates its namespaced children
 * with raw clone. So the one word that every hook tests first lies in a private page that the
 * kernel wipes in every copy of our memory. A zero there marks a child's first event: the child
 * takes a process slot and starts with no stream of its own. This needs no file and no permission,
 * so it works inside a sandbox.
 *
 * A child inherits and must undo: writers of threads that do not exist here (their shared chunks
 * belong to the parent), nursery entries that one of those threads was reading, the module table's
 * lock, the late stream. It keeps the nursery's settled entries, which are its blocks too, the
 * module tables, and its stack's bounds.
 *
 * If a signal handler that interrupted a record forks, the child finishes that record when the
 * handler returns, with the parent's chunk in its registers, and stores the same words as the
 * parent. Its private writer is never reused (si_writers_forget).
 *
 * fork_at: the child owns a copy of the parent's blocks whose records the inherited writers had
 * already taken.
 */
#include "../core/ring_map.h"
#include "boot.h"
#include "../core/clock.h"
#include "../unwind/modules.h"
#include "../record/nursery.h"
#include "../record/process.h"
#include "../record/slot.h"
#include "../record/thread.h"
#include "../record/tid.h"

/* The data with which a process that got no slot tries again. */
static struct {
	struct si_descent descent; /* from the nearest process that had a slot */
	uint32_t events; /* events since the last try */
} refused = { .descent.parent = -1 };
enum { RETRY = 1024 }; /* number of events between two tries */

/* Handles a forked child's first event. True: this process records. */
static bool revive_child(void)
{
	uint32_t life = SI_FORKED;
	bool claimed;

	if (!__atomic_compare_exchange_n(&si_self->life, &life, SI_REVIVING, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return life == SI_ALIVE;
	si_tid_forked();
	/* [ctl] earlier requests were the parent's */
	si_self->flush = __atomic_load_n(&si_ring.header->flush, __ATOMIC_RELAXED);
	if (si_process.slot >= 0) {
		refused.descent.parent = si_process.slot;
		refused.descent.parent_generation = si_process.generation;
	}
	refused.descent.fork_at = si_writers_forget();
	refused.events = 0;
	si_nursery_forget();
	si_modules_forget();
	si_process.slot = -1;
	si_process.pid = refused.descent.pid = si_tid();
	claimed = si_process_claim(&refused.descent, true);
	if (!claimed)
		si_count(SHINY_COUNT_PROCESSES_REFUSED);
	__atomic_store_n(&si_self->life, claimed ? SI_ALIVE : SI_REFUSED, __ATOMIC_RELEASE);
	return claimed;
}

/* Tries again to get a slot for a process that got none at its start. */
static bool revive_refused(void)
{
	uint32_t life = SI_REFUSED;
	bool claimed;

	if (__atomic_add_fetch(&refused.events, 1, __ATOMIC_RELAXED) % RETRY != 0 ||
	    !__atomic_compare_exchange_n(&si_self->life, &life, SI_REVIVING, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	claimed = si_process_claim(&refused.descent, false);
	__atomic_store_n(&si_self->life, claimed ? SI_ALIVE : SI_REFUSED, __ATOMIC_RELEASE);
	return claimed;
}

bool si_revive(void)
{
	switch (__atomic_load_n(&si_self->life, __ATOMIC_RELAXED)) {
	case SI_ALIVE:
		return true;
	case SI_FORKED:
		return revive_child();
	case SI_REFUSED:
		return revive_refused();
	case SI_UNBOOTED:
		si_boot();
		return __atomic_load_n(&si_self->life, __ATOMIC_RELAXED) == SI_ALIVE;
	default:
		return false;
	}
}

bool si_revive_for_event(void)
{
	uint32_t life;

	if (si_revive())
		return true;
	life = __atomic_load_n(&si_self->life, __ATOMIC_RELAXED);
	/* [ctl] */
	if ((life == SI_REFUSED || life == SI_REVIVING) &&
	    __atomic_load_n(&si_ring.header->recording, __ATOMIC_RELAXED))
		si_count(SHINY_COUNT_DROPPED_NO_PROCESS);
	return false;
}
