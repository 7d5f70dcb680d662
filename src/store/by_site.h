/* SPDX-License-Identifier: Apache-2.0 */
/*
 * by_site.h: adds up rows by stack to rows by site. Lifetimes and peaks are stored only by site,
 * statistics both ways.
 *
 * Runs: sidecar. Signals: no. Allocates: yes, 40 to 200 bytes a sum. Threads: one a table.
 *
 * No report needs the lifetimes of a single stack, and a Chromium session has 317,000 rows of them
 * by stack, 18,000 by site: 8 MB or 0.4. The sites are known before the first row is written: rows
 * waiting for them would take 250 bytes of untouched memory a stack.
 */
#ifndef SHINY_STORE_BY_SITE_H
#define SHINY_STORE_BY_SITE_H

#include <stddef.h>
#include <stdint.h>

#include "../base/hash_table.h"
#include "../base/mem.h"
#include "store.h"

/* All zero is empty. `stack` of a sum is its site (0: no stack). */
struct by_site {
	VEC(struct store_stat) stats;
	VEC(struct store_lifetime) lifetimes;
	VEC(struct store_peak) peaks;
	VEC(uint64_t) most; /* for each of peaks: the largest bytes of a stack */
	struct hash_table stat_table, lifetime_table, peak_table;
};

/* Add a stack's row to its site's. */
void by_site_add_stat(struct by_site *sums, const struct store_stat *row, uint32_t site);
void by_site_add_lifetime(struct by_site *sums, const struct store_lifetime *row, uint32_t site);
void by_site_add_peak(struct by_site *sums, const struct store_peak *row, uint32_t site);
/* Sorts by the tables' keys; call after the last row. */
void by_site_sort(struct by_site *sums);
void by_site_deinit(struct by_site *sums);

#endif
