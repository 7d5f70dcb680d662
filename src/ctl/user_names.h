/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_names.h: names that people type for things of a session, and the modules that a session
 * names.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_USER_NAMES_H
#define SHINY_USER_NAMES_H

#include <stddef.h>

#include "../../symbolizer/sym.h"
#include "../base/err.h"

/* "VERB 'NAME': 12 WHAT", with the first of them as advice: a usage error. */
SHINY_MUST_CHECK struct shiny_err *names_ambiguous(const char *verb, const char *name,
						   const char *what, char *const *found,
						   size_t count);

/* Of an enum shiny_api, as its functions are called: "malloc", "new[]". */
const char *name_of_api(unsigned api);

/* Opens a module as a session recorded it: by its path and its build-id in hex. */
SHINY_MUST_CHECK struct shiny_err *names_open_module(struct sym *sym, const char *path,
						     const char *build_id, struct sym_module **out);

#endif
