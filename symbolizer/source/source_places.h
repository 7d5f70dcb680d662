/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_places.h: where the code of a file without symbols comes from: the source file that a
 * function names, or the file, directory or component of its neighbours.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 40 bytes a function that names a file, 16 a function
 * that is called. Threads: some of its own while it searches; a result is read-only.
 *
 * Chromium 156, 297 MB: see source_places.c for what it costs and how much of it is placed.
 */
#ifndef SHINY_SYM_SOURCE_PLACES_H
#define SHINY_SYM_SOURCE_PLACES_H

#include "source_order.h"

struct source_places;

/* Out of the cache, or searched for and put there. `cache_dir`: NULL: the user's. The result is
 * NULL where no function names a file, and no rule holds. */
struct source_places *source_places_open(const struct flow_code *code, const char *cache_dir,
					 bool no_cache);
void source_places_close(struct source_places *places); /* accepts NULL */

/* What is known of the code at `vaddr`, as the compiler was given the path; a directory ends in /.
 * It lives as long as `places`. NULL: nothing. */
const char *source_places_at(const struct source_places *places, const struct flow_code *code,
			     uint64_t vaddr);
/* Files that it says are right in fewer than 95 of 100 cases. */
bool source_places_doubtful(const struct source_places *places);
/* The name of the function there, or of one inlined into it, with its length. NULL: not known. */
const char *source_places_name(const struct source_places *places, uint64_t vaddr, size_t *length);

/* What the block is for that the code at `vaddr` allocates, by code.rules, with its length. NULL:
 * not known. */
const char *source_places_label(const struct source_places *places, uint64_t vaddr,
				size_t *length);

struct source_places_info {
	struct source_evidence evidence;
	uint64_t named;  /* functions with a name */
	bool neighbours; /* the linker kept the order: other functions are placed, too */
	bool cached;     /* it was there already */
};
void source_places_info(const struct source_places *places, struct source_places_info *out);

#endif
