/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_rows.h: a phase of the heap, and the types and call sites that make it up.
 *
 * Runs: CLI. Signals: no. Allocates: 48 bytes a phase and type or site. Threads: one a store.
 *
 * Each block is counted when it has ended: for the phase of its birth, and for the phase of its
 * end. Which phases there are is known at the end only: until then phase_log.h has the blocks, and
 * where those are too many for it another pass over the events counts them.
 */
#ifndef SHINY_PHASE_ROWS_H
#define SHINY_PHASE_ROWS_H

#include "../attribute/groups.h"
#include "phase_log.h"
#include "phases.h"

enum { PHASE_ROWS = 4 };
struct phase_row { /* a type or a call site, in a phase */
	char *name;                           /* empty rows have NULL, and are the last */
	uint64_t blocks, bytes;               /* that began in it */
	uint64_t kept_blocks, kept_bytes;     /* of these, alive at its end */
	uint64_t ended_blocks, ended_bytes;   /* that ended in it and began before it */
};
struct phase {
	enum phase_kind kind;
	size_t first, last;                        /* intervals, both included */
	uint64_t begin, end;                       /* ns; the end of the last interval, or of the
	                                            * session */
	uint64_t begin_blocks, begin_bytes;        /* live */
	uint64_t end_blocks, end_bytes, most_bytes;
	uint64_t allocs, alloc_bytes, frees, free_bytes;
	/* The largest first: of a rise by kept bytes, of a fall by ended bytes, else by bytes. */
	struct phase_row types[PHASE_ROWS], sites[PHASE_ROWS];
};

/* The bytes by which a phase's rows are ordered. */
static inline uint64_t phase_weight(const struct phase *phase, const struct phase_row *row)
{
	return phase->kind == PHASE_RISE   ? row->kept_bytes
	       : phase->kind == PHASE_FALL ? row->ended_bytes
					   : row->bytes;
}

/* The block lives at the session's end. */
static inline bool phase_stays(const struct replay_process *process, const struct life_death *death)
{
	return death->end == LIFE_NEVER && !process->early;
}

/* Fills in `types` and `sites` of each phase; `groups` are types and call sites, `log` has all
 * blocks but those that are inherited, by these. */
SHINY_MUST_CHECK struct shiny_err *phase_rows_load(struct store *store, const struct filter *filter,
						   const struct groups groups[2],
						   struct phase_log *log, bool progress,
						   struct phase *phases, size_t phase_count);

#endif
