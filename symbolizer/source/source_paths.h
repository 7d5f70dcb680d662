/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_paths.h: the source file of a function in a file without symbols, where its code names
 * one: in an assertion, a log line, or a location that it hands on.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 16 bytes a reference. Threads: some of its own while
 * it searches; a result is read-only.
 */
#ifndef SHINY_SYM_SOURCE_PATHS_H
#define SHINY_SYM_SOURCE_PATHS_H

#include <stdint.h>

#include "../flow/flow_callee.h"

struct source_paths;

/* Searches all strings and all code of the file. NULL: it has no such references. */
struct source_paths *source_paths_find(const struct binary *file);
void source_paths_free(struct source_paths *paths); /* accepts NULL */

/* The path that the function around `vaddr` names, as the compiler was given it, in the file's
 * bytes. NULL: it names none, or several. */
const char *source_paths_at(const struct source_paths *paths, const struct flow_code *code,
			    uint64_t vaddr);

#endif
