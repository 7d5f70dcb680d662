/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_names.h: every string that leaves the room, once; and a map from mangled names to readable
 * ones.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: one at a time.
 */
#ifndef SHINY_SYM_SYMBOL_NAMES_H
#define SHINY_SYM_SYMBOL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_name {
	struct symbol_name *next; /* in its bucket */
	const char *demangled; /* NULL: not asked yet */
	uint32_t hash;
	char text[];
};

/* Invariant: bucket_count is 0 or a power of two, and at least count / 2. */
struct names {
	struct symbol_name **buckets;
	size_t bucket_count, count;
};

void names_deinit(struct names *names);

/* The one copy of `text`; NULL for NULL, or without memory. */
const char *names_text(struct names *names, const char *text);

/* Demangled (Itanium, Rust), or the name itself. NULL for NULL. */
const char *names_demangled(struct names *names, const char *text);

#endif
