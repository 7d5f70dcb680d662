/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paper_access.h: the figures of `shinyctl paper` about accesses: state Z of F7 and F9, types in
 * use of F11, and F12.
 *
 * Runs: CLI. Signals: no. Allocates: see cold.h and touched.h. Threads: one a store.
 *
 * Shares of objects, bytes and types in use come from watched blocks, with their 95 % interval;
 * pages in use are counted. Without recorded accesses they show null and "not recorded".
 */
#ifndef SHINY_PAPER_ACCESS_H
#define SHINY_PAPER_ACCESS_H

#include "../../analysis/access/cold.h"
#include "../../analysis/space/pages.h"
#include "../../base/json.h"
#include "../../answer/table.h"

enum { PAPER_USE_POINTS = 40 };

struct paper_access {
	struct cold cold; /* by type */
	bool pages_recorded;
	uint64_t duration; /* ns */
	struct touched_sums points[PAPER_USE_POINTS]; /* evenly spaced, the last one at the end */
};

SHINY_MUST_CHECK struct shiny_err *paper_access_load(struct store *store,
						     const struct filter *filter, bool full_names,
						     struct paper_access *out);
void paper_access_deinit(struct paper_access *access);

void paper_print_z(const struct style *style, const struct paper_access *a);      /* F7 */
void paper_print_zombies(const struct style *style, const struct pages *p);       /* F9 */
void paper_print_types(const struct style *style, const struct paper_access *a);  /* F11 */
void paper_print_in_use(const struct style *style, const struct paper_access *a); /* F12 */
void paper_json_z(struct json *json, const struct paper_access *a);
void paper_json_zombies(struct json *json, const struct pages *p);
void paper_json_in_use(struct json *json, const struct paper_access *a);

#endif
