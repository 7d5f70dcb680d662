/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_origins.h: the stacks, vtables and sizes from which the sidecar derived types, for a call
 * site or a block.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_TYPE_ORIGINS_H
#define SHINY_TYPE_ORIGINS_H

#include "site_query.h"

/* The blocks for which the sidecar derived one type; stack, vtable, reading and api are those of
 * the heaviest. */
struct type_origin {
	uint32_t stack, vtable, type;
	uint8_t reading, api;
	uint64_t least, most, step; /* sizes of the heaviest row */
	uint64_t stacks, least_of_all, most_of_all; /* over all rows of the type */
	char *name, *container, *form, *rule, *confidence; /* NULL: unknown */
	bool or_derived;
	struct sums sums;           /* over all rows of the type */
};
struct type_origins {
	struct type_origin *rows; /* one a type, heaviest first */
	size_t count, room;
};
/* Loads the types of a site, or, if `stack` is not 0, of that stack and vtable only. */
SHINY_MUST_CHECK struct shiny_err *origins_load(struct store *store, const struct filter *filter,
						const struct site_match *place, uint32_t stack,
						uint32_t vtable, struct type_origins *out);
void origins_deinit(struct type_origins *origins);

/* The return addresses of a stack, innermost first. */
struct stack_call {
	uint32_t module; /* id of table module; 0: none */
	uint64_t vaddr;
};
struct stack_calls {
	struct stack_call *rows;
	size_t count, room;
};
SHINY_MUST_CHECK struct shiny_err *stack_calls_load(struct store *store, uint32_t stack,
						    struct stack_calls *out);
void stack_calls_deinit(struct stack_calls *calls);

#endif
