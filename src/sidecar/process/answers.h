/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers.h: tells processes that wait for the sidecar whether their threads may sleep.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one of its own; the loop calls the
 * functions.
 */
#ifndef SHINY_ANSWERS_H
#define SHINY_ANSWERS_H

#include <stdint.h>

#include <shiny/wire/wire.h>

struct answers;

/* Starts the thread. NULL: it cannot be created, and no process is answered. */
struct answers *answers_start(void);
void answers_stop(struct answers *answers);

/* Answers process `pid`, which holds `slot`, from now on; a second call changes the pid. */
void answers_put(struct answers *answers, struct shiny_process *slot, uint32_t pid);
/* Stops answering; the thread does not read the slot after this has returned. */
void answers_remove(struct answers *answers, const struct shiny_process *slot);

#endif
