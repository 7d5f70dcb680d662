/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h: the state of one session: what goes to its file, its rings and its processes.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * A function takes the groups that it uses (output.h, rings.h, people.h). The whole session is for
 * those that use all of them, as the round, the merge and whatever may find a new process.
 */
#ifndef SHINY_SESSION_H
#define SHINY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../symbolizer/sym.h"
#include "../../base/mem.h"
#include "output.h"
#include "people.h"
#include "rings.h"
#include "sidecar_options.h"

struct accesses;
struct snapshot_queue;
struct snapshot_taker;
struct resolve_ahead;

/* The costs at the last comparison with the budget of a sample, and its level (sample_budget.h). */
struct sample_costs {
	uint64_t wall, program, own, events, blocks;
	uint32_t level;
};

struct session {
	const struct sidecar_options *options;
	struct output output;
	struct rings rings;
	struct people people;
	struct sample_costs sample;
	struct sym_options symbols;	  /* for the two symbolizers */
	struct resolve_ahead *ahead;	  /* NULL: call sites are typed at the end only */
	struct accesses *accesses;	  /* NULL: none can be recorded */
	struct snapshot_queue *asked;	  /* NULL: no request for a heap snapshot yet */
	struct snapshot_taker *snapshots; /* NULL: not served yet */
	uint64_t committed;		  /* committed events */
	unsigned write_tries;		  /* tries of failed writes since the last commit */
	bool given_up;			  /* failed writes are not tried again */
};

#endif
