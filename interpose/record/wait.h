/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.h: waits until the sidecar frees something (a chunk, a thread's slot, a process's slot), or
 * has taken a heap snapshot.
 *
 * Runs: inside. Signals: safe. Allocates: nothing; sleeps where no filter can forbid it
 * (calls.def), and spins elsewhere. Threads: any.
 */
#ifndef SI_WAIT_H
#define SI_WAIT_H

#include "../core/base.h"

/*
 * Calls `attempt` until it returns true, each time the sidecar has freed something, while the
 * sidecar makes progress. False: waiting is pointless, or took too long. `waited`: it waited at
 * all.
 */
SI_COLD bool si_wait_for(bool (*attempt)(void *context), void *context, bool *waited);

/*
 * True if no thread of this process has a filter: waits until the sidecar has looked. False also if
 * none answers. This thread's next system call is then as safe as a sleep (wait.c).
 */
SI_COLD bool si_wait_unfiltered(void);

/* Called when the program is about to install a seccomp filter. */
void si_wait_awake(void);
/* Called when it has done so, or passes a filter to the call that does. si_wait_is_filtered: true
 * after that; it knows only what hooks have seen. */
void si_wait_filtered(void);
bool si_wait_is_filtered(void);

#endif
