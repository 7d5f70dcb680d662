/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_query.h: call sites by what people call them, blocks by their address, and the stacks behind
 * both.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_SITE_QUERY_H
#define SHINY_SITE_QUERY_H

#include "filter.h"

/* A call site that a text may mean. */
struct site_match {
	uint32_t site, frame; /* frame 0: any of the site's stacks; else those that begin with it
	                       * (module+0x…) */
	char *label, *file, *module; /* NULL unknown */
	uint32_t line;
	uint64_t allocs, weight; /* weight: allocs and inherited */
};
struct site_matches {
	struct site_match *rows; /* heaviest first */
	size_t count, room;
};
/*
 * `text` is "#12" (site id), "module+0x1f3", "file:line", "function:line", or a function: its whole
 * name, its name without arguments, or a part of it (* and ? are wildcards). The best way of
 * reading it that finds anything wins: a whole name before a part.
 */
SHINY_MUST_CHECK struct shiny_err *site_query_find(struct store *store, const struct filter *filter,
						   const char *text, struct site_matches *out);
void site_matches_deinit(struct site_matches *places);

/* A block that covered an address: in each process the last one. */
struct block_found {
	uint32_t process, stack, thread, vtable, end_thread;
	uint64_t address, size, born, ended; /* ended 0: live at the end */
	uint8_t api, reading; /* reading: shiny_vptr_api, where vtable is not 0 */
};
struct blocks_found {
	struct block_found *rows; /* live ones first, then the latest */
	size_t count, room;
};
/* Replays the events of the filter. */
SHINY_MUST_CHECK struct shiny_err *blocks_find(struct store *store, const struct filter *filter,
					       uint64_t address, struct blocks_found *out);
void blocks_deinit(struct blocks_found *blocks);

/* Blocks of one stack and vtable, which the sidecar concluded one type for; rows of the same type
 * are together, heaviest first. */
struct type_origin {
	uint32_t stack, vtable, type;
	uint8_t reading, api;
	uint64_t least, most, step; /* sizes of the row that stands for all */
	uint64_t stacks, least_of_all, most_of_all; /* over all rows of the type */
	char *name, *container, *form, *rule, *confidence; /* as the session has it; NULL: not
	                                                    * known */
	bool or_derived;
	struct sums sums;           /* over all rows of the type */
};
struct type_origins {
	struct type_origin *rows; /* one a type, heaviest first */
	size_t count, room;
};
/* Of a site, or, with `stack` not 0, of that stack (and vtable) alone. */
SHINY_MUST_CHECK struct shiny_err *origins_load(struct store *store, const struct filter *filter,
						const struct site_match *place, uint32_t stack,
						uint32_t vtable, struct type_origins *out);
void origins_deinit(struct type_origins *origins);

/* The return addresses of a stack, innermost first. */
struct stack_call {
	uint32_t module; /* module.id, 0 outside any */
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
