/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_fold.h: the functions that share the code around a return address, where a linker or a
 * compiler has folded equal code.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_SITE_FOLD_H
#define SHINY_SYM_SITE_FOLD_H

#include "../dwarf/debug_twins.h"
#include "site_reader.h"

/* The functions other than the one that is found by the address: at most `room`; returns how many
 * there are. Those that only a symbol is known of have no DIE. */
size_t site_folds(const struct site_reader *reader, uint64_t vaddr, struct debug_twin *out,
		  size_t room);

/* Do several symbols say where a function begins? */
bool site_fold_may_be(const struct symbols *functions, uint64_t vaddr);

/* "A | B" of names, and of texts like it: sorted, each once; interned. `more` is how many others
 * there are, SITE_FOLD_OTHERS: some. */
enum { SITE_FOLD_OTHERS = -1 };
const char *site_fold_text(struct names *names, const char *const *texts, size_t count,
			   int more);
/* Is it such a text? Is `name` one of its names? */
bool site_fold_is(const char *text);
bool site_fold_has(const char *text, const char *name);
/* Takes the next of its names into `out`, which has room for the text; *text is NULL behind the
 * last. False: there is none. */
bool site_fold_next(const char **text, char *out);

#endif
