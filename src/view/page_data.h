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
	FOLD_STACK, /* all of a process, type and component; stack 0 */
	FOLD_ALL,   /* whatever is left; process, type, component 0 */
};
struct page_sample {
	uint32_t process, type, component, stack;
	enum page_fold fold;
	struct sums sums;
	uint64_t peak, peak_bytes;
};
struct page_limits {
	size_t stacks; /* rows with FOLD_NONE */
	size_t rows;   /* with FOLD_STACK */
};
struct page_samples {
	VEC(struct page_sample) rows;
	uint32_t *kept; /* by sample of the profile + 1: a row; [0] too */
	size_t folded[FOLD_ALL + 1]; /* how many samples of the profile */
	struct groups components; /* of them */
};

SHINY_MUST_CHECK struct shiny_err *page_samples_load(struct store *store,
						     const struct profile *profile,
						     const struct page_limits *limits,
						     struct page_samples *out);
/* Smaller limits than they had: returns, by row that they had, the row that has it now; the
 * caller's to free. */
uint32_t *page_samples_fold(struct page_samples *samples, const struct profile *profile,
			    const struct page_limits *limits);
void page_samples_deinit(struct page_samples *samples);

SHINY_MUST_CHECK struct shiny_err *page_samples_put(struct json *json, struct store *store,
						    const struct profile *profile,
						    const struct page_samples *samples);
/* Threads and tags of the makers, with their names. */
SHINY_MUST_CHECK struct shiny_err *page_makers_put(struct json *json, struct store *store,
						   const struct page_cube *cube);
/* `lives`: with lifetimes and ends. */
void page_cells_put(struct json *json, const char *key, const struct cube_cells *cells, bool lives);
/* Into the object that is open: what was lost. */
SHINY_MUST_CHECK struct shiny_err *page_losses_put(struct json *json, struct store *store);

#endif
