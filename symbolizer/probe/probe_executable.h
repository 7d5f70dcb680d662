/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_executable.h: finds an executable's own heaps from its file alone: Oilpan's functions,
 * types and headers.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: yes. Threads: some of its own while it works; a
 * result is read-only.
 *
 * The inside reads the result file, too: include/shiny/wire/probe.h describes it.
 */
#ifndef SHINY_SYM_PROBE_EXECUTABLE_H
#define SHINY_SYM_PROBE_EXECUTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/probe.h>

#include "../../src/base/err.h"

struct probe_options {
	const char *cache_dir; /* NULL: the user's cache directory */
	bool no_cache;         /* neither read nor write it */
	bool again;            /* searches even if there is a cached result, and replaces that */
};

struct probe {
	struct shiny_probe_file *file; /* complete and checked */
	char *cache_path;              /* path in the cache; NULL: the file has no build-id, or
	                                * there is no place for it */
	bool cached;                   /* the result was cached */
	uint64_t ns;                   /* duration */
};

/*
 * Gets the cached result, or searches the file. A file without Oilpan is no error: the result's
 * shape says so, and its notes why. Errors: the file can't be read, or isn't an x86-64 ELF file. A
 * result that can't be cached is no error either.
 */
SHINY_MUST_CHECK struct shiny_err *probe_open(const char *path, const struct probe_options *options,
					      struct probe *out);
void probe_close(struct probe *probe);

/* Returns the string at position `at` of the result. */
const char *probe_text(const struct probe *probe, uint32_t at);
const struct shiny_probe_type *probe_types(const struct probe *probe);
const struct shiny_probe_note *probe_notes(const struct probe *probe);

/* Returns the row of a type by its index (SECTION), or by its variable's address (REGISTERED).
 * NULL: none. */
const struct shiny_probe_type *probe_type(const struct probe *probe, uint64_t index_or_info);

const char *probe_confidence_name(enum shiny_probe_confidence confidence);

#endif
