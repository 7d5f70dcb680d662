/* SPDX-License-Identifier: Apache-2.0 */
/*
 * by_site.h: lifetimes and peaks come a stack and are kept a site, statistics are kept both ways.
 * They are added up here as they come.
 *
 * Runs: sidecar. Signals: no. Allocates: yes, 40 to 200 bytes a row that is kept. Threads: one a
 * table.
 *
 * Nothing that a person asks is about the lifetimes of a single stack, and a Chromium session has
 * 317,000 stacks' and 18,000 sites' rows of them: 8 MB or 0.4. The sites are known before the first
 * row comes: rows that wait for them take 250 bytes a stack of memory that was never touched.
 */
#ifndef SHINY_STORE_BY_SITE_H
#define SHINY_STORE_BY_SITE_H

#include <stddef.h>
#include <stdint.h>

#include "../base/hash_table.h"
#include "../base/mem.h"
#include "store.h"

/* All zero is empty. `stack` of a row that is kept is its site (0: no stack). */
struct by_site {
	VEC(struct store_stat) stats;
	VEC(struct store_lifetime) lifetimes;
	VEC(struct store_peak) peaks;
	VEC(uint64_t) most; /* of peaks: the largest of a stack */
	struct hash_table stat_table, lifetime_table, peak_table;
};

/* Adds a stack's row to its site's. */
void by_site_add_stat(struct by_site *sums, const struct store_stat *row, uint32_t site);
void by_site_add_lifetime(struct by_site *sums, const struct store_lifetime *row, uint32_t site);
void by_site_add_peak(struct by_site *sums, const struct store_peak *row, uint32_t site);
/* By the tables' keys; nothing is added any more. */
void by_site_sort(struct by_site *sums);
void by_site_deinit(struct by_site *sums);

#endif
