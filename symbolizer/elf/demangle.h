/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.h: turns mangled names into readable ones.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the results, by malloc. Threads: any.
 */
#ifndef SHINY_SYM_DEMANGLE_H
#define SHINY_SYM_DEMANGLE_H

#include <stdbool.h>

/* Demangles a symbol: Itanium C++, Rust (both schemes), a piece of a C function, a Fortran module's
 * procedure, a unit of Ada's library. NULL: it is none of these. */
char *demangle_symbol(const char *name);

/* Demangles an entity of Ada's ("lists__made__2"), in a file that is known to be Ada. NULL: it
 * can't be read. */
char *demangle_ada(const char *name);

/* Returns the class in a type-info name ("N5blink4NodeE", "*N12_GLOBAL__N_11AE"). NULL: it isn't a
 * class's name. */
char *demangle_class(const char *name);

/* Returns the type in a type-info name: a class, or "i", "PKc". NULL: it isn't a type's name. */
char *demangle_type(const char *name);

#endif
