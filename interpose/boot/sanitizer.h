/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitizer.h: lets a sanitizer's run-time library begin before we do anything else.
 *
 * Runs: inside, once, at the very beginning of boot. Signals: no. Allocates: no. Threads: one.
 */
#ifndef SI_SANITIZER_H
#define SI_SANITIZER_H

#include "../core/base.h"

SI_INTERNAL void si_sanitizer_begin(void);

#endif
