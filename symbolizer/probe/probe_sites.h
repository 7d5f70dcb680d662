/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_sites.h: finds where a file's code creates Oilpan objects: the calls that get a type's
 * index, and the calls that register a type.
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
	uint64_t call;   /* address of the instruction */
	uint64_t target;
	uint64_t info;   /* address of the GCInfo, or the variable, that gives the index */
	uint8_t index;   /* number of the argument with the index */
	uint8_t known;   /* bit n: argument n is the constant value[n] */
	uint32_t value[EVAL_ARGUMENTS];
};

/* A call that gets the addresses of a variable and of a function: a type registers itself. */
struct probe_registration {
	uint64_t call, target, slot;
	uint64_t argument[4]; /* constant arguments; 0: not constant */
	bool loaded;          /* the path loaded the variable before */
};

struct probe_sites {
	struct probe_site *sites; /* sorted by call; one call may have several types */
	size_t site_count;
	struct probe_registration *registrations; /* sorted by call */
	size_t registration_count;
	unsigned info_shift; /* log2 of a GCInfo's size, as all sites compute it; 0: none seen, or
	                      * they differ */
};

/* First sweep: finds likely sites and registrations, from the GCInfos or the variables in
 * `world`. */
void probe_sites_find(const struct eval_world *world, struct probe_sites *out);
void probe_sites_deinit(struct probe_sites *sites);

/* A function, and the number of its calls. */
struct probe_target {
	uint64_t vaddr;
	uint32_t calls;     /* out: calls and jumps to it, whatever their arguments */
	uint32_t registers; /* number of its arguments, the variable's address and functions, if it
	                     * registers types; else 0 */
};

/*
 * Second sweep, with known targets, sorted by address: counts their calls, and finds all that
 * register a type with constant arguments. The caller frees *out.
 */
void probe_sites_count(const struct eval_world *world, struct probe_target *targets, size_t count,
		       struct probe_registration **out, size_t *out_count);

#endif
