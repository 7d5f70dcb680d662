/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paper_figures.h: the figures of `shinyctl paper`: their data, and the fields that describe them.
 *
 * Runs: CLI. Signals: no. Allocates: yes (mem.h). Threads: replays run beside each other.
 */
#ifndef SHINY_PAPER_FIGURES_H
#define SHINY_PAPER_FIGURES_H

#include "../../analysis/diagnose.h"
#include "../../analysis/space/sizes.h"
#include "../../analysis/time/lifetimes.h"
#include "paper_access.h"

enum { PAPER_TYPES = 4 }; /* types named of a population */

/* Rows of the figures, beside the analyses that own their texts. */
struct paper_role {
	const char *name;
	struct streams_row sums;
	uint64_t constructions, destructions;
};
struct paper_top { /* the types with most blocks in a population */
	struct paper_type {
		const char *name;
		uint64_t blocks;
	} rows[PAPER_TYPES];
	size_t count;
};
struct paper_pool {
	const char *size;
	struct pooling_row row;
	uint64_t reclaimable, pooled_reclaimable; /* pages */
};
struct paper_moment {
	uint64_t time;
	struct activity_point at;
};

struct paper_file {
	const char *file;
	struct diagnose_known known; /* streams, pooling, activity, pages */
	struct lifetimes lifetimes;
	struct sizes sizes;
	struct diagnoses diagnoses;
	struct paper_access access;
	struct paper_role all, *roles;	/* the last role is that of all */
	size_t role_count, shown_roles; /* shown: with that of all, if there are several */
	struct paper_top top[POPULATIONS];
	struct paper_pool pools[PAGES_BUCKETS + 1];
	struct paper_moment *moments;
	size_t moment_count;
};
struct paper {
	struct paper_file *files;
	size_t count;
};

/* Load all figures of a session, and only its streams, F6; they set the file's `known` and what
 * follows from it. After an error, too, the file has to be freed. */
SHINY_MUST_CHECK struct shiny_err *paper_figures_load(struct store *store,
						      const struct filter *filter, bool full_names,
						      struct paper_file *out);
SHINY_MUST_CHECK struct shiny_err *paper_streams_load(struct store *store,
						      const struct filter *filter,
						      struct paper_file *out);
void paper_deinit(struct paper *paper);

extern const struct field paper_file_fields[];	  /* of struct paper_file */
extern const struct field paper_fields[];	  /* of struct paper: of one file, all figures */
extern const struct field paper_several_fields[]; /* and of several, F6 */

#endif
