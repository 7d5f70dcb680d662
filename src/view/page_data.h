/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_data.h: the samples of a page, with their stacks as a tree, as columns of JSON.
 *
 * Runs: CLI. Signals: no. Allocates: 60 bytes a sample, 16 a node. Threads: one a store.
 *
 * The heaviest samples keep their stacks; all others become one a process, type and component,
 * without a stack. Sums stay exact.
 */
#ifndef SHINY_PAGE_DATA_H
#define SHINY_PAGE_DATA_H

#include "../base/json.h"
#include "page_cube.h"

struct page_sample {
	uint32_t process, type, component, stack;
	bool merged; /* without a stack, which were several */
	struct sums sums;
	uint64_t peak, peak_bytes;
};
struct page_samples {
	VEC(struct page_sample) rows;
	uint32_t *kept;		  /* by sample of the profile + 1: a row; [0] too */
	size_t merged;		  /* samples of the profile without a stack of their own */
	struct groups components; /* of them */
};

SHINY_MUST_CHECK struct shiny_err *page_samples_load(struct store *store,
						     const struct profile *profile, size_t most,
						     struct page_samples *out);
void page_samples_deinit(struct page_samples *samples);

SHINY_MUST_CHECK struct shiny_err *page_samples_put(struct json *json, struct store *store,
						    const struct profile *profile,
						    const struct page_samples *samples);
/* `lives`: with lifetimes and ends. */
void page_cells_put(struct json *json, const char *key, const struct cube_cells *cells, bool lives);

#endif
