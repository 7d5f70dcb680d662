/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_calls.h: properties of calls and of the functions they call.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_FLOW_CALLS_H
#define SHINY_SYM_FLOW_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "flow_callee.h"

/* True if the callee never returns: by its name, or because it runs straight into abort() or a
 * throw. */
bool flow_never_returns(const struct flow_code *code, const struct flow_callee *callee);

/* True if the function of that name returns a new block. */
bool flow_is_allocation(const char *symbol);

/* True for __cxa_throw and its like: the first argument is the thrown object, the second its
 * type_info. */
bool flow_throws(const char *symbol);

/*
 * True if the bytes before `ret` may be a direct call, or one through a fixed slot, of a function
 * with a symbol. Ask it before flow_call_before if only such a function matters: it decodes
 * nothing.
 */
bool flow_may_call_named(const struct flow_code *code, uint64_t ret);

/* Finds the call instruction that ends at `ret`, in a function that starts at `low` (0: unknown).
 * `out` is empty if the target is known only at run time (`call *%rax`). False: no call is
 * there. */
bool flow_call_before(const struct flow_code *code, uint64_t low, uint64_t ret, uint64_t *vaddr,
		      struct flow_callee *out);

/*
 * Finds the target of code at `vaddr` that only jumps on: a PLT stub, or a small function without
 * calls that leaves only by tail jumps to one function. If that is an allocation function, other
 * ways out may return (`n ? operator new(n) : nullptr`). Arms that throw don't count. False: it is
 * neither.
 */
bool flow_jumps_to(const struct flow_code *code, uint64_t vaddr, struct flow_callee *out);

#endif
