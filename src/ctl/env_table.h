/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env_table.h: the table of SHINY_* environment variables (include/shiny/wire/variables.def) as
 * shinyctl uses it.
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

/* Says on `err`, one line each, which SHINY_* names are unknown and which values are wrong, and
 * what is used instead. Returns how many. */
size_t env_complain(char *const *environment, FILE *err);

/* The variable's value where it is set and good, else its default; its number likewise. */
const char *env_text(enum env_id id);
uint64_t env_number(enum env_id id);

#endif
