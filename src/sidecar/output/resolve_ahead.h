/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_ahead.h: works out the types of call sites, and whether their functions hand their blocks
 * on, while the program still runs, so that its end need not wait for it.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one of its own, at the lowest priority,
 * which alone uses its symbolizer until warm_take().
 */
#ifndef SHINY_RESOLVE_AHEAD_H
#define SHINY_RESOLVE_AHEAD_H

#include <stdbool.h>

#include "../../../symbolizer/sym.h"
#include "../state/ids.h"

struct warm;

/* NULL: no thread could be made; then all is done at the end. `options` and what it points to stay
 * as they are until warm_take(). */
struct warm *warm_start(const struct sym_options *options);

/* Tells it of stacks that are new since the last time; never waits for its work. */
void warm_offer(struct warm *warm, const struct ids *ids);

/*
 * Ends the thread, after the call site that it is at, and hands its symbolizer over, with what that
 * has found. `modules` [id] is filled in where the module is open already; it has room for `count`.
 * NULL: it has none. Accepts NULL.
 */
struct sym *warm_take(struct warm *warm, struct sym_module **modules, size_t count, bool progress);

#endif
