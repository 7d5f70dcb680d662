/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_places.h: finds the source of code in a file without symbols: the source file that a
 * function names, or the file, directory or component of its neighbours.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 40 bytes a function that names a file, 16 a function
 * that is called. Threads: some of its own while it searches; a result is read-only.
 */
#ifndef SHINY_SYM_SOURCE_PLACES_H
#define SHINY_SYM_SOURCE_PLACES_H

#include "source_order.h"

struct source_places;

/* Reads the cached result, or searches and caches it. `cache_dir` NULL: the user's. Returns NULL if
 * no function names a file, and no code rule applies. */
struct source_places *source_places_open(const struct flow_code *code, const char *cache_dir,
					 bool no_cache);
void source_places_close(struct source_places *places); /* accepts NULL */

/* Returns the place of the code at `vaddr`, as the compiler got the path; a directory ends in /.
 * Valid as long as `places`. NULL: unknown. */
const char *source_places_at(const struct source_places *places, const struct flow_code *code,
			     uint64_t vaddr);
/* True if its files are right in fewer than 95 of 100 cases. */
bool source_places_doubtful(const struct source_places *places);
/* Returns the name of the function at `vaddr`, or of one inlined into it; *length is its length.
 * *sure: it is no label that may differ from the name. NULL: unknown. */
const char *source_places_name(const struct source_places *places, uint64_t vaddr, size_t *length,
			       bool *sure);

/* Returns the label of the block that the code at `vaddr` allocates, by code.rules; *length is its
 * length. NULL: unknown. */
const char *source_places_label(const struct source_places *places, uint64_t vaddr,
				size_t *length);

struct source_places_info {
	struct source_evidence evidence;
	uint64_t named;  /* functions with a name beside their file's */
	uint64_t titled; /* functions with a name in a text of its own */
	bool neighbours; /* the linker kept the order: other functions have places, too */
	bool cached;     /* the result was cached */
};
void source_places_info(const struct source_places *places, struct source_places_info *out);

#endif
