/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_facts.h: a session's own facts: keys, contents, modules, notes, programs not
 * recorded, counters, schema.
 *
 * Runs: CLI. Signals: no. Allocates: the rows. Threads: one a store.
 */
#ifndef SHINY_SESSION_FACTS_H
#define SHINY_SESSION_FACTS_H

#include "../../store/store.h"

enum session_fact {
	FACT_KEYS,	 /* key, value, type of the value */
	FACT_CONTENTS,	 /* table, rows */
	FACT_NAMES,	 /* a text about the names that modules have, number of modules */
	FACT_MODULES,	 /* path, build-id, symbols, debug file, note */
	FACT_UNRECORDED, /* program, number, reason */
	FACT_NOTES,	 /* process, its name, text */
	FACT_COUNTED,	 /* text, count */
	FACT_SCHEMA,	 /* SQL */
	FACTS
};

enum { FACT_COLUMNS = 5 };
struct fact_row {
	char *texts[FACT_COLUMNS];	/* of each column; of a module NULL: null */
	int64_t numbers[FACT_COLUMNS];	/* the same as numbers; a text without digits: 0 */
};
struct fact_rows {
	struct fact_row *at;
	size_t count, room;
};
struct session_facts {
	struct fact_rows of[FACTS]; /* of those that were loaded */
};

/* Adds the rows of a fact, with these columns. */
SHINY_MUST_CHECK struct shiny_err *session_fact_load(struct store *store, enum session_fact fact,
						     struct session_facts *out);
void session_facts_deinit(struct session_facts *facts);

#endif
