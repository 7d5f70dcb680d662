/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mappings.h: the memory of the session's processes beside malloc, and its owners.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Records of calls (mappings_call) build each process's table of segments (segments.h). Samples
 * (mappings_sample.h) complete that table, and have the resident bytes. This module handles the
 * calls, the forks, the owners of segments and their rows.
 */
#ifndef SHINY_MAPPINGS_H
#define SHINY_MAPPINGS_H

#include <stdint.h>

#include <shiny/wire/wire.h>

struct process;
struct mappings_watch;
struct output;
struct people;
struct sym_module;

/* Applies a mapping call of the process; `stack` is session-wide. */
void mappings_call(struct mappings_watch *watch, struct process *process,
		   const struct shiny_map *map, unsigned call, uint32_t stack, uint64_t time);
void mappings_fork(struct process *child, const struct process *parent);

/* Write rows of new and changed segments: of the running processes, and of one that closes. */
void mappings_write(const struct people *people, struct output *output);
void mappings_end(struct mappings_watch *watch, struct output *output, struct process *process);
/* Call at the end: finds owners also by the functions of the mapping calls, and writes the last
 * rows. `modules`: by id, opened. */
void mappings_finish(const struct people *people, struct output *output,
		     struct sym_module **modules);

#endif
