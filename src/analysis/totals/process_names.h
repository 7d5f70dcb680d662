/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_names.h: what a process is called in reports on single processes: its role, "renderer",
 * else its program's name.
 *
 * Runs: CLI. Signals: no. Allocates: by processes. Threads: one a store.
 */
#ifndef SHINY_PROCESS_NAMES_H
#define SHINY_PROCESS_NAMES_H

#include "../query/filter.h"

struct process_name {
	char *name; /* NULL: there is no such process */
	uint32_t pid;
};
struct process_names {
	struct process_name *of; /* by id */
	size_t count;
};

SHINY_MUST_CHECK struct shiny_err *process_names_load(struct store *store,
						      struct process_names *out);
/* The caller's from now on; "" where there is none. */
char *process_names_take(struct process_names *names, uint32_t process);
void process_names_deinit(struct process_names *names);

#endif
