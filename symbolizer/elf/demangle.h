/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.h: mangled names into readable ones.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the results, by malloc. Threads: any.
 */
#ifndef SHINY_SYM_DEMANGLE_H
#define SHINY_SYM_DEMANGLE_H

#include <stdbool.h>

/* A symbol: Itanium C++, Rust (both schemes), a piece of a function of C,
 * a procedure of a module of Fortran's, a unit of Ada's library. NULL: none of these. */
char *demangle_symbol(const char *name);

/* An entity of Ada's ("lists__made__2"), in a file that is known to be Ada. NULL: it can't be
 * read. */
char *demangle_ada(const char *name);

/* The class in a type-info name ("N5blink4NodeE", "*N12_GLOBAL__N_11AE"). NULL: not the name of a
 * class. */
char *demangle_class(const char *name);

/* The type in a type-info name: a class, or "i", "PKc". NULL: not the name of a type. */
char *demangle_type(const char *name);

#endif
