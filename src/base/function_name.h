/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_name.h: the scoped name inside a demangled function's text: "void
 * std::vector<int>::f<int>(int)" has "std::vector<int>::f<int>"; and the name that a call site's
 * text is about.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_FUNCTION_NAME_H
#define SHINY_FUNCTION_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Returns where the scoped name starts: behind the return type that templates carry. */
const char *function_name_start(const char *text);

/* Returns the name's bytes: up to the arguments, or the version behind an @. "(anonymous
 * namespace)" and "operator()" belong to names. */
size_t function_name_length(const char *start);

/*
 * The parts of a call site's text: [text, front) is the module of a function without a name,
 * [start, end) the name that says where it is: the function's own, that of its caller ("lib.so+0x12
 * â ns::f(int)"), or its source ("lib.so+0x12 in net/file.cc").
 */
struct function_name_parts {
	const char *front, *start, *end; /* front: the text's start if the function has a name */
};

/* Returns false for a text that is no call site's, or has one word only. */
bool function_name_find(const char *text, struct function_name_parts *out);

/* Returns the start of the next scope of a name that ends at `end`; NULL: there is none. */
const char *function_name_next(const char *start, const char *end);

#endif
