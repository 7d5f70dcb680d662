/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_sites.h: where a file's code makes Oilpan objects: the calls that get a type's index, and
 * the calls that register a type.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: yes. Threads: sweep_code()'s while it works.
 */
#ifndef SHINY_SYM_PROBE_SITES_H
#define SHINY_SYM_PROBE_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../elf/binary.h"
#include "probe_eval.h"

/* A call with an index in an argument register. */
struct probe_site {
	uint64_t call;   /* of the instruction */
	uint64_t target;
	uint64_t info;   /* the GCInfo, or the variable, that has the index */
	uint8_t index;   /* number of the argument with it */
	uint8_t known;   /* bit n: argument n is a constant: */
	uint32_t value[EVAL_ARGUMENTS];
};

/* A call that gets a variable's address and a function's: a type registers itself. */
struct probe_registration {
	uint64_t call, target, slot;
	uint64_t argument[4]; /* as far as constant; 0: not */
	bool loaded;          /* seen together with a load of the variable */
};

struct probe_sites {
	struct probe_site *sites; /* by call; one call may have several types */
	size_t site_count;
	struct probe_registration *registrations; /* by call */
	size_t registration_count;
	unsigned info_shift; /* log2 of a GCInfo's size, as all sites compute it; 0: none seen, or
	                      * they differ */
};

/* First sweep: what looks like either, from the GCInfos or the variables in `world`. */
void probe_sites_find(const struct eval_world *world, struct probe_sites *out);
void probe_sites_deinit(struct probe_sites *sites);

/* A function, and how often it is called. */
struct probe_target {
	uint64_t vaddr;
	uint32_t calls;     /* out: calls and jumps to it, whatever their arguments */
	uint32_t registers; /* it registers types: so many arguments, the variable's address and
	                     * functions. 0: it doesn't */
};

/*
 * Second sweep, targets being known, sorted by address: counts their calls, and finds all that
 * register a type. The caller frees what comes out; a call whose arguments aren't constants isn't
 * in it.
 */
void probe_sites_count(const struct eval_world *world, struct probe_target *targets, size_t count,
		       struct probe_registration **out, size_t *out_count);

#endif
