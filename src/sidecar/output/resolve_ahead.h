/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_ahead.h: finds the types of call sites, and whether their functions pass blocks on, while
 * the program still runs, so that its end need not wait for it.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one of its own, at the lowest priority,
 * which alone uses its symbolizer until resolve_ahead_take().
 */
#ifndef SHINY_RESOLVE_AHEAD_H
#define SHINY_RESOLVE_AHEAD_H

#include <stdbool.h>

#include "../../../symbolizer/sym.h"
#include "../state/ids.h"

struct resolve_ahead;

/* Starts the thread. NULL: it cannot be created; then everything is resolved at the end. `options`
 * and all that it points to must stay unchanged until resolve_ahead_take(). */
struct resolve_ahead *resolve_ahead_start(const struct sym_options *options);

/* Offers the stacks that are new since the last call; never waits for the thread's work. */
void resolve_ahead_offer(struct resolve_ahead *ahead, const struct ids *ids);

/*
 * Ends the thread, after its current call site, frees `ahead` and returns its symbolizer with all
 * its answers, which the caller owns. Sets modules[id] of modules that are open; `modules` has room
 * for `count`. NULL: there is no symbolizer. Accepts NULL.
 */
struct sym *resolve_ahead_take(struct resolve_ahead *ahead, struct sym_module **modules,
			       size_t count, bool progress);

#endif
