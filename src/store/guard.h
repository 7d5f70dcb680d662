/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h: protects readers from malicious session files. Not for other rooms.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 *
 * A file is not trusted. Its schema is compared, text by text, with that of schema.sql; its views
 * and triggers are switched off, and temporary views from schema.sql replace them, so that
 * exchanging the file later gains nothing. Its ids become indices of the reader's tables, so the
 * file's bytes and rows bound them before any allocation. Each statement may take as many of
 * SQLite's steps, and return as many bytes, as a file of its size can need; SQLite's memory is
 * bounded likewise.
 *
 * A dangling reference is read as none: query_number returns 0 for it in a column of
 * references.def, and the unpacker for an id in a block of events (block.h), before any reader sees
 * it. Both remember that they met one, and store_astray counts them, in the tables of the whole
 * file and in the events read so far. A reference dangles if it is higher than its table's highest
 * id; an id of a gap below it is an index that fits, and finds nothing. Ids in blobs of other
 * tables (parts of snapshots; stacks of an unfinished session) are bounded by their unpackers, and
 * not counted.
 */
#ifndef SHINY_STORE_GUARD_H
#define SHINY_STORE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"

/* Call for a connection that has not read anything yet; `bytes`: of the file and its log. */
SHINY_MUST_CHECK struct shiny_err *guard_begin(struct store *store, uint64_t bytes);
/* Checks the schema and the ids, and installs our views; `bytes` as above. */
SHINY_MUST_CHECK struct shiny_err *guard_admit(struct store *store, uint64_t bytes);

/* Reads the highest ids once more, of a file that grows. */
SHINY_MUST_CHECK struct shiny_err *guard_ids_again(struct store *store);

/* Notes that one reading of events met so many dangling ids; the most of all readings counts. */
static inline void guard_met(struct store *store, uint64_t ids)
{
	if (ids > store->guard.astray_events)
		store->guard.astray_events = ids;
}

/* Takes a row with `bytes` of text from the account; false: the statement has returned more than it
 * may. */
bool guard_hand_out(const struct store *store, struct guard_account *account, uint64_t bytes);

#endif
