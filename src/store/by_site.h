/* SPDX-License-Identifier: Apache-2.0 */
/*
 * by_site.h: lifetimes and peaks come a stack and are kept a site, statistics are kept both ways.
 * They wait here until the sites are known.
 *
 * Runs: sidecar. Signals: no. Allocates: yes, 40 to 100 bytes a row that waits. Threads: one a
 * table.
 *
 * Nothing that a person asks is about the lifetimes of a single stack, and a Chromium session has
 * 317,000 stacks' and 18,000 sites' rows of them: 8 MB or 0.4.
 */
#ifndef SHINY_STORE_BY_SITE_H
#define SHINY_STORE_BY_SITE_H

#include <stddef.h>
#include <stdint.h>

#include "../base/mem.h"
#include "store.h"

/* All zero is empty. In waiting rows `stack` is a stack, in merged ones a site (0: no stack). */
struct by_site {
	VEC(struct store_lifetime) lifetimes;
	VEC(struct store_stat) stats;
	VEC(struct store_peak) peaks;
};

/* Puts each stack's site in its place (sites[stack]; stacks from `limit` on have none), adds up,
 * and sorts by the tables' keys. */
void by_site_merge(struct by_site *waiting, const uint32_t *sites, size_t limit);
void by_site_deinit(struct by_site *waiting);

#endif
