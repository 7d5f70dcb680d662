/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_name.h: the scoped name inside a demangled function's text: "void
 * std::vector<int>::f<int>(int)" has "std::vector<int>::f<int>".
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_FUNCTION_NAME_H
#define SHINY_FUNCTION_NAME_H

#include <stddef.h>

/* Returns where the scoped name starts: behind the return type that templates carry. */
const char *function_name_start(const char *text);

/* Returns the name's bytes: up to the arguments, or the version behind an @. "(anonymous
 * namespace)" and "operator()" belong to names. */
size_t function_name_length(const char *start);

#endif
