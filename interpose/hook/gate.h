/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h: gates in front of hooks whose names another library may give to a function of its own.
 *
 * Runs:      inside, in place of wait, system, clone, …: of all hooked functions that allocate
 *            nothing, and of the ends of blocks that not every libc has.
 * Signals:   as the function that is called.
 * Allocates: nothing, but for a name that no library in the global scope has (dlopen's handle).
 * Threads:   any.
 *
 * A library may export a `wait` or a `system` that has nothing to do with libc's: without us, all
 * calls of that name reach it, as it comes before libc. With us they reach us, and a hook passes on
 * libc's arguments only. So the symbol is a gate, which touches no argument register, no stack and
 * no result: it jumps to the hook, or past it to the function that would have been called. It
 * chooses the hook for libc's function, and for that of a preloaded library, which replaces libc's;
 * not for that of a library which some module needs, unless that library is an allocator and the
 * function one that ends blocks.
 *
 * dlvsym serves libraries that come before us and look up the next definition with a version: the
 * real one skips definitions without a version, such as ours, although these satisfy references of
 * any version.
 *
 * Where no library has the name (free_sized in an older libc), the calling module may still have
 * one in its own scope, so the gate looks in each caller's.
 */
#ifndef SI_GATE_H
#define SI_GATE_H

/* Sets the gates' ways, once; until then a gate decides at each call. */
void si_gates_open(void);

#endif
