/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare.h: what the library has to know of an executable before that starts, worked out and put
 * where the library looks for it.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: those of the probe.
 *
 * `shinyctl run` does it for the program that it starts. For one that another program starts, or
 * that was preloaded by hand, the library does it before the program's first instruction, by
 * `shinyctl probe --prepare` (interpose/boot/launch.c): so that what a session has of a program
 * does not depend on whether it is the first.
 */
#ifndef SHINY_PREPARE_H
#define SHINY_PREPARE_H

#include "../base/program.h"

/*
 * Its own allocator, garbage-collected heaps, observer hooks and constructors, each once for every
 * build. What cannot be recorded is said on stderr and is no error; a setting that means nothing
 * is. `debug_dirs` may be NULL.
 */
SHINY_MUST_CHECK struct shiny_err *prepare_program(const char *path,
						   const struct program_look *look,
						   const char *const *debug_dirs);

/*
 * The same for the library: where the user's cache cannot be written, the results go to
 * `directory`, in the form of a cache directory, and serve until that is removed.
 */
SHINY_MUST_CHECK struct shiny_err *prepare_for_library(const char *path, const char *directory);

#endif
