/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h: names that another library may give to a function of its own.
 *
 * Runs:      inside, in place of wait, system, clone, …: of all hooked functions that allocate
 *            nothing, and of the ends of blocks that not every libc has.
 * Signals:   as the function that is called.
 * Allocates: nothing, but for a name that no library in the global scope has (dlopen's handle).
 * Threads:   any.
 *
 * A library may export a `wait` or a `system` that has nothing to do with libc's: without us, its
 * own calls and everybody's reach it, as it comes before libc. With us they reach us, and a hook
 * that takes libc's arguments hands on no others. So the symbol is a gate, which touches no
 * argument register, no stack and no result: it jumps to the hook, or past it to the function that
 * would have been called. The hook is meant for libc's function, and for that of a preloaded
 * library, which stands in for libc's; it is not meant for that of a library which some module
 * needs, unless that library is an allocator and the function one that ends blocks.
 *
 * dlvsym is there for libraries that come before us and ask for what is next, with a version: it
 * passes over definitions without one, as ours are, which answer to references of any version.
 *
 * Where no library has the name (free_sized in an older libc), the module that calls may still have
 * one in its own scope, so each caller's is looked for.
 */
#ifndef SI_GATE_H
#define SI_GATE_H

/* Finds the gates' ways, once; until then a gate asks at each call. */
void si_gates_open(void);

#endif
