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
#include "../../answer/field.h"

enum { PAPER_USE_POINTS = 40 };

struct paper_use_point {
	uint64_t time; /* ns */
	struct touched_sums sums;
};
struct paper_access {
	struct cold cold; /* by type */
	struct cold_zombies zombies;
	uint64_t within;		 /* ns: what is not used for so long */
	struct use_share objects, bytes; /* in use within that time */
	uint64_t types_used;
	bool pages_recorded;
	struct paper_use_point
		points[PAPER_USE_POINTS]; /* evenly spaced, the last one at the end */
};

SHINY_MUST_CHECK struct shiny_err *paper_access_load(struct store *store,
						     const struct filter *filter, bool full_names,
						     struct paper_access *out);
void paper_access_deinit(struct paper_access *access);

void paper_print_z(const struct style *style, const struct paper_access *a);      /* F7 */
void paper_print_zombies(const struct style *style, const struct pages *p);       /* F9 */
void paper_print_types(const struct style *style, const struct paper_access *a);  /* F11 */
void paper_print_in_use(const struct style *style, const struct paper_access *a); /* F12 */

extern const struct field paper_z_fields[];	 /* of struct paper_access: "zombies" of F7 */
extern const struct field paper_in_use_fields[]; /* and the members of F12 */

#endif
