/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_allocator.h: hooks functions that an allocator in a shared library has beside malloc's
 * names (mallocx, mi_malloc, tc_new), and a libc in a namespace of its own.
 *
 * Runs: inside: attach in the constructor; its hooks afterwards, in front of the allocator's
 *            functions, and whenever the loader's list of modules has changed.
 * Signals: the hooks: as the program's malloc. Allocates: near the loader's code, a page. Threads:
 * attach: before there are others. Hooks: any; the loader's lock is held when its list
 *            is looked at.
 */
#ifndef SI_LIBRARY_ALLOCATOR_H
#define SI_LIBRARY_ALLOCATOR_H

#include "../core/base.h"

/* Redirects such functions of loaded and of future libraries to hooks. Appends the libraries to
 * `text`. */
void si_library_attach(struct si_text *text);

#endif
