/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cleanup.h: scope guards. A variable declared with one of these is released when its scope ends,
 * on every path.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: any.
 *
 * A function uses guards or goto, never both. To hand the value on: `return shiny_steal(variable)`.
 */
#ifndef SHINY_CLEANUP_H
#define SHINY_CLEANUP_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "err.h"

#define SHINY_CLEANUP(function) __attribute__((cleanup(function)))

/* The value of a pointer or a struct; the guard then finds NULL, or a zeroed struct. */
#define shiny_steal(variable)                              \
	({                                                 \
		__typeof__(variable) stolen_ = (variable); \
		(variable) = (__typeof__(variable)){ 0 };  \
		stolen_;                                   \
	})

static inline void shiny_cleanup_free(void *pointer_to_pointer)
{
	int saved = errno;

	free(*(void **)pointer_to_pointer);
	errno = saved;
}

static inline void shiny_cleanup_close(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void shiny_cleanup_fclose(FILE **file)
{
	int saved = errno;

	if (*file)
		fclose(*file);
	errno = saved;
}

static inline void shiny_cleanup_err(struct shiny_err **err)
{
	shiny_err_free(*err);
}

/* malloc'ed memory: initialise with NULL at the latest */
#define AUTO_FREE   SHINY_CLEANUP(shiny_cleanup_free)
#define AUTO_CLOSE  SHINY_CLEANUP(shiny_cleanup_close)  /* int: a descriptor, -1 for none */
#define AUTO_FCLOSE SHINY_CLEANUP(shiny_cleanup_fclose) /* FILE * */
#define AUTO_ERR    SHINY_CLEANUP(shiny_cleanup_err)    /* struct shiny_err * */

/* Passes an error on, for functions without anything to undo (or with guards). */
#define SHINY_TRY(expression)                               \
	do {                                                \
		struct shiny_err *try_err_ = (expression);  \
		if (try_err_)                               \
			return try_err_;                    \
	} while (0)

#endif
