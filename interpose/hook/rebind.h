/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rebind.h: modules that look for their symbols in themselves first.
 *
 * Runs:      inside, in the thread that has called dlopen.
 * Signals:   as dlopen: not safe.
 * Allocates: nothing.
 * Threads:   any; the loader's lock is held while modules are looked at.
 *
 * A module opened with RTLD_DEEPBIND, and what comes with it, finds malloc and free in libc, which
 * it needs, before it finds ours. (PHP opens its extensions so.) What such a module makes would be
 * missing, and what it frees would live for ever. So its references to the functions that we stand
 * before, where they lead to the very functions below us, are made to lead to us. One that leads to
 * another function of that name is left alone: it is another allocator.
 *
 * Not covered: what the constructors of such modules do, for they have run when dlopen returns;
 * dlmopen.
 */
#ifndef SI_REBIND_H
#define SI_REBIND_H

#include <stdint.h>

/*
 * The return address to give dlopen, so that it sees its real caller and we still get its result: a
 * return instruction near `pc`, in the caller's own code. NULL: there is none.
 */
__attribute__((used)) const uint8_t *si_scope_way(uintptr_t pc);

/* dlopen has returned `handle`. */
__attribute__((used)) void si_scope_opened(const void *handle);

#endif
