/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h: how a test says what it found: a line `ok NAME` or `not ok NAME: why` a case; main
 * returns failures != 0.
 *
 * Runs: tests. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_TEST_CHECK_H
#define SHINY_TEST_CHECK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/err.h"

static int failures;

/* A case, and why it is not good, as for printf. The line is written at once: a test may fork, or
 * be killed. */
static inline __attribute__((format(printf, 3, 4))) void checkf(const char *name, bool good,
								const char *format, ...)
{
	va_list args;

	if (good) {
		printf("ok %s\n", name);
	} else {
		printf("not ok %s: ", name);
		va_start(args, format);
		vprintf(format, args);
		va_end(args);
		printf("\n");
	}
	fflush(stdout);
	failures += !good;
}

static inline void check(const char *name, bool good, const char *why)
{
	checkf(name, good, "%s", why);
}

/* For where nothing more can be said than what should have been. */
#define check_that(name, condition) check(name, condition, "not so: " #condition)

/* For where the reason is found first; NULL: there is none. */
static inline void verdict(const char *name, const char *why)
{
	check(name, !why, why);
}

static inline void number(const char *name, uint64_t got, uint64_t want)
{
	checkf(name, got == want, "got %" PRIu64 ", want %" PRIu64, got, want);
}

/* Each may be NULL. */
static inline void text_is(const char *name, const char *got, const char *want)
{
	bool good = got && want ? strcmp(got, want) == 0 : got == want;

	checkf(name, good, "got \"%s\", want \"%s\"", got ? got : "(null)", want ? want : "(null)");
}

/* What a test needs in order to go on. */
static inline void must(struct shiny_err *err)
{
	if (!err)
		return;
	printf("not ok session: %s\n", err->message);
	exit(1);
}

#endif
