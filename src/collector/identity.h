/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.h: which process of /proc holds a process slot of an arena.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_IDENTITY_H
#define SHINY_IDENTITY_H

#include "proc.h"
#include "session.h"

/*
 * Looks for `process`, whose parent is `parent` (NULL: not known, or not of this arena). YES: *pid is it. NO: it does not run any more,
 * for sure. UNKNOWN: it cannot be told; *pid is the likeliest, or 0.
 */
enum proc_answer identity_find(const struct session *session, const struct process *process, const struct process *parent, uint32_t *pid);

#endif
