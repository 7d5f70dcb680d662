/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h: how a unit test says what it found: a line `ok NAME` or `not ok NAME: why` a case; main returns failures != 0.
 *
 * Runs: tests. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_TEST_CHECK_H
#define SHINY_TEST_CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/base/err.h"

static int failures;

static inline void number(const char *name, uint64_t got, uint64_t want)
{
	if (got == want)
		printf("ok %s\n", name);
	else
		printf("not ok %s: got %" PRIu64 ", want %" PRIu64 "\n", name, got, want);
	failures += got != want;
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
