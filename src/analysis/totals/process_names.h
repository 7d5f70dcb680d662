/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_names.h: names processes for reports on single ones: by role, "renderer", else by the
 * program's name.
 *
 * Runs: CLI. Signals: no. Allocates: by processes. Threads: one a store.
 */
#ifndef SHINY_PROCESS_NAMES_H
#define SHINY_PROCESS_NAMES_H

#include "../query/filter.h"

struct process_name {
	char *name; /* NULL: no such process */
	uint32_t pid;
};
struct process_names {
	struct process_name *of; /* indexed by id */
	size_t count;
};

SHINY_MUST_CHECK struct shiny_err *process_names_load(struct store *store,
						      struct process_names *out);
/* Takes a name out, for the caller to free; "": none. */
char *process_names_take(struct process_names *names, uint32_t process);
void process_names_deinit(struct process_names *names);

#endif
