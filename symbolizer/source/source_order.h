/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_order.h: places code between functions that name their source file: in the same file,
 * directory or component as the functions before and after it, if the linker kept the order of the
 * object files.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 16 bytes a function. Threads: read-only once found.
 */
#ifndef SHINY_SYM_SOURCE_ORDER_H
#define SHINY_SYM_SOURCE_ORDER_H

#include "source_functions.h"
#include "source_tree.h"

/* Evidence in the file that its linker kept the order. */
struct source_evidence {
	uint64_t functions, several; /* functions that name files; of them, those that name
	                              * several */
	uint64_t files, runs;        /* files that several functions name; runs of consecutive
	                              * functions that these form: as many as files if in order */
	uint64_t tested, right;      /* files between two of one directory; of them, those in that
	                              * directory */
};

/* Code from `from` up to the next span comes from a node of the tree; 0: unknown. */
struct source_span {
	uint64_t from;
	uint32_t node;
};
struct source_order {
	struct source_tree tree;
	struct source_evidence evidence;
	bool holds; /* the order was kept; else no code has a node */
	bool unity; /* that of directories only */
	VEC(struct source_span) spans; /* sorted by address */
};

/* False: there are more paths than a program has, and `out` is empty. */
bool source_order_find(const struct binary *file, const struct source_functions *functions,
		       struct source_order *out);
void source_order_deinit(struct source_order *order);

/* Finds the index of the span that holds `vaddr`. False: `vaddr` precedes all spans. */
bool source_order_at(const struct source_order *order, uint64_t vaddr, size_t *span);

#endif
