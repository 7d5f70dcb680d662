/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_file.h: creates, checks and caches the file that holds a probe's result.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: yes. Threads: one at a time a result.
 */
#ifndef SHINY_SYM_PROBE_FILE_H
#define SHINY_SYM_PROBE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/patch.h>
#include <shiny/wire/probe.h>

#include "../../src/base/mem.h"

/* A result under construction. */
struct probe_draft {
	struct shiny_probe_file head; /* without positions, sizes and checksums */
	VEC(struct shiny_patch_recipe) recipes;
	VEC(struct shiny_probe_type) types;
	VEC(struct shiny_probe_note) notes;
	VEC(char) text;
};

void probe_draft_init(struct probe_draft *draft);
void probe_draft_deinit(struct probe_draft *draft);
/* Adds a copy of `text`; returns its position. */
uint32_t probe_draft_text(struct probe_draft *draft, const char *text);
void probe_draft_note(struct probe_draft *draft, const char *about,
		      enum shiny_probe_confidence confidence, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Adds the recipe of the last entry. */
void probe_draft_recipe(struct probe_draft *draft, const struct shiny_patch_recipe *recipe);
/* Returns the finished file, malloc'ed; NULL: it would be too large. */
struct shiny_probe_file *probe_draft_finish(struct probe_draft *draft);

/* True if these `bytes` bytes are a result for this build, with all positions inside it. */
bool probe_file_good(const struct shiny_probe_file *file, size_t bytes, const uint8_t *build_id,
		     size_t build_id_bytes);

/* Returns a valid result from the cache, malloc'ed; NULL: there is none. */
struct shiny_probe_file *probe_file_load(const char *path, const uint8_t *build_id,
					 size_t build_id_bytes);

#endif
