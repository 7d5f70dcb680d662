/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oilpan.h: hooks Blink's garbage-collected heap, in an executable that the probe knows.
 *
 * Runs: inside, in the constructor; its hooks afterwards. Signals: no. Allocates: near the code, a
 * page; a table of finalizers. Threads: attach: before there are others. Hooks: any.
 */
#ifndef SI_OILPAN_H
#define SI_OILPAN_H

#include "../core/base.h"

/*
 * Patches the entries of the probe's result; with SHINY_OILPAN=off only those of malloc's
 * partition. `checked`: the executable checks the functions that it calls through pointers. The
 * outcome is appended to `text`; nothing where there is no result.
 */
void si_oilpan_attach(char *const *environment, bool checked, struct si_text *text);

#endif
