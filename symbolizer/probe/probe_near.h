/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_near.h: the code around the functions that create Oilpan's objects, in which the other
 * parts of the collector are searched.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SYM_PROBE_NEAR_H
#define SHINY_SYM_PROBE_NEAR_H

#include <stdbool.h>
#include <stdint.h>

#include "../elf/binary.h"
#include "probe_file.h"

enum {
	/* bytes on either side: the linker keeps a library's objects together; the collector's code
	 * takes 200 KB */
	PROBE_NEAR = 4 << 20,
	PROBE_NEAR_FRONT = 160, /* bytes at its beginning that are not searched */
};

struct near_code {
	const struct binary *file;
	uint64_t low;        /* its first address */
	const uint8_t *code; /* NULL: no function creates objects, or there is no code around
	                      * them */
	uint64_t bytes;
};

struct near_code near_code_of(const struct binary *file, const struct probe_draft *draft);

/* Returns the next place with these bytes, from `from` on (NULL: the beginning); NULL: none. */
const uint8_t *near_find(const struct near_code *near, const uint8_t *from, const void *bytes,
			 unsigned count);

static inline uint64_t near_vaddr(const struct near_code *near, const uint8_t *at)
{
	return near->low + (uint64_t)(at - near->code);
}

/* True if a function could start here: it is aligned, and the byte before may be padding or a
 * function's end. A loop's head in the middle of one may look so. */
bool near_is_start(const struct near_code *near, uint64_t vaddr);

/*
 * Finds the function that contains `at` by its own code: the nearest possible start, at most
 * `before` bytes before `at`, that `is` accepts and that a call anywhere in the file targets, or a
 * symbol names. 0: none.
 */
typedef bool near_is_fn(const struct binary *file, uint64_t vaddr, void *context);
uint64_t near_function(const struct near_code *near, const uint8_t *at, unsigned before,
		       near_is_fn *is, void *context);

/*
 * Adds the entry, with high confidence, and the recipe of its patch: of a function's entry, or,
 * with `call`, of a call instruction. False: it can't be patched; a note about `about` says why.
 */
bool near_add_entry(const struct binary *file, struct probe_draft *draft, const char *about,
		    const struct shiny_probe_entry *entry, bool call);

#endif
