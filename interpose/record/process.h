/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h: tells whether this is still the process that booted, and which slot it has.
 *
 * Runs: inside. Signals: safe. Allocates: nothing after boot. Threads: any.
 *
 * One call goes up from here: si_revive, which boots or sets up a forked child (fork.c). Every hook
 * makes this test first, so it can't stand above them all.
 */
#ifndef SI_PROCESS_H
#define SI_PROCESS_H

#include <shiny/wire/wire.h>

#include "../core/base.h"

/* A process's state, which every hook tests first. FORKED must be 0: the kernel writes it. */
enum si_life {
	SI_FORKED = 0, /* a child's first look at its wiped page */
	SI_ALIVE = 1,
	SI_REVIVING = 2, /* a thread of the child is setting up; the others' events pass through,
	                  * and are counted as lost */
	SI_REFUSED = 3,	 /* the ring had no process slot; the process tries again from time to
	                  * time */
	SI_UNBOOTED = 4,
	SI_OFF = 5,
};

/* One page, MADV_WIPEONFORK: zeroed in every child that does not share our memory, by whatever call
 * it was created. */
struct si_self {
	uint32_t life; /* enum si_life */
	uint32_t flush; /* the last header.flush that this process has answered */
	struct shiny_self slot; /* read by the sidecar */
};
SI_INTERNAL struct si_self *si_self;

/* This process's slot. It lies in ordinary memory, so a child still finds its parent's. */
struct si_process {
	int32_t slot; /* -1: none */
	uint32_t generation;
	uint32_t pid; /* in its own namespace; 0: unknown */
};
SI_INTERNAL struct si_process si_process;

/* Maps the page, with life = UNBOOTED; false: mapping it failed. Called in boot. */
bool si_self_make(void);

/* Called when fork() has returned in a child: the kernel may have been unable to wipe the page. */
void si_fork_told(void);

/* The rare half of a hook's first test, in fork.c. True: continue. The second one also counts an
 * event that is lost for lack of a slot. */
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

/* Counters are shared by the process's threads, and the header's by all processes without a slot.
 * They are relaxed: no reader depends on their order. */
SI_COLD void si_count(enum shiny_counter which);

/* Returns the pid of the process that this thread runs in, in its own namespace; 0: unknown. */
uint32_t si_process_number(void);

/*
 * Mark the slot around a call of exec, so that the sidecar knows this process's end if exec
 * succeeds. True: this process has a slot, and it is marked. A vfork child marks nothing: slot and
 * memory are its parent's.
 */
bool si_exec_begin(void);
void si_exec_failed(void);

/* Stores the exit status in the slot: the sidecar may come too late to ask the kernel. Does nothing
 * in a vfork child, as above. */
void si_process_exits(int status);
/* Returns the slot; NULL: there is none, or the memory is that of a vfork child's parent. */
struct shiny_process *si_own_slot(void);

#endif
