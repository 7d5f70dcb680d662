/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_names.h: interns every string that leaves the symbolizer; maps mangled names to readable
 * ones.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: one at a time.
 */
#ifndef SHINY_SYM_SYMBOL_NAMES_H
#define SHINY_SYM_SYMBOL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../src/base/hash_table.h"
#include "../../src/base/mem.h"

struct symbol_name {
	const char *demangled; /* NULL: not demangled yet */
	char text[];
};

struct names { /* empty if zeroed */
	VEC(struct symbol_name *) all;
	struct hash_table table; /* by text */
};

void names_deinit(struct names *names);

/* Returns the one copy of `text`; NULL for NULL. */
const char *names_text(struct names *names, const char *text);

/* Returns the demangled name (Itanium, Rust), or the name itself. NULL for NULL. */
const char *names_demangled(struct names *names, const char *text);

#endif
