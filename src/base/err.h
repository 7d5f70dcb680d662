/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.h: errors of all code outside the target.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: any.
 *
 * A function that can fail returns struct shiny_err *: NULL is success, anything else is owned by
 * the caller, who passes it on or frees it. Out-parameters are untouched on failure. main() prints
 * it once: "shinyctl: WHAT: WHY", then the advice. Names may come from anywhere: each text is made
 * one line without anything that a terminal obeys (text_plain) when it is made, so no printer has
 * to.
 */
#ifndef SHINY_ERR_H
#define SHINY_ERR_H

#include <stdarg.h>

enum shiny_err_code {
	SHINY_ERR_USAGE = 2,  /* the command line or the environment is wrong: exit status 2 */
	SHINY_ERR_STRICT = 3, /* the data is incomplete and --strict was given: exit status 3 */
	SHINY_ERR_OTHER = 4,  /* anything else: exit status 4 */
};

struct shiny_err {
	enum shiny_err_code code;
	char *message; /* one line: what failed, on what, why */
	char *advice;  /* one line: what to do about it; NULL: no advice */
};

#define SHINY_MUST_CHECK __attribute__((warn_unused_result))
#define SHINY_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Returns a new error, never NULL: without memory, a static instance. */
SHINY_MUST_CHECK struct shiny_err *shiny_err(enum shiny_err_code code, const char *format, ...)
	SHINY_PRINTF(2, 3);

/* The same for a failed system call or libc function: appends ": " and the text of
 * `error_number`. */
SHINY_MUST_CHECK struct shiny_err *shiny_err_os(int error_number, const char *format, ...)
	SHINY_PRINTF(2, 3);

/* Sets the advice; returns `err`. */
SHINY_MUST_CHECK struct shiny_err *shiny_err_advise(struct shiny_err *err, const char *format, ...)
	SHINY_PRINTF(2, 3);

/* Puts the place of the failure in front of the message; returns `err`. */
SHINY_MUST_CHECK struct shiny_err *shiny_err_where(struct shiny_err *err, const char *format, ...)
	SHINY_PRINTF(2, 3);

void shiny_err_free(struct shiny_err *err); /* accepts NULL */

#endif
