/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.h: waiting for the sidecar to give something back: a chunk, a thread's slot, a process's
 * slot; or for it to take a heap snapshot.
 *
 * Runs:      inside.
 * Signals:   safe.
 * Allocates: nothing; sleeps where no filter can forbid it (calls.def), and spins elsewhere.
 * Threads:   any.
 */
#ifndef SI_WAIT_H
#define SI_WAIT_H

#include "../core/base.h"

/*
 * Calls `attempt` until it returns true, each time the sidecar has given something back, while the
 * sidecar makes progress. False: waiting was not, or is no longer, worth it. `waited`: it waited at
 * all.
 */
SI_COLD bool si_wait_for(bool (*attempt)(void *context), void *context, bool *waited);

/*
 * Whether no thread of this process has a filter: waits until the sidecar has looked. False also
 * where none answers. What this thread does next is as safe as a sleep (wait.c).
 */
SI_COLD bool si_wait_unfiltered(void);

/* The program is about to put a seccomp filter in place. */
void si_wait_awake(void);
/* It has done so, or is just doing it and gives a filter along. Only what hooks have seen. */
void si_wait_filtered(void);
bool si_wait_is_filtered(void);

#endif
