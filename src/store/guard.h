/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h: what a session file from somebody else may not do to its reader. Not for other rooms.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 *
 * A file is not believed. Its schema is compared, text by text, with the one that schema.sql makes;
 * its views and triggers are switched off, and ours, from that same text, stand in their place as
 * temporary ones: a file that is exchanged under us gains nothing. Its ids become indices of the
 * reader's tables, so the file's bytes and rows bound them before anybody asks for memory. A
 * statement may take as many of SQLite's steps, and hand out as many bytes, as a file of its size
 * can need; so much memory SQLite has as well.
 *
 * A reference to a row that is not there is none: query_number gives 0 for a column of
 * references.def, and the unpacker for an id in a block of events (block.h), before any reader sees
 * it. Who reads one remembers that, and store_astray counts them, in the whole file, with what was
 * read of its events. Beyond a table's highest id is what counts as not there; an id of a gap below
 * it is an index that fits, and finds nothing. Ids in blobs of other tables (parts of snapshots;
 * stacks of an unfinished session) are bounded by those who unpack them, and not counted.
 */
#ifndef SHINY_STORE_GUARD_H
#define SHINY_STORE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"

/* For a connection that has not read anything yet; `bytes` are those of the file and its log. */
SHINY_MUST_CHECK struct shiny_err *guard_begin(struct store *store, uint64_t bytes);
/* The schema is ours, and so are the views from here on; ids are what the file can have. */
SHINY_MUST_CHECK struct shiny_err *guard_admit(struct store *store, uint64_t bytes);

/* The ids are taken again, where the file grows. */
SHINY_MUST_CHECK struct shiny_err *guard_ids_again(struct store *store);

/* So many ids in events were not there, in one reading of some. */
static inline void guard_met(struct store *store, uint64_t ids)
{
	if (ids > store->guard.astray_events)
		store->guard.astray_events = ids;
}

/* Takes a row of so many bytes of text from the account; false: the statement has handed out more
 * than it may. */
bool guard_hand_out(const struct store *store, struct guard_account *account, uint64_t bytes);

#endif
