/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare.h: computes what the library needs to know of an executable before it starts, and stores
 * it where the library looks.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: those of the probe.
 *
 * `shinyctl run` does it for the program that it starts. For one that another program starts, or
 * with a preload by hand, the library does it before the program's first instruction, by `shinyctl
 * doctor --probe --prepare` (interpose/boot/launch.c): so the first recording of a program has as
 * much as later ones.
 */
#ifndef SHINY_PREPARE_H
#define SHINY_PREPARE_H

#include "../../base/program.h"

/*
 * Prepares its own allocator, garbage-collected heaps, observer hooks and constructors, each once
 * for every build. Parts that cannot be recorded are reported on stderr, without an error; an
 * invalid setting is an error. `debug_dirs` may be NULL.
 */
SHINY_MUST_CHECK struct shiny_err *prepare_program(const char *path,
						   const struct program_look *look,
						   const char *const *debug_dirs);

/* The same for the library: if the user's cache cannot be written, the results go to `directory`,
 * in the form of a cache directory, and serve until that is removed. */
SHINY_MUST_CHECK struct shiny_err *prepare_for_library(const char *path, const char *directory);

#endif
