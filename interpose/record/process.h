/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h: is this still the process that we were, and which slot is it?
 *
 * Runs:      inside.
 * Signals:   safe.
 * Allocates: nothing after boot.
 * Threads:   any.
 *
 * One call goes up from here: si_revive, which boots or sets up a forked child (fork.c). Every hook
 * makes this test first, so it can't stand above them all.
 */
#ifndef SI_PROCESS_H
#define SI_PROCESS_H

#include <shiny/wire/wire.h>

#include "../core/base.h"

/* What a hook may do. FORKED must be 0: it is what the kernel writes for us. */
enum si_life {
	SI_FORKED = 0, /* a child's first look at its wiped page */
	SI_ALIVE = 1,
	SI_REVIVING = 2, /* a thread of the child is setting up; others pass through, and their
			    events are counted as lost */
	SI_REFUSED = 3,	 /* the ring had no process slot; it is tried again from time to time */
	SI_UNBOOTED = 4,
	SI_OFF = 5,
};

/* One page, MADV_WIPEONFORK: zeroed in every child that does not share our memory, however it was
 * made. */
struct si_self {
	uint32_t life; /* enum si_life */
	uint32_t flush; /* the last header.flush that this process has answered */
	struct shiny_self slot; /* for the sidecar */
};
SI_INTERNAL struct si_self *si_self;

/* This process's slot; ordinary memory, so a child still finds its parent's. */
struct si_process {
	int32_t slot; /* -1: none */
	uint32_t generation;
	uint32_t pid; /* in its own namespace; 0: not known */
};
SI_INTERNAL struct si_process si_process;

/* Boot: makes the page (life = UNBOOTED still); false: mapping it failed. */
bool si_self_make(void);

/* fork() has returned in a child: the page may be one that the kernel could not wipe. */
void si_fork_told(void);

/* The rare half of a hook's first test, in fork.c. True: go on. The second one also counts an event
 * that is lost for want of a slot. */
SI_COLD bool si_revive(void);
SI_COLD bool si_revive_for_event(void);

static inline bool si_alive(void)
{
	return SI_LIKELY(__atomic_load_n(&si_self->life, __ATOMIC_RELAXED) == SI_ALIVE) ||
	       si_revive();
}

static inline bool si_alive_for_event(void)
{
	return SI_LIKELY(__atomic_load_n(&si_self->life, __ATOMIC_RELAXED) == SI_ALIVE) ||
	       si_revive_for_event();
}

/* Counters are shared by the process's threads, and the header's by all that hold no slot; relaxed:
 * they are read when nobody waits for them. */
SI_COLD void si_count(enum shiny_counter which);

/* The pid of the process that this thread runs in, in its own namespace; 0: not known. */
uint32_t si_process_number(void);

/*
 * Around a call of exec, so that the sidecar knows what became of us should it succeed. True: this
 * process has a slot, and it is marked. Not in a vfork child: slot and memory are its parent's.
 */
bool si_exec_begin(void);
void si_exec_failed(void);

/* The process ends with this status: the sidecar may come too late to ask the kernel. Not in a
 * vfork child, as above. */
void si_process_exits(int status);
/* NULL: it has none, or the memory is that of a vfork child's parent. */
struct shiny_process *si_own_slot(void);

#endif
