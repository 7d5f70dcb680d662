/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_facts.h: what a session says of itself: its keys, what it holds, its modules, notes, what
 * was not recorded, what was counted, its schema.
 *
 * Runs: CLI. Signals: no. Allocates: a query. Threads: one a store.
 */
#ifndef SHINY_SESSION_FACTS_H
#define SHINY_SESSION_FACTS_H

#include "../../store/store.h"

enum session_fact {
	FACT_KEYS,	 /* key, value, type of the value */
	FACT_CONTENTS,	 /* what, rows */
	FACT_NAMES,	 /* modules, a text that says which names they have */
	FACT_MODULES,	 /* path, build-id, symbols, debug file, note */
	FACT_UNRECORDED, /* program, how many, why */
	FACT_NOTES,	 /* process, its name, text */
	FACT_COUNTED,	 /* how many, of what */
	FACT_SCHEMA,	 /* SQL */
	FACTS
};

/* The rows of one of them, with these columns; query_end() ends it, on an error too. */
SHINY_MUST_CHECK struct shiny_err *session_fact_rows(struct store *store, enum session_fact fact,
						     struct query **out);

#endif
