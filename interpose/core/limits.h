/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.h: whether this process may be recorded at all, and what the constructor may use.
 *
 * Runs:      inside, in boot only.
 * Signals:   –    Allocates: nothing.    Threads: one.
 */
#ifndef SI_LIMITS_H
#define SI_LIMITS_H

#include "base.h"

/*
 * Called first in boot. True: the program was started behind a seccomp filter of its own, so we may
 * make no call but those of the dynamic loader, and cannot report that either.
 */
bool si_limits_filtered(void);

/*
 * Raises, for the constructor and the sidecar that it starts, the soft limits on files to the hard
 * ones. False: a limit is in force that what we take would count against; `why` says which. The
 * program then runs without us.
 */
bool si_limits_enter(struct si_text *why);
/* The program's own limits again. */
void si_limits_leave(void);

/* How long the ring may be, if `wanted` is what it should be. */
uint64_t si_limits_ring(uint64_t wanted);


#endif
