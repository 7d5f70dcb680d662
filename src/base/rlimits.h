/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rlimits.h: resource limits that were meant for the recorded program, and reach us as well.
 *
 * Runs: outside. Signals: no. Allocates: no. Threads: the main one.
 */
#ifndef SHINY_RLIMITS_H
#define SHINY_RLIMITS_H

#include <stdbool.h>

/* First of all: keeps the limits as they are, and runs `work` with a stack of some MiB, as is
 * usual. Its result. */
int rlimits_with_stack(int (*work)(int, char **), int argc, char **argv);
/* For a process that is nobody's but ours: all soft limits become the hard ones; no signal ends it
 * at one. */
void rlimits_raise(void);
/* In a child that becomes the program: the limits as they were. */
void rlimits_restore(void);

/*
 * Where nothing can be recorded under these limits, which the library would find as well
 * (interpose/core/limits.c): says so in one line and becomes the program. True: there is no such
 * limit. False: there is one, and the program cannot be run, as errno says.
 */
bool rlimits_run_alone(char **arguments);

#endif
