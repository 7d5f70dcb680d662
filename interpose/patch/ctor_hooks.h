/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctor_hooks.h: hooks constructors and destructors of the executable's classes: entry patches, by a
 * file that was written outside.
 *
 * Runs: inside, in the constructor; its hook afterwards, in front of the program's
 *            constructors and destructors.
 * Signals: the hook: as the program's own function. Allocates: near the code, 128 bytes a function;
 * 16 a function elsewhere. Threads: attach: before there are others. Hook: any.
 */
#ifndef SI_CTOR_HOOKS_H
#define SI_CTOR_HOOKS_H

#include "../core/base.h"
#include "../unwind/main_image.h"

/* True if constructors shall be recorded, and this executable's have not been located yet. */
bool si_ctors_unknown(char *const *environment, const struct si_main_image *image);

/* Patches the entries of the file for this executable and SHINY_CTORS, all of them or none. `text`
 * gets the outcome. */
void si_ctors_attach(char *const *environment, struct si_text *text);

#endif
