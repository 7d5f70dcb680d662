/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_types.h: the types of Oilpan: names, sizes, sites; and the finds of probe_oilpan.c that
 * they are derived from.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: yes. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_PROBE_TYPES_H
#define SHINY_SYM_PROBE_TYPES_H

#include "probe_entries.h"
#include "probe_file.h"
#include "probe_sites.h"
#include "../elf/reloc.h"

enum { OILPAN_REGISTRARS = 8 };

/* A function that sites call. */
struct probe_candidate {
	uint64_t vaddr;
	uint32_t sites, agreeing; /* all; of them, those that pass the index where the function's
	                           * code expects it */
	uint32_t by_index[EVAL_ARGUMENTS];
	uint32_t low[EVAL_ARGUMENTS], high[EVAL_ARGUMENTS]; /* least and greatest constant of each
	                                                     * argument */
	uint32_t known[EVAL_ARGUMENTS];
	struct entry_allocates facts;
};

struct registrar {
	uint64_t vaddr;
	uint32_t calls;
	struct entry_registers facts;
};

struct oilpan {
	struct probe_draft *draft;
	struct reloc_index *relocs;
	struct eval_world world;
	struct probe_sites sites;
	/* sorted by address; after selection only the believed ones, most sites first */
	VEC(struct probe_candidate) candidates;
	struct registrar registrars[OILPAN_REGISTRARS];
	size_t registrar_count;
	struct probe_registration *registrations;
	size_t registration_count;
};

/* Orders the draft's types, for qsort(). */
int oilpan_by_info(const void *a, const void *b);

/* Names the draft's types, which are sorted by info, and notes how many have which kind of name. */
void oilpan_name_types(struct oilpan *o);

/* Adds the sites' information to the types. If most types have no site, entries lose their
 * confidence. */
void oilpan_join_sites(struct oilpan *o);

#endif
