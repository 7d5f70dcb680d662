/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident.h: a line for each large process: its resident memory, and whose that is.
 *
 * Runs: CLI. Signals: no. Allocates: the lines' texts. Threads: one a store.
 */
#ifndef SHINY_RESIDENT_H
#define SHINY_RESIDENT_H

#include "../../analysis/space/memory.h"
#include "../../answer/table.h"

enum { RESIDENT_MOST = 3 };

struct resident_row {
	char *name;           /* of the process: its role, or its program */
	uint32_t pid;
	uint64_t time, bytes; /* of the sample; bytes: resident */
	uint64_t known;       /* of these, those with an owner */
	char *owners;         /* "malloc 61 %, modules 30 %" */
};
/* The processes with most resident bytes; `large`: those with a tenth of all or more. */
struct resident {
	struct resident_row rows[RESIDENT_MOST];
	size_t count, large;
};

/* Loads the processes' last samples, or those with most resident bytes. */
SHINY_MUST_CHECK struct shiny_err *resident_load(struct store *store, const struct filter *filter,
						 enum memory_moment moment, struct resident *out);
void resident_deinit(struct resident *resident);

/* Prints the first `rows` lines; `many`: with the processes' names. */
void resident_print(const struct style *style, const struct resident *resident, size_t rows,
		    bool many);
/* Returns one of these lines; the caller frees it. */
char *resident_text(const struct resident *resident, size_t row, bool many);

extern const struct field resident_fields[]; /* of struct resident_row */

#endif
