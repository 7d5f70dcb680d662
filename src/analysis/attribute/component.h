/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component.h: finds the component that owns each allocation: blink, v8, net, a library, the
 * program itself.
 *
 * Runs: CLI. Signals: no. Allocates: yes, about 20 bytes a stack and a frame. Threads: one a store.
 *
 * The session keeps stacks; their owners are computed by each command, so that rules can change
 * without recording again. Every row of table stat is counted for exactly one component, so the
 * sums are those of every other report.
 */
#ifndef SHINY_COMPONENT_H
#define SHINY_COMPONENT_H

#include "component_judge.h"
#include "../query/filter.h"

/* Blocks of one process, type and component. */
struct component_row {
	uint32_t process, type, name; /* type 0: unknown; names.at[name] */
	uint64_t value, variance;
};
struct components {
	struct component_row *rows; /* in no order; each (process, component, type) once */
	size_t count;
	struct component_owner *owners; /* largest value first */
	size_t owner_count;
	struct texts names;
	uint64_t total;
};

/* Adds up `column`, a number of table stat that has a variance (sum_list.h), by component. `rules`
 * must outlive the result. */
SHINY_MUST_CHECK struct shiny_err *components_load(struct store *store, const struct filter *filter,
						   const struct component_rules *rules,
						   const char *column, struct components *out);
void components_deinit(struct components *components);

/*
 * The component of each stack, for analyses that count other things than table stat.
 * COMPONENT_ASK_TYPE: only a module's rule or a place gives the component, so that of the block's
 * type comes first.
 */
#define COMPONENT_ASK_TYPE (UINT32_C(1) << 31)
struct component_stacks {
	struct texts names; /* [0] is "(nobody)" */
	uint32_t *of_stack; /* stack id, 0 included → name, perhaps with COMPONENT_ASK_TYPE */
	size_t stack_count;
	uint32_t *of_type; /* type id → name, 0: no component */
	size_t type_count;
	/* Function of a frame, in the order of stack_paths.h → its own component, or its module's:
	 * the stack's may be another function's. */
	uint32_t *of_function;
	size_t function_count;
};
SHINY_MUST_CHECK struct shiny_err *component_stacks_load(struct store *store,
							 const struct component_rules *rules,
							 struct component_stacks *out);
void component_stacks_deinit(struct component_stacks *stacks);

#endif
