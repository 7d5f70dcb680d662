/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakdown.h: one session counted four ways at once: by process role, component, call site and
 * type. What diff.h and check_eval.h are made of: both ask for sums over blocks that several of
 * these describe, and for the rows that make up such a sum.
 *
 * Runs: CLI. Signals: no. Allocates: 120 bytes a cell (a role, component, site and type that have
 * blocks together), 32 a row of table stat, and names; never by the number of events. Threads: one
 * a store.
 *
 *   role       what a process is: its role and purpose, else the name of its program, with ",
 *              forked" where it is a forked child
 *   component  component.h's
 *   site       table site's
 *   type       what a block is, as type_name.h writes it; not how surely it is known, which differs
 *              from run to run. Whether a block's vptr was read in time does, too: where all blocks
 *              of a site whose type is known have one type, those of unknown type count as it
 *
 * Table stat is read once. Events are not: tracker.h follows what they say of cells. But of an
 * interval (filter.h) the sums are in no table, and a pass over the events makes them (subset.h).
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
	char *build_id; /* "" none */
};
struct breakdown_site {
	char *name;            /* not shortened; NULL: there is no stack */
	char *function, *file; /* NULL unknown; file: as the debug information spells it */
	uint32_t line, module, frame; /* module: place in modules; frame: id */
	uint64_t vaddr;
	uint8_t api;           /* enum shiny_api of one of its stacks */
};
struct breakdown_cell {
	uint32_t of[BREAKDOWN_DIMENSIONS]; /* places in names */
	struct sums sums;
	uint64_t least_size, most_size; /* of the requests */
};
struct breakdown_stat {
	uint32_t process, stack, vtable, cell;
};
struct breakdown {
	struct texts names[BREAKDOWN_DIMENSIONS]; /* 0 is what has none; sites: by id of table site,
						   * where texts may be equal */
	char *program;                /* file name of the program that was recorded; NULL unknown */
	char **full_types;            /* a type each: not shortened; NULL: that is its name, or
	                               * several have it */
	bool *labels;                 /* a type each: it is words, not a type */
	uint8_t *guesses;             /* a type each: 1 medium, 2 low: the least sure that its
	                               * blocks have */
	struct breakdown_module *modules; /* 0: none; else by id of table module */
	size_t module_count;
	struct breakdown_site *sites; /* by id; as many as names[BREAKDOWN_SITE] */
	struct breakdown_cell *cells;
	size_t cell_count;
	VEC(struct breakdown_stat) stats; /* process, stack and vtable → cell */
	struct hash_table stat_index;	  /* of stats */
	size_t stack_count;           /* first stack id beyond */
	uint32_t *role_of;            /* by process id */
	size_t process_count;
	struct sums total;	      /* over the filter */
	uint64_t processes, duration; /* of the filter; of the session or interval, ns */
	uint64_t lost;                /* counts of all losses */
	struct loss_sum losses;       /* the same by unit */
	bool complete, with_events;
};

/*
 * `rules` NULL: all is of component 0, which saves the time. `full`: names are not shortened.
 * `title`: for the progress line where the filter has an interval; NULL none.
 */
SHINY_MUST_CHECK struct shiny_err *breakdown_load(struct store *store, const struct filter *filter,
						  const struct component_rules *rules, bool full,
						  const char *title, struct breakdown *out);
void breakdown_deinit(struct breakdown *breakdown);

/* The cell of a block, as far as its vtable is known; BREAKDOWN_NO_CELL: none. */
#define BREAKDOWN_NO_CELL UINT32_MAX
uint32_t breakdown_cell(const struct breakdown *breakdown, uint32_t process, uint32_t stack,
			uint32_t vtable);

#endif
