/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inheritance.h: copies a parent's blocks and names to its forked child.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * The child's blocks are its parent's as of `fork_at`. A scan after the fork finds its slot, mostly
 * before the merge has passed fork_at: then the copy is made exactly when the merge arrives there.
 * If a child appears later (it slept, then allocated), its parent is further on: births after
 * fork_at are left out, and deaths after it are undone from the remembered ones (state/deaths.h).
 * If some are not remembered any more, the child's inherited set is too small, which is counted. A
 * child that appears after its parent was settled inherits no blocks, only the modules and names.
 */
#ifndef SHINY_INHERITANCE_H
#define SHINY_INHERITANCE_H

#include "../state/session.h"

/* Takes pending forks with fork_at < until: clones their parents' blocks. */
void process_take_over(struct session *session, uint64_t until);

#endif
