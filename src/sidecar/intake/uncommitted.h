/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uncommitted.h: copies of chunks that were read to their end, until a commit makes their events
 * safe.
 *
 * Runs: sidecar. Signals: no. Allocates: the chunks read since the last commit, a little over
 * UNCOMMITTED_MOST. Threads: one.
 *
 * A chunk goes back to its writers once it is read, so a program uses few pages of its ring. Its
 * events are in the session file up to a second later. If that commit fails (the disk is full, or
 * broken), SQLite has rolled the transaction back, and only the copy has the events. The copy is
 * written into the spill, whose files lie beside the rings: so rings and spill hold, for the next
 * sidecar that serves the directory, all that is not in the session file.
 */
#ifndef SHINY_UNCOMMITTED_H
#define SHINY_UNCOMMITTED_H

#include "../state/rings.h"

enum { UNCOMMITTED_MOST = 16 << 20 }; /* bytes from which on a commit is due */

/* Copies the chunk that `stream` has read; call before it is released. */
void uncommitted_keep(struct rings *rings, struct stream *stream);
/* Call after a commit: frees the copies. */
void uncommitted_forget(struct rings *rings);
/* Call after a commit that failed for good: writes the copies into the spill. Chunks that it does
 * not take stay counted in their ring's header. */
void uncommitted_put_back(struct rings *rings);

#endif
