/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_functions.h: functions of a file without symbols whose code names a source file: in an
 * assertion, a log line, or a location that it hands on.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 32 bytes a function, 16 an anchor; while it searches,
 * 16 bytes a reference. Threads: some of its own while it searches.
 */
#ifndef SHINY_SYM_SOURCE_FUNCTIONS_H
#define SHINY_SYM_SOURCE_FUNCTIONS_H

#include "../flow/flow_callee.h"
#include "source_texts.h"

/* A part of a function: no other function's code lies between its bounds. */
struct source_function {
	uint64_t low, high;
	uint64_t path; /* the address of the path that it names; 0: it names several */
	uint64_t name; /* of the text with its own name; 0: none, or several */
};
/* A name: there is none, and the file may be wrong where the linker did not keep the order. */
#define SOURCE_UNSURE UINT64_MAX
/* An instruction that names something in a namespace. */
struct source_anchor {
	uint64_t code, text;
};
struct source_functions {
	VEC(struct source_function) all;   /* by address; they do not overlap */
	VEC(struct source_anchor) anchors; /* by address */
};

/* False: there are more references than a program has, and `out` is empty. */
bool source_functions_find(const struct flow_code *code, const struct source_texts *texts,
			   struct source_functions *out);
void source_functions_deinit(struct source_functions *functions);

/* As a rule nothing shows which functions name another one's file. */
bool source_functions_mixed(const struct source_functions *functions);

/* The function that holds `vaddr`; NULL: none of them does. */
const struct source_function *source_functions_at(const struct source_functions *functions,
						  uint64_t vaddr);

#endif
