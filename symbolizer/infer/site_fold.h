/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_fold.h: lists the functions that share the code around a return address, because a linker or
 * a compiler folded equal code.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_SITE_FOLD_H
#define SHINY_SYM_SITE_FOLD_H

#include "../dwarf/debug_twins.h"
#include "site_reader.h"

/* Lists the functions other than the one found by the address, at most `room`; returns the number
 * of all. Functions known only by a symbol have no DIE. */
size_t site_folds(const struct site_reader *reader, uint64_t vaddr, struct debug_twin *out,
		  size_t room);

/* True if several symbols start at `vaddr`. */
bool site_fold_may_be(const struct symbols *functions, uint64_t vaddr);

/* Joins names, and texts like its result, to "A | B": sorted, each once; interned. `more` is the
 * number of further names; SITE_FOLD_OTHERS: unknown. */
enum { SITE_FOLD_OTHERS = -1 };
const char *site_fold_text(struct names *names, const char *const *texts, size_t count,
			   int more);
/* site_fold_is: true if the text has several names. site_fold_has: true if `name` is one of
 * them. */
bool site_fold_is(const char *text);
bool site_fold_has(const char *text, const char *name);
/* Copies the next name into `out`, which must have room for the text, and advances *text: NULL
 * after the last name. False: there is none. */
bool site_fold_next(const char **text, char *out);

#endif
