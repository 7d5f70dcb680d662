/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rlimits.h: resource limits that are meant for the recorded program and hit us as well.
 *
 * Runs: outside. Signals: no. Allocates: no. Threads: the main one.
 */
#ifndef SHINY_RLIMITS_H
#define SHINY_RLIMITS_H

#include <stdbool.h>

/* Call this first in main. Saves the limits, and runs `work` with a stack of at least 4 MiB;
 * returns its result. */
int rlimits_with_stack(int (*work)(int, char **), int argc, char **argv);
/* For processes of our own: raises all soft limits to the hard ones; no signal ends the process at
 * a limit. */
void rlimits_raise(void);
/* For a child that becomes the program: restores the saved limits. */
void rlimits_restore(void);

/*
 * If a limit makes recording impossible, as the library would find as well
 * (interpose/core/limits.c), prints one line and executes the program without recording. True:
 * there is no such limit. False: the program cannot be executed; errno says why.
 */
bool rlimits_run_alone(char **arguments);

#endif
