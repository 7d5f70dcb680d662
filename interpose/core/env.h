/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.h: the SHINY_* variables, parsed once from variables.def's table.
 *
 * Runs:      inside, in boot; si_env_matches: at any time.
 * Signals:   –    Allocates: nothing; TEXT values point into the process's own environment block.
 * Threads:   one.
 *
 * Each invalid value, with the one used instead, becomes a line of the caller's text; nothing is
 * printed.
 */
#ifndef SI_ENV_H
#define SI_ENV_H

#include "base.h"

#define SI_ENV_FIELD_TEXT(field)   const char *field;
#define SI_ENV_FIELD_CHOICE(field) uint32_t field;
#define SI_ENV_FIELD_COUNT(field)  uint32_t field;
#define SI_ENV_FIELD_BYTES(field)  uint64_t field;
#define SI_ENV_FIELD_BUDGET(field) const char *field; /* the sidecar reads it */
#define SI_ENV_FIELD_TIME(field)   const char *field; /* likewise */

struct si_env {
#define SHINY_ENV(NAME, field, TYPE, text, allowed) SI_ENV_FIELD_##TYPE(field)
#include <shiny/wire/variables.def>
#undef SHINY_ENV
};

SI_INTERNAL struct si_env si_env;

void si_env_parse(char *const *environment, struct si_env *out, struct si_text *notes);

/* True if `name` matches one of the comma-separated `patterns`; * stands for any run of
 * characters. */
bool si_env_matches(const char *patterns, const char *name);

#endif
