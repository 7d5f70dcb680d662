/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard_bounds.h: the bounds of one reader (guard.h), and its share of SQLite's memory. Not for
 * other rooms.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: one a store.
 */
#ifndef SHINY_GUARD_BOUNDS_H
#define SHINY_GUARD_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guard_account { /* one statement's */
	uint64_t steps, bytes; /* remaining */
};

enum { GUARD_TABLES = 40, GUARD_NAME = 32 };
struct guard { /* all zero: a writer's, without bounds */
	struct guard_account whole; /* initial account of each statement */
	struct guard_account *running;
	uint64_t file;   /* bytes of the file and its log */
	uint64_t memory; /* bytes that this store added to SQLite's limit */
	struct guard_table {
		char name[GUARD_NAME];
		size_t limit; /* one more than the highest id */
	} tables[GUARD_TABLES]; /* tables with ids */
	size_t table_count;
	bool astray;            /* a dangling reference was read */
	uint64_t astray_events; /* dangling ids in events: the most of any one reading */
};

/* Adds a reader's share to SQLite's limit, which is for the whole process. */
void guard_memory(struct guard *guard, uint64_t bytes);

/* Removes that share; `guard` may be all zero. */
void guard_end(struct guard *guard);

#endif
