/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_allocator.h: hooks the allocator of CPython, 3.6 and later, by the functions that it
 * offers for that.
 *
 * Runs: inside, in the constructor; its hooks (own_calls.c) afterwards, in front of the allocator's
 *            functions.
 * Signals: the hooks: as the program's malloc. Allocates: nothing. Threads: attach: before there
 * are others. Hooks: any that hold the interpreter's lock.
 */
#ifndef SI_PYTHON_ALLOCATOR_H
#define SI_PYTHON_ALLOCATOR_H

#include "../core/base.h"

/* Hooks it in the executable and in the libraries that are loaded; `text` gets where. */
void si_python_attach(struct si_text *text);

#endif
