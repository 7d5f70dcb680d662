/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_allocator.h: hooks the allocator of CPython, 3.6 and later, by the functions that it
 * offers for that.
 *
 * CPython compares the functions of its allocator with its own ones when it tells about it
 * (sys._debugmallocstats), so these are back in place while such a function runs: the kind ASIDE of
 * allocator.def, by an entry patch (inner_allocator.h). The interpreter's lock is held there, so no
 * other thread calls the allocator meanwhile, and no block is missed. Interpreters with locks of
 * their own (3.12 and later) may: blocks that they make or end in that moment are not seen.
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
