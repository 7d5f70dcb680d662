/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stay_preloaded.h: a library of the tests stays in a shinyctl that it is preloaded into.
 *
 * shinyctl executes itself again without LD_PRELOAD (src/ctl/run/own_image.h). A library that is
 * linked -z initfirst comes before that, and takes the variable away from it.
 */
#ifndef TEST_STAY_PRELOADED_H
#define TEST_STAY_PRELOADED_H

#include <string.h>
#include <unistd.h>

extern char **environ;

__attribute__((constructor(101))) static void stay_preloaded(int argc, char **argv,
							      char **environment)
{
	environ = environment; /* libc has not been initialized */
	for (; *environment; environment++)
		if (!strncmp(*environment, "LD_PRELOAD=", 11))
			memcpy(*environment, "XX", 2);
}

#endif
