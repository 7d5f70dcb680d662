/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.h: tells whether this process may be recorded, and raises limits for the constructor.
 *
 * Runs:      inside, in boot only.
 * Signals:   –    Allocates: nothing.    Threads: one.
 */
#ifndef SI_LIMITS_H
#define SI_LIMITS_H

#include "base.h"

/*
 * True if the program was started behind a seccomp filter of its own, so we may make only the calls
 * that the dynamic loader makes, and cannot report that either. Called first in boot.
 */
bool si_limits_filtered(void);

/*
 * Raises the soft limits on files to the hard ones, for the constructor and the sidecar that it
 * starts. False: a limit is in force that our memory, files or processes would count against; `why`
 * says which. The program then runs unrecorded.
 */
bool si_limits_enter(struct si_text *why);
/* Restores the program's own limits. */
void si_limits_leave(void);

/* Returns the ring's size in bytes: `wanted`, or less if the limit on file sizes is lower. */
uint64_t si_limits_ring(uint64_t wanted);


#endif
