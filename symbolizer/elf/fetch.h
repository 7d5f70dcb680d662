/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.h: debug files from debuginfod servers, where the user has named some in DEBUGINFOD_URLS.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: one at a time.
 */
#ifndef SHINY_SYM_FETCH_H
#define SHINY_SYM_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fetch;

/* `stop` is asked while waiting, true ends it; NULL: nobody stops. `most`: seconds for all requests
 * of this process; 0: as long as servers answer. NULL: no memory. */
struct fetch *fetch_create(bool progress, bool (*stop)(void), unsigned most);
void fetch_destroy(struct fetch *fetch); /* accepts NULL */

enum fetch_result {
	FETCH_OFF,        /* DEBUGINFOD_URLS isn't set */
	FETCH_NO_LIBRARY, /* it is, and libdebuginfod isn't installed */
	FETCH_FOUND,
	FETCH_NOT_THERE,  /* the servers don't have it */
	FETCH_FAILED,     /* they can't be asked; after the first time nobody is asked again */
};

/* Gets the debug file with this build-id into the user's debuginfod cache. `*path` is malloc'ed.
 * `name` is what progress calls it. */
enum fetch_result fetch_debug(struct fetch *fetch, const uint8_t *id, size_t bytes,
			      const char *name, char **path);

/* After FETCH_FAILED: what went wrong, "http://…: Connection refused". */
const char *fetch_trouble(const struct fetch *fetch);

/* The file in the user's debuginfod cache, whoever put it there; malloc'ed, NULL none. Asks
 * nobody. */
char *fetch_cached(const uint8_t *id, size_t bytes);

/* The directory of that cache, malloc'ed, made where it was not there; NULL: no server is asked, or
 * there is no place for it. */
char *fetch_place(void);

#endif
