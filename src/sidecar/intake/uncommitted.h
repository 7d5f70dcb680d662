/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uncommitted.h: chunks that were read to their end, kept until a commit makes their events safe.
 *
 * Runs: sidecar. Signals: no. Allocates: what was read since the last commit, UNCOMMITTED_MOST and
 * a little. Threads: one.
 *
 * A chunk goes back to its writers once it is read, so a program uses few pages of its ring.
 * Its events are in the session file up to a second later. Where that commit fails (the disk is
 * full, or broken), SQLite has rolled the transaction back, and the chunk's copy is all there is of
 * it. The copy is written into the spill, whose files lie beside the rings: whoever serves the
 * directory next finds there, and in the rings, all that is not in the session file.
 */
#ifndef SHINY_UNCOMMITTED_H
#define SHINY_UNCOMMITTED_H

#include "../state/session.h"

enum { UNCOMMITTED_MOST = 16 << 20 }; /* bytes: a commit is due */

/* The chunk that `stream` has read, before it is given back. */
void uncommitted_keep(struct session *session, struct stream *stream);
uint64_t uncommitted_bytes(const struct session *session);
/* After a commit. */
void uncommitted_forget(struct session *session);
/* After a commit that failed for good: they go into the spill. Those that it does not take stay
 * counted in their ring's header. */
void uncommitted_put_back(struct session *session);

#endif
