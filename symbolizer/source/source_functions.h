/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_functions.h: functions of a file without symbols whose code names a source file: in an
 * assertion, a log line, or a location that it passes on.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 32 bytes a function or title, 16 an anchor; while it
 * searches, 16 bytes a reference. Threads: some of its own while it searches.
 */
#ifndef SHINY_SYM_SOURCE_FUNCTIONS_H
#define SHINY_SYM_SOURCE_FUNCTIONS_H

#include "../flow/flow_callee.h"
#include "source_texts.h"

/* A part of a function; [low, high) contains no other function's code. */
struct source_function {
	uint64_t low, high;
	uint64_t path; /* address of the path that it names; 0: it names several */
	uint64_t name; /* address of the text with its own name; 0: none, or several; or
	                * SOURCE_UNSURE */
};
/* Value of `name`: there is none, and the path may be wrong unless the linker kept the order. */
#define SOURCE_UNSURE UINT64_MAX
/* An instruction at `code` that names something in a namespace. */
struct source_anchor {
	uint64_t code, text;
};
struct source_functions {
	VEC(struct source_function) all;   /* sorted by address; without overlaps */
	VEC(struct source_anchor) anchors; /* sorted by address */
	VEC(struct source_function) titles; /* functions that name themselves without a path
	                                     * (source_titles.h); in the same way */
	bool inlined; /* much is inlined: a function with a path has no name */
};

/* False: there are more references than a program has, and `out` is empty. */
bool source_functions_find(const struct flow_code *code, const struct source_texts *texts,
			   struct source_functions *out);
void source_functions_deinit(struct source_functions *functions);

/* True if more than one function in 100 names several files. Then others may name another one's
 * file, and usually nothing shows which do. */
bool source_functions_mixed(const struct source_functions *functions);

/* Return the function, or the title, that holds `vaddr`; NULL: none does. */
const struct source_function *source_functions_at(const struct source_functions *functions,
						  uint64_t vaddr);
const struct source_function *source_titles_at(const struct source_functions *functions,
					       uint64_t vaddr);

#endif
