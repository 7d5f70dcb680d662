/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_pool.h: records of the second level: pools, and objects in them.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_APPLY_POOL_H
#define SHINY_APPLY_POOL_H

#include "../state/session.h"

struct stream;

/* Applies the record at the stream's head: one of a pool, or one of an object, whose api is of
 * the second level. */
void apply_pool(struct session *session, struct stream *stream);

#endif
