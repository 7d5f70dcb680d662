/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warm_cache.h: fills the cache with the types of all calls of allocation functions in some files,
 * several files at a time.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: starts some, each with its own symbol context,
 * and joins them.
 */
#ifndef SHINY_WARM_CACHE_H
#define SHINY_WARM_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "../../../symbolizer/sym.h"

struct warm_file {
	const char *path, *build_id; /* build_id in hex; "": unknown */
	/* results */
	uint64_t calls, by_confidence[SYM_EXACT + 1], wrappers, none, ns;
	struct shiny_err *err;       /* NULL: none; the caller frees it */
};

/* `jobs` 0: one for each processor. */
void warm_files(const struct sym_options *options, struct warm_file *files, size_t count,
		size_t jobs);

#endif
