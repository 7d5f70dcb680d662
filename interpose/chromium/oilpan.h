/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oilpan.h: the way in to Blink's garbage-collected heap, in an executable that the probe knows.
 *
 * Runs:      inside, in the constructor; its hooks afterwards.
 * Signals:   no.
 * Allocates: near the code, a page; a table of finalizers.
 * Threads:   attach: before there are others. Hooks: any.
 */
#ifndef SI_OILPAN_H
#define SI_OILPAN_H

#include "../core/base.h"

/*
 * Looks for the probe's result, and patches what it names; with SHINY_OILPAN=off only what is
 * malloc's. `checked`: the executable checks what it calls through pointers. What came of it is
 * added to `text`; nothing where there is no result.
 */
void si_oilpan_attach(char *const *environment, bool checked, struct si_text *text);

#endif
