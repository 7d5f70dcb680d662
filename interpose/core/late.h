/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.h: tells whether the library was loaded into a program that ran already (`shinyctl attach`),
 * and keeps what the attacher said.
 *
 * Runs:      inside. Set by boot, constant afterwards.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any.
 */
#ifndef SI_LATE_H
#define SI_LATE_H

#include <shiny/wire/attaching.h>

#include "base.h"

/* False: preloaded. */
SI_INTERNAL bool si_late;
SI_INTERNAL struct shiny_attaching si_late_said;

/* Finds the bounds of the calling thread's stack, if it was there when we came; else false. */
SI_COLD bool si_late_stack(uintptr_t *low, uintptr_t *high);

/* Copies what the attacher said, and sets si_late; false: it is no such thing. */
bool si_late_take(const struct shiny_attaching *said);

/* Returns the settings as an environment. */
char **si_late_environment(void);

#endif
