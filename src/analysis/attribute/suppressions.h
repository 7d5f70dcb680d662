/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suppressions.h: selects stacks whose blocks are not reported as leaks: those that a file names in
 * LeakSanitizer's syntax, and those of the C and C++ libraries.
 *
 * Runs: CLI. Signals: no. Allocates: a byte a stack. Threads: one a store.
 *
 * A file has lines "leak:PATTERN" and # comments; a pattern matches any part of the name of a
 * function, source file or module of the allocation's stack, * any text, ^ and $ the ends.
 *
 * The libraries' own blocks are those that they keep until the process ends: of stacks in libraries
 * only (the pool for exceptions in libstdc++, ld.so's lists), and of a short list of functions that
 * allocate when others call them (stdio's buffers, locales, threads' storage). A block that a
 * library returns to its caller, such as strdup's text, is the caller's.
 */
#ifndef SHINY_SUPPRESSIONS_H
#define SHINY_SUPPRESSIONS_H

#include "../query/filter.h"

struct suppressions {
	bool *stacks; /* indexed by stack id */
	size_t stack_count;
};

/* `path`: NULL: no file. `libraries`: the libraries' own stacks, too. */
SHINY_MUST_CHECK struct shiny_err *suppressions_load(struct store *store, const char *path,
						     bool libraries, struct suppressions *out);
void suppressions_deinit(struct suppressions *suppressions);

static inline bool suppressions_hide(const struct suppressions *suppressions, uint32_t stack)
{
	return stack < suppressions->stack_count && suppressions->stacks[stack];
}

#endif
