/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_normalize.h: one spelling for a type's name.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the text. Threads: any.
 *
 * gcc, clang and the demangler agree on "std::vector<int, std::allocator<int>>" once this module
 * has rewritten their names: no blank between closing brackets, no suffix on integers, "unsigned
 * long" for "long unsigned int".
 */
#ifndef SHINY_SYM_DIE_NORMALIZE_H
#define SHINY_SYM_DIE_NORMALIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "../elf/symbol_names.h"
#include "name_text.h"

/* Returns a demangled name in this module's spelling, interned. */
const char *die_normalize(struct names *names, const char *name);
/* Appends it to `out` instead. */
void die_normalize_text(const char *name, struct name_text *out);

/*
 * True if two normalised names can mean the same type. Compilers number or place lambdas and
 * unnamed types each in their own way, so any two of those count as the same: "Task<f::{lambda at
 * a.cc:3}>", "Task<f::{lambda()#1}>" and "Task<f::$_0>".
 */
bool die_normalize_alike(const char *a, const char *b);

/* Returns the length of a name before its template arguments. */
size_t die_bare_length(const char *name);
/* Returns the bytes of the symbol that follows "operator"; 0: none. */
size_t die_operator_length(const char *at);

#endif
