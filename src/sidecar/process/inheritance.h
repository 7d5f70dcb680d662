/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inheritance.h: what a forked child takes over from its parent.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * The child's blocks are its parent's as of `fork_at`. Its slot is found in a scan after T, mostly
 * before the merge has passed fork_at: the copy is made when the merge gets there, exactly. A child
 * that says so later (it slept, then allocated) finds its parent further on: births after fork_at
 * are left out, deaths after it are undone from what is remembered of them (state/deaths.h). What
 * is not remembered any more is counted: the child's inherited set is then too small. A child that
 * is heard of when its parent was settled long ago inherits no blocks, but where the modules lie.
 */
#ifndef SHINY_INHERITANCE_H
#define SHINY_INHERITANCE_H

#include "../state/session.h"

/* Pending forks with fork_at < until: their parents' blocks are cloned. */
void process_take_over(struct session *session, uint64_t until);

#endif
