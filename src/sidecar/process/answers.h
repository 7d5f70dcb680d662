/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers.h: tells processes that wait for the sidecar whether their threads may sleep.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one of its own; the functions are the
 * loop's.
 */
#ifndef SHINY_ANSWERS_H
#define SHINY_ANSWERS_H

#include <stdint.h>

#include <shiny/wire/wire.h>

struct answers;

/* Starts the thread. NULL: it could not, and nobody gets an answer. */
struct answers *answers_start(void);
void answers_stop(struct answers *answers);

/* The process `pid` holds `slot`, and is answered from now on; a second time changes the pid. */
void answers_put(struct answers *answers, struct shiny_process *slot, uint32_t pid);
/* Its memory is not looked at any more once this has returned. */
void answers_remove(struct answers *answers, const struct shiny_process *slot);

#endif
