/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot.h: starts recording, once an exec'd image.
 *
 * Runs: inside, from the first hook or the constructor, whichever is first. Signals: events of a
 * handler, or of a hook that boot itself calls, pass through unrecorded
 *            meanwhile.
 * Allocates: by mmap only. Threads: the first one boots, others pass through.
 */
#ifndef SI_BOOT_H
#define SI_BOOT_H

#include <shiny/wire/wire.h>

#include "../core/base.h"

/* Boots. Re-entrant: returns at once while boot runs and after it has run. */
SI_COLD void si_boot(void);

/* True if nothing has booted yet. */
bool si_boot_is_due(void);
/* Returns the notes of boot, one a line. */
const char *si_boot_notes(void);

#endif
