/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_page.h: the facts of a session's front page: sums, the largest rows of each question,
 * components, coverage, and hints.
 *
 * Runs: CLI. Signals: no. Allocates: the results of the analyses. Threads: one.
 */
#ifndef SHINY_REPORT_PAGE_H
#define SHINY_REPORT_PAGE_H

#include "../../analysis/attribute/component.h"
#include "../../analysis/coverage.h"
#include "../../analysis/totals/headlines.h"
#include "../../analysis/totals/hotspots.h"
#include "../../analysis/totals/totals.h"
#include "../../graph/retainers.h"
#include "../ctl.h"
#include "resident.h"

enum { REPORT_HINTS = 2, REPORT_KEPT = 3 };

struct report_hint {
	char *text, *command; /* "leaks" */
};
struct report_owner {
	const char *name; /* a component's */
	uint64_t bytes, at_peak_bytes;
};
struct report_page {
	const char *file, *tag, *between; /* as given; NULL: not */
	bool narrow, partial;  /* narrow: an interval or tags; partial: only the facts in tables
			        * with tags */
	bool second;	       /* it is about objects in pools */
	uint64_t from, length; /* the part of the session covered: ns since its start, ns */
	char *narrowing;       /* " --tag 'startup'": options for a command to cover the same; "":
			        * none */
	struct headlines headlines;
	struct totals totals;
	struct hotspots hotspots;
	struct component_rules *rules; /* of components */
	struct texts names;           /* of components */
	struct report_owner *owners; /* names.count of them; most bytes first, at the peak if the
				      * page begins with it */
	struct resident resident;
	struct coverage coverage;
	struct types types;
	struct report_hint hints[REPORT_HINTS];
	size_t hint_count;
	struct keepers keepers; /* for the largest types of the last heap snapshot */
	/* for JSON only */
	struct processes processes;
	struct sites sites;
};

/* Loads the page, which must be zeroed. Reads events only with --tag or --between. */
SHINY_MUST_CHECK struct shiny_err *report_page_load(struct ctl *ctl, struct store *store,
						    const struct filter *filter,
						    struct report_page *page);
void report_page_deinit(struct report_page *page);

/* True if the page begins with what was live at the peak: that was well above the end. */
bool report_page_at_peak(const struct report_page *page);
/* True if what is live at the end matters beside the peak. */
bool report_page_at_end(const struct report_page *page);
/* True if the section can be left out: nearly all was freed; few blocks died young. */
bool report_page_clean(const struct report_page *page);
bool report_page_short_lived(const struct report_page *page);
/* Returns allocations a second. */
double report_rate(const struct report_page *page);
/* Return the names of a row; `full`: not shortened. The caller frees them. */
char *report_type(const struct hotspot_row *row, bool full);
char *report_site(const struct hotspot_row *row, bool full);

extern const struct field report_fields[]; /* of struct report_page */

#endif
