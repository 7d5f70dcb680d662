/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vdso.h: finds the kernel's own clock_gettime.
 *
 * Runs: inside, at boot. Signals: safe. Allocates: no. Threads: any.
 *
 * The program, or a library of its own, may define clock_gettime, as libfaketime and
 * ThreadSanitizer do: its time is not ours, and before the constructors it may do harm.
 */
#ifndef SI_VDSO_H
#define SI_VDSO_H

#include <time.h>

#include "base.h"

typedef int si_clock_gettime(clockid_t which, struct timespec *time);

/* Returns the vdso's function, or NULL if the kernel has none. */
SI_INTERNAL si_clock_gettime *si_vdso_clock_gettime(void);

#endif
