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
 * A library that came late is in no scope: all references to hooked functions are redirected, and
 * the values of the symbols themselves in the memory of this process, so that what is loaded or
 * looked up later finds the hooks. The executable's own functions stay, and so do pointers to
 * functions that the program keeps elsewhere, and the loader's own calls.
 *
 * Not covered: calls by the constructors of such modules, which have run when dlopen returns;
 * dlmopen.
 */
#ifndef SI_REBIND_H
#define SI_REBIND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns a return address for dlopen with which it sees its real caller and we still get its
 * result: that of a return instruction near `pc`, in the caller's own code. NULL: there is none.
 */
__attribute__((used)) const uint8_t *si_scope_way(uintptr_t pc);

/* Handles the module `handle` that dlopen has returned. */
__attribute__((used)) void si_scope_opened(const void *handle);

/*
 * Redirects the references of all modules to the hooks, and the symbols that later references and
 * dlsym find; with `back`, to the real functions again. For a library that came late (late.h):
 * other threads run meanwhile and see the one function or the other.
 */
void si_rebind_all(bool back);

#endif
