/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_names.h: finds the function's name beside the path of its source file, where code passes
 * on both.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 40 bytes a call. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_SOURCE_NAMES_H
#define SHINY_SYM_SOURCE_NAMES_H

#include <stdbool.h>

#include "../../src/base/mem.h"
#include "../flow/flow_callee.h"

/* A call that gets a path and, beside it, a text that may be a function's name. */
struct source_naming {
	uint32_t function; /* the caller's index of the function */
	bool behind;       /* the text follows the path and the line; else it precedes them */
	uint64_t callee, text, line;
	bool proven;   /* nearly all such texts of the callee are names */
	bool repeated; /* another function has the same line: it was inlined */
};
struct source_namings {
	VEC(struct source_naming) all;
};

/* Adds the calls in a function's code that get the path at `path`. */
void source_namings_add(struct source_namings *namings, const struct flow_code *code,
			uint32_t function, uint64_t low, uint64_t high, uint64_t path);
/* Sets `proven` and `repeated`, and changes the order. */
void source_namings_judge(struct source_namings *namings, const struct binary *file);
void source_namings_deinit(struct source_namings *namings);

/* Returns the name in a text, and its length: net::open of "int net::open(const char *)". NULL:
 * there is none. */
const char *source_name_in(const char *text, size_t *length);

#endif
