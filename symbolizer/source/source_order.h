/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_order.h: where the code between functions that name their source file comes from: from the
 * same file, directory or component as the functions in front of it and behind it, where a linker
 * kept the order of the object files.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 16 bytes a function. Threads: read-only once found.
 */
#ifndef SHINY_SYM_SOURCE_ORDER_H
#define SHINY_SYM_SOURCE_ORDER_H

#include "source_functions.h"
#include "source_tree.h"

/* Whether this holds for a file, by what it says of itself. */
struct source_evidence {
	uint64_t functions, several; /* that name files; of them: more than one */
	uint64_t files, runs;        /* files that several functions name; in how many pieces their
	                              * functions lie: as many if in order */
	uint64_t tested, right;      /* files between two of one directory; that stand in it, too */
};

/* Code from `from` up to the next span comes from a node of the tree; 0: not known. */
struct source_span {
	uint64_t from;
	uint32_t node;
};
struct source_order {
	struct source_tree tree;
	struct source_evidence evidence;
	bool holds; /* else only functions that name a file have a node */
	VEC(struct source_span) spans; /* by address */
};

/* False: there are more paths than a program has, and `out` is empty. */
bool source_order_find(const struct binary *file, const struct source_functions *functions,
		       struct source_order *out);
void source_order_deinit(struct source_order *order);

/* The span's number for `vaddr`; false: it lies in front of all. */
bool source_order_at(const struct source_order *order, uint64_t vaddr, size_t *span);

#endif
