/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_page.h: the facts of a session's front page: sums, the largest rows of each question,
 * components, coverage, and where to look next.
 *
 * Runs: CLI. Signals: no. Allocates: what the analyses return. Threads: one.
 */
#ifndef SHINY_REPORT_PAGE_H
#define SHINY_REPORT_PAGE_H

#include "../analysis/attribute/component.h"
#include "../analysis/coverage.h"
#include "../analysis/totals/headlines.h"
#include "../analysis/totals/hotspots.h"
#include "../analysis/totals/totals.h"
#include "../graph/retainers.h"
#include "ctl.h"

enum { REPORT_HINTS = 2, REPORT_KEPT = 3 };

struct report_hint {
	char *text, *command; /* "leaks" */
};
struct report_owner {
	const char *name; /* of struct components */
	uint64_t bytes;
};
struct report_page {
	bool narrow, partial;  /* of an interval or tags; and only what tables know that
				* have tags */
	uint64_t from, length; /* what it is about: since the session's start; ns */
	char *narrowing;       /* " --tag 'startup'": what a command needs that is to be
				* about the same; "" nothing */
	struct headlines headlines;
	struct totals totals;
	struct hotspots hotspots;
	struct component_rules *rules; /* of components */
	struct components components;
	struct report_owner *owners; /* components.names.count of them, most bytes first */
	struct coverage coverage;
	struct types types;
	struct report_hint hints[REPORT_HINTS];
	size_t hint_count;
	struct keepers keepers; /* of the largest types of the last heap snapshot */
	/* JSON only */
	struct processes processes;
	struct sites sites;
};

/* `page`: zeros. With --tag or --between the events are read; else tables alone. */
SHINY_MUST_CHECK struct shiny_err *report_page_load(struct ctl *ctl, struct store *store,
						    const struct filter *filter,
						    struct report_page *page);
void report_page_deinit(struct report_page *page);

/* What is normal gets no section: nearly all was freed; few blocks died young. */
bool report_page_clean(const struct report_page *page);
bool report_page_short_lived(const struct report_page *page);
/* Allocations a second. */
double report_rate(const struct report_page *page);
/* The names of a row; `full`: not shortened. The caller frees them. */
char *report_type(const struct hotspot_row *row, bool full);
char *report_site(const struct hotspot_row *row, bool full);

/* The whole page as members of the JSON document that ctl_document began. */
SHINY_MUST_CHECK struct shiny_err *report_json(struct ctl *ctl, const struct report_page *page);

#endif
