/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h: the state of one session: its rings, processes and streams, the ids of named objects,
 * and the store.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * The rooms above change it; this module only writes rows that several of them need. It has opaque
 * pointers to the modules above.
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
struct page_uses;
struct resolve_ahead;
struct watches;

struct session {
	const struct sidecar_options *options;
	struct output output;
	struct rings rings;
	struct people people;
	struct sym_options symbols;  /* for the two symbolizers */
	struct resolve_ahead *ahead; /* NULL: call sites are typed at the end only */
	struct accesses *accesses;	      /* NULL: none can be recorded */
	struct watches *watches;	      /* NULL: off */
	struct page_uses *page_uses;	      /* NULL: off */
	struct snapshot_queue *asked;	      /* NULL: no request for a heap snapshot yet */
	struct snapshot_taker *snapshots;     /* NULL: not served yet */
	uint64_t committed;   /* committed events */
	unsigned write_tries; /* tries of failed writes since the last commit */
	bool given_up;	      /* failed writes are not tried again */
};

#endif
