/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot.h: from nothing to recording, once an exec'd image.
 *
 * Runs:      inside, from the first hook or the constructor, whichever is first.
 * Signals:   a handler (or a hook that boot itself causes) that comes meanwhile passes through
 *            unrecorded.
 * Allocates: by mmap only.    Threads: the first one in boots, others pass through.
 */
#ifndef SI_BOOT_H
#define SI_BOOT_H

#include <shiny/wire/wire.h>

#include "../core/base.h"

/* Re-entrant: while boot runs, and when it has run, this returns at once. */
SI_COLD void si_boot(void);

#endif
