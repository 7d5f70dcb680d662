/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rebind.h: redirects the references of modules that search their own symbols first.
 *
 * Runs:      inside, in the thread that has called dlopen.
 * Signals:   as dlopen: not safe.
 * Allocates: nothing.
 * Threads:   any; the loader's lock is held while modules are looked at.
 *
 * A module opened with RTLD_DEEPBIND, and the modules loaded with it, find malloc and free in libc,
 * which they need, before they find ours. (PHP opens its extensions so.) The blocks that they
 * allocate would be missing, and those that they free would live for ever. So their references to
 * hooked functions are redirected to the hooks, where they lead to the function below the hook. A
 * reference to another function of that name stays: it is another allocator's.
 *
 * Not covered: calls by the constructors of such modules, which have run when dlopen returns;
 * dlmopen.
 */
#ifndef SI_REBIND_H
#define SI_REBIND_H

#include <stdint.h>

/*
 * Returns a return address for dlopen with which it sees its real caller and we still get its
 * result: that of a return instruction near `pc`, in the caller's own code. NULL: there is none.
 */
__attribute__((used)) const uint8_t *si_scope_way(uintptr_t pc);

/* Handles the module `handle` that dlopen has returned. */
__attribute__((used)) void si_scope_opened(const void *handle);

#endif
