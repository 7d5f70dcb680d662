/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_rows.h: the phases of the heap, with their types and call sites.
 *
 * Runs: CLI. Signals: no. Allocates: 104 bytes a phase and type or site. Threads: one a store.
 *
 * Each block is counted when it has ended, for the phases of its birth and of its end. The phases
 * are known only at the end: until then phase_log.h keeps the blocks; if it drops them, another
 * pass over the events counts them.
 */
#ifndef SHINY_PHASE_ROWS_H
#define SHINY_PHASE_ROWS_H

#include "../attribute/groups.h"
#include "phase_log.h"
#include "phases.h"

enum { PHASE_ROWS = 4 };
struct phase_row { /* a type or a call site, in a phase */
	char *name;                           /* NULL in the empty rows at the end */
	struct estimated began; /* in the phase */
	struct estimated kept;  /* of these, live at its end */
	struct estimated ended; /* in it, and began before it */
};
struct phase {
	size_t number;                             /* from 1 */
	enum phase_kind kind;
	size_t first, last;                        /* intervals, both included */
	uint64_t begin, end;                       /* ns; end of the last interval, or of the
						    * session */
	struct estimated at_begin, at_end, most;   /* live; `most` of bytes */
	struct estimated began, ended;             /* during it */
	/* largest first: of a rise by kept bytes, of a fall by ended bytes, else by bytes */
	struct phase_row types[PHASE_ROWS], sites[PHASE_ROWS];
};

/* Returns the bytes by which a phase's rows are ordered. */
static inline uint64_t phase_weight(const struct phase *phase, const struct phase_row *row)
{
	return phase->kind == PHASE_RISE   ? row->kept.bytes
	       : phase->kind == PHASE_FALL ? row->ended.bytes
					   : row->began.bytes;
}

/* True if the block is live at the session's end. */
static inline bool phase_stays(const struct replay_process *process, const struct life_death *death)
{
	return death->end == LIFE_NEVER && !process->early;
}

/* Fills in `types` and `sites` of each phase. `groups`: types, call sites; `log` has all blocks by
 * these, except inherited ones; NULL: the events are read for them. */
SHINY_MUST_CHECK struct shiny_err *phase_rows_load(struct store *store, const struct filter *filter,
						   const struct groups groups[2],
						   struct phase_log *log, bool progress,
						   struct phase *phases, size_t phase_count);

#endif
