/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say_unrecorded.h: a program that will not be recorded says so in its session's directory.
 *
 * Runs:      inside, in the constructor only: it makes a system call, and one that a sandbox may
 *            forbid.
 * Signals:   –    Allocates: nothing.    Threads: one.
 */
#ifndef SI_SAY_UNRECORDED_H
#define SI_SAY_UNRECORDED_H

#include <shiny/wire/wire.h>

#include "../core/base.h"

/*
 * Tells the sidecar of `directory` that `executable` is not recorded, with the reason `why`, and
 * the first line of `detail`, in words ("": none). An empty directory name: nothing is said.
 */
SI_COLD void si_unrecorded(const char *directory, enum shiny_unrecorded why, const char *executable,
			   const char *detail);

#endif
