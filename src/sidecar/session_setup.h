/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_setup.h: the beginning and the end of what the sidecar knows of a session.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_SESSION_SETUP_H
#define SHINY_SESSION_SETUP_H

#include "state/session.h"

/* Without store, threads and clock. */
struct session *session_create(const struct sidecar_options *options, uint64_t memory_period);
/* Stops its threads; the store is the caller's. */
void session_destroy(struct session *session);

#endif
