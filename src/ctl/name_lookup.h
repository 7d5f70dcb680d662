/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_lookup.h: finds the modules of a session by name; makes the error for an ambiguous name.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_NAME_LOOKUP_H
#define SHINY_NAME_LOOKUP_H

#include <stddef.h>

#include "../../symbolizer/sym.h"
#include "../base/err.h"

/* Returns the usage error "VERB 'NAME': 12 WHAT", with the first of them as advice. */
SHINY_MUST_CHECK struct shiny_err *lookup_ambiguous(const char *verb, const char *name,
						    const char *what, char *const *found,
						    size_t count);

/* Opens a module of a session by its path and its build-id in hex. */
SHINY_MUST_CHECK struct shiny_err *lookup_module(struct sym *sym, const char *path,
						 const char *build_id, struct sym_module **out);

#endif
