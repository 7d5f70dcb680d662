/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_cache.h: what is known of return addresses, on disk: site answers, whether the function
 * passes a block on, where it begins, its names and lines, and the source file that its code names.
 * $XDG_CACHE_HOME/shiny/types/BUILD-ID-KEY, versioned and checked. A module has one file for each
 * key, so that two builds of shinyctl, or two tables of rules, do not replace each other's; the
 * four written last stay.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: one at a time a cache; several
 * processes may use one file.
 *
 * A file that is truncated, foreign, of another version or of another table of container rules is
 * as good as none. It is replaced as a whole (rename), so that a reader never sees half of one; of
 * two writers the later one wins, and what it lost is found again.
 */
#ifndef SHINY_SYM_TYPE_CACHE_H
#define SHINY_SYM_TYPE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../elf/symbol_names.h"
#include "site_answer.h"

struct type_cache;

/* `directory` NULL: $XDG_CACHE_HOME/shiny, else ~/.cache/shiny; without a home or build-id: memory
 * only. */
struct type_cache *type_cache_open(const char *directory, const uint8_t *build_id,
				   size_t build_id_bytes, uint64_t rules_hash, struct names *names);
/* Writes what is new and frees. A file that can't be written is not an error: the next time is
 * slower. */
void type_cache_close(struct type_cache *cache); /* accepts NULL */

/* NULL: not there. Valid until type_cache_close(). */
const struct site_answer *type_cache_get(const struct type_cache *cache, uint64_t ret);
/* Keeps a copy; the result as type_cache_get(). */
const struct site_answer *type_cache_put(struct type_cache *cache, uint64_t ret,
					 const struct site_answer *answer);

/* False: not known. */
bool type_cache_passes(const struct type_cache *cache, uint64_t ret, enum sym_passes *out);
/* `keep`: in the file, too. */
void type_cache_put_passes(struct type_cache *cache, uint64_t ret, enum sym_passes passes,
			   bool keep);

/* False: not known. `*path` NULL: the function names none. */
bool type_cache_source(const struct type_cache *cache, uint64_t ret, const char **path);
/* `path`: a text of the cache's names, or NULL. */
void type_cache_put_source(struct type_cache *cache, uint64_t ret, const char *path);

/* Its frames (sym.h), at most `room` of them; *count is how many there are. False: not known. */
bool type_cache_frames(const struct type_cache *cache, uint64_t ret, struct sym_frame *out,
		       size_t room, size_t *count);
/* Texts are those of the cache's names. At most SYM_FRAMES_MAX. `keep` as above. */
void type_cache_put_frames(struct type_cache *cache, uint64_t ret, const struct sym_frame *frames,
			   size_t count, bool keep);

/* Where the function begins that holds ret - 1, 0 in none. False: not known. */
bool type_cache_function(const struct type_cache *cache, uint64_t ret, uint64_t *low);
void type_cache_put_function(struct type_cache *cache, uint64_t ret, uint64_t low);

struct type_cache_info {
	const char *path; /* NULL: memory only */
	uint64_t stored, added; /* answers that the file had, and that came since */
};
void type_cache_info(const struct type_cache *cache, struct type_cache_info *out);

#endif
