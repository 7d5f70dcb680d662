/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.h: gets debug files from the debuginfod servers that the user names in DEBUGINFOD_URLS.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: one at a time.
 */
#ifndef SHINY_SYM_FETCH_H
#define SHINY_SYM_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fetch;

/* `stop` is polled while waiting: true ends the wait; NULL: never. `most`: seconds for all requests
 * of this process; 0: no limit. Returns NULL if out of memory. */
struct fetch *fetch_create(bool progress, bool (*stop)(void), unsigned most);
void fetch_destroy(struct fetch *fetch); /* accepts NULL */

enum fetch_result {
	FETCH_OFF,        /* DEBUGINFOD_URLS isn't set */
	FETCH_NO_LIBRARY, /* it is set, and libdebuginfod isn't installed */
	FETCH_FOUND,
	FETCH_NOT_THERE,  /* the servers lack the file */
	FETCH_FAILED,     /* a server can't be reached; after the first failure no server is asked
	                   * again */
};

/* Gets the debug file with this build-id into the user's debuginfod cache. `*path` is malloc'ed.
 * `name` is its name in progress messages. */
enum fetch_result fetch_debug(struct fetch *fetch, const uint8_t *id, size_t bytes,
			      const char *name, char **path);

/* Returns the reason after FETCH_FAILED: "http://…: Connection refused". */
const char *fetch_trouble(const struct fetch *fetch);

/* Returns the path of the file in the user's debuginfod cache, malloc'ed; NULL: it isn't there.
 * Asks no server. */
char *fetch_cached(const uint8_t *id, size_t bytes);

/* Returns the directory of that cache, malloc'ed, and creates it; NULL: no server is named, or
 * there is no place for it. */
char *fetch_place(void);

#endif
