/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_cache.h: the on-disk cache of findings about return addresses: site answers, whether the
 * function passes a block on, where it starts, its names and lines, and the source file that its
 * code names. $XDG_CACHE_HOME/shiny/types/BUILD-ID-KEY, versioned and checked. A module has one
 * file for each key, so that two builds of shinyctl, or two tables of rules, do not replace each
 * other's; the four written last stay.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: one at a time a cache; several
 * processes may use one file.
 *
 * A file that is truncated, foreign, of another version or of another table of container rules
 * counts as absent. It is replaced as a whole (rename), so that a reader never sees half of one; of
 * two writers the later one wins, and findings that it dropped are made again.
 */
#ifndef SHINY_SYM_TYPE_CACHE_H
#define SHINY_SYM_TYPE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../elf/symbol_names.h"
#include "site_answer.h"

struct type_cache;

/* Opens the cache of a file. `directory` NULL: $XDG_CACHE_HOME/shiny, else ~/.cache/shiny; without
 * a home or build-id it is in memory only. */
struct type_cache *type_cache_open(const char *directory, const uint8_t *build_id,
				   size_t build_id_bytes, uint64_t rules_hash, struct names *names);
/* Writes new findings and frees the cache. A file that can't be written is not an error: the next
 * time is slower. */
void type_cache_close(struct type_cache *cache); /* accepts NULL */

/* Returns the answer, valid until type_cache_close(); NULL: none is cached. */
const struct site_answer *type_cache_get(const struct type_cache *cache, uint64_t ret);
/* Stores a copy; returns it like type_cache_get(). */
const struct site_answer *type_cache_put(struct type_cache *cache, uint64_t ret,
					 const struct site_answer *answer);

/* False: not cached. */
bool type_cache_passes(const struct type_cache *cache, uint64_t ret, enum sym_passes *out);
/* `keep`: stores it in the file, too. */
void type_cache_put_passes(struct type_cache *cache, uint64_t ret, enum sym_passes passes,
			   bool keep);

/* False: not cached. `*path` NULL: the function names no source file. */
bool type_cache_source(const struct type_cache *cache, uint64_t ret, const char **path);
/* `path` is a text of the cache's names, or NULL. */
void type_cache_put_source(struct type_cache *cache, uint64_t ret, const char *path);

/* Copies at most `room` frames (sym.h); *count is the number of all. False: not cached. */
bool type_cache_frames(const struct type_cache *cache, uint64_t ret, struct sym_frame *out,
		       size_t room, size_t *count);
/* Stores at most SYM_FRAMES_MAX frames. Their texts are those of the cache's names. `keep` as
 * above. */
void type_cache_put_frames(struct type_cache *cache, uint64_t ret, const struct sym_frame *frames,
			   size_t count, bool keep);

/* Finds the start of the function that holds ret - 1; 0: no function does. False: not cached. */
bool type_cache_function(const struct type_cache *cache, uint64_t ret, uint64_t *low);
void type_cache_put_function(struct type_cache *cache, uint64_t ret, uint64_t low);

struct type_cache_info {
	const char *path; /* NULL: memory only */
	uint64_t stored, added; /* answers in the file, and answers added since */
};
void type_cache_info(const struct type_cache *cache, struct type_cache_info *out);

#endif
