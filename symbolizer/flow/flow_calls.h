/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_calls.h: what is known of calls and of the functions that they go to.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_FLOW_CALLS_H
#define SHINY_SYM_FLOW_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "flow_callee.h"

/* By its name, or because it runs straight into abort() or a throw. */
bool flow_never_returns(const struct flow_code *code, const struct flow_callee *callee);

bool flow_is_allocation(const char *symbol);

/* Its first argument is an object that is thrown, its second the type_info of that object. */
bool flow_throws(const char *symbol);

/* The call instruction that ends at `ret`, in a function that begins at `low` (0 unknown). `out` is
 * empty when the target is only known at run time (`call *%rax`). False: there is no call. */
bool flow_call_before(const struct flow_code *code, uint64_t low, uint64_t ret, uint64_t *vaddr,
		      struct flow_callee *out);

/*
 * If the code at `vaddr` is a PLT stub, or a small function without calls that leaves only by
 * tail jumps to one function: where to. Of an allocation function: other ways out may return (`n ?
 * operator new(n) : nullptr`). Arms that throw don't count. False: neither.
 */
bool flow_jumps_to(const struct flow_code *code, uint64_t vaddr, struct flow_callee *out);

#endif
