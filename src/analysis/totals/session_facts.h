/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_facts.h: queries of a session's own facts: keys, contents, modules, notes, programs not
 * recorded, counters, schema.
 *
 * Runs: CLI. Signals: no. Allocates: a query. Threads: one a store.
 */
#ifndef SHINY_SESSION_FACTS_H
#define SHINY_SESSION_FACTS_H

#include "../../store/store.h"

enum session_fact {
	FACT_KEYS,	 /* key, value, type of the value */
	FACT_CONTENTS,	 /* table, rows */
	FACT_NAMES,	 /* modules, a text about the names they have */
	FACT_MODULES,	 /* path, build-id, symbols, debug file, note */
	FACT_UNRECORDED, /* program, number, reason */
	FACT_NOTES,	 /* process, its name, text */
	FACT_COUNTED,	 /* count, text */
	FACT_SCHEMA,	 /* SQL */
	FACTS
};

/* Queries the rows of a fact, with these columns. End it by query_end(), also after an error. */
SHINY_MUST_CHECK struct shiny_err *session_fact_rows(struct store *store, enum session_fact fact,
						     struct query **out);

#endif
