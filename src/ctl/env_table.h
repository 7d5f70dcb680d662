/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env_table.h: the table of SHINY_* environment variables (include/shiny/wire/variables.def) for
 * shinyctl.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: one (reads the environment).
 */
#ifndef SHINY_ENV_TABLE_H
#define SHINY_ENV_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "value.h"

enum env_id {
#define SHINY_ENV(name, field, type, fallback, allowed) ENV_##name,
#include <shiny/wire/variables.def>
#undef SHINY_ENV
	ENV_COUNT
};

struct env_spec {
	const char *name;
	enum value_kind kind;
	const char *fallback, *allowed;
};
extern const struct env_spec env_specs[ENV_COUNT];

/* Prints a line to `err` for each unknown SHINY_* name, and each wrong value with the value used
 * instead. Returns their number. */
size_t env_complain(char *const *environment, FILE *err);

/* Return the variable's value if it is set and valid, else its default; as text, and as a
 * number. */
const char *env_text(enum env_id id);
uint64_t env_number(enum env_id id);

#endif
