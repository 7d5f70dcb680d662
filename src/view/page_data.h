/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_data.h: the samples of a page, and its cube's cells, as columns of JSON.
 *
 * Runs: CLI. Signals: no. Allocates: 60 bytes a sample. Threads: one a store.
 *
 * A page's size is bounded whatever the session: the heaviest samples keep their stacks; all others
 * become one row a process, type and component, without a stack; and the lightest of these become
 * one row together. Sums stay exact.
 */
#ifndef SHINY_PAGE_DATA_H
#define SHINY_PAGE_DATA_H

#include "../base/json.h"
#include "page_cube.h"

enum page_fold {
	FOLD_NONE,  /* a sample of the profile */
	FOLD_STACK, /* all samples of a process, type and component; stack 0 */
	FOLD_ALL,   /* all other samples; process, type, component 0 */
};
struct page_sample {
	uint32_t process, type, component, stack;
	enum page_fold fold;
	struct sums sums;
	uint64_t peak, peak_bytes;
};
struct page_limits {
	size_t stacks; /* rows with FOLD_NONE */
	size_t rows;   /* rows with FOLD_STACK */
};
struct page_samples {
	VEC(struct page_sample) rows;
	uint32_t *kept; /* index of the profile's sample + 1 → row; [0]: no sample */
	size_t folded[FOLD_ALL + 1]; /* number of the profile's samples by fold */
	struct groups components; /* of the profile's stacks and types */
};

SHINY_MUST_CHECK struct shiny_err *page_samples_load(struct store *store,
						     const struct profile *profile,
						     const struct page_limits *limits,
						     struct page_samples *out);
/* Folds further, to limits that are not larger. Returns, for each old row, its new row; the caller
 * frees it. */
uint32_t *page_samples_fold(struct page_samples *samples, const struct profile *profile,
			    const struct page_limits *limits);
void page_samples_deinit(struct page_samples *samples);

SHINY_MUST_CHECK struct shiny_err *page_samples_put(struct json *json, struct store *store,
						    const struct profile *profile,
						    const struct page_samples *samples);
/* Puts the makers' threads and tags, with their names. */
SHINY_MUST_CHECK struct shiny_err *page_makers_put(struct json *json, struct store *store,
						   const struct page_cube *cube);
/* Puts the cells as columns. `lives`: with lifetimes and ends. */
void page_cells_put(struct json *json, const char *key, const struct cube_cells *cells, bool lives);
/* Puts the losses, and what was not seen, into the open object. */
SHINY_MUST_CHECK struct shiny_err *page_losses_put(struct json *json, struct store *store);

#endif
