/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakdown.h: counts one session by process role, component, call site and type at once. diff.h
 * and check_eval.h need sums over blocks that several of these select, and the rows of such a sum.
 *
 * Runs: CLI. Signals: no. Allocates: 120 bytes a cell (a role, component, site and type that have
 * blocks together), 32 a row of table stat, and names; never by the number of events. Threads: one
 * a store.
 *
 *   role       a process's role and purpose, else the name of its program, with ", forked" for a
 *              forked child
 *   component  component.h's
 *   site       table site's
 *   type       a block's type as type_name.h writes it, without its confidence, which differs from
 *              run to run. So does whether a vptr was read in time: if all blocks of a site with a
 *              known type have one type, those without a type count as it
 *
 * Table stat is read once. Events are not: tracker.h follows them by cell. Only the sums of an
 * interval (filter.h) are in no table, and take a pass over the events (subset.h).
 */
#ifndef SHINY_BREAKDOWN_H
#define SHINY_BREAKDOWN_H

#include "../../base/mem.h"
#include "../../base/texts.h"
#include "../attribute/component.h"
#include "../query/filter.h"
#include "../../store/loss.h"

enum breakdown_by {
	BREAKDOWN_TYPE,
	BREAKDOWN_SITE,
	BREAKDOWN_COMPONENT,
	BREAKDOWN_ROLE,
	BREAKDOWN_DIMENSIONS
};
extern const char *const breakdown_names[BREAKDOWN_DIMENSIONS]; /* "type" */

struct breakdown_module {
	char *key;      /* file name without version; "*": the program that was recorded */
	char *name;     /* file name */
	char *build_id; /* "": none */
};
struct breakdown_site {
	char *name;            /* not shortened; NULL: no stack */
	char *function, *file; /* NULL: unknown; file: as the debug information spells it */
	uint32_t line, module, frame; /* module: index of `modules`; frame: id */
	uint64_t vaddr;
	uint8_t api;           /* enum shiny_api of one of its stacks */
};
struct breakdown_cell {
	uint32_t of[BREAKDOWN_DIMENSIONS]; /* indexes of `names` */
	struct sums sums;
	uint64_t least_size, most_size; /* of the requests */
};
struct breakdown_stat {
	uint32_t process, stack, vtable, cell;
};
struct breakdown {
	struct texts names[BREAKDOWN_DIMENSIONS]; /* [0]: blocks without one; sites: by id of table
						   * site, texts may repeat */
	char *program;                /* file name of the recorded program; NULL: unknown */
	char **full_types;            /* by type: not shortened; NULL: same as its name, or several
				       * have it */
	bool *labels;                 /* by type: true if it is a label, not a type */
	uint8_t *guesses;             /* by type: 1 medium, 2 low: the least confidence of its
				       * blocks */
	struct breakdown_module *modules; /* indexed by id of table module; [0]: none */
	size_t module_count;
	struct breakdown_site *sites; /* indexed by id, as names[BREAKDOWN_SITE] */
	struct breakdown_cell *cells;
	size_t cell_count;
	VEC(struct breakdown_stat) stats; /* process, stack and vtable → cell */
	struct hash_table stat_index;	  /* index of `stats` */
	size_t stack_count;           /* 1 + the highest stack id */
	uint32_t *role_of;            /* process id → role */
	size_t process_count;
	struct sums total;	      /* of the filter's blocks */
	uint64_t processes, duration; /* processes of the filter; ns of the session or interval */
	uint64_t lost;                /* sum of all losses' counts */
	struct loss_sum losses;       /* the losses by unit */
	bool complete, with_events;
	uint64_t sample; /* mean of the session's sample, bytes; 0: all blocks were recorded */
};

/* Counts a session. `rules` NULL: all blocks have component 0, which saves time. `full`: names are
 * not shortened. `title`: of the progress line, if the filter has an interval; NULL: none. */
SHINY_MUST_CHECK struct shiny_err *breakdown_load(struct store *store, const struct filter *filter,
						  const struct component_rules *rules, bool full,
						  const char *title, struct breakdown *out);
void breakdown_deinit(struct breakdown *breakdown);

/* Returns the cell of a block with its vtable as far as known; BREAKDOWN_NO_CELL: none. */
#define BREAKDOWN_NO_CELL UINT32_MAX
uint32_t breakdown_cell(const struct breakdown *breakdown, uint32_t process, uint32_t stack,
			uint32_t vtable);

#endif
