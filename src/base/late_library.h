/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_library.h: opens a library of others that few commands need, so that the others do not wait
 * for the loader: libcurl brings some thirty more.
 *
 * Runs: CLI. Signals: no. Allocates: as dlopen. Threads: one.
 */
#ifndef SHINY_LATE_LIBRARY_H
#define SHINY_LATE_LIBRARY_H

#include <stddef.h>

struct late_function {
	const char *name;
	void *into; /* a pointer to a function */
};

/* Opens the first of the libraries that is there (`files` ends with NULL) and fills in all
 * functions. Returns why it can't, as dlerror() does; NULL: all are there. The library stays
 * open. */
const char *late_library_open(const char *const *files, const struct late_function *functions,
			      size_t count);

#endif
