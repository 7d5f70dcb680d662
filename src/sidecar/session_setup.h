/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_setup.h: creates and destroys the sidecar's state of a session.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_SESSION_SETUP_H
#define SHINY_SESSION_SETUP_H

#include "state/session.h"

/* Returns a session without store, threads and clock. */
struct session *session_create(const struct sidecar_options *options, uint64_t memory_period);
/* Stops the threads and frees everything but the store. */
void session_destroy(struct session *session);

#endif
