/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl.h: what every verb is given: its options, where to print, and the exit status to leave; and
 * what reports share.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_CTL_H
#define SHINY_CTL_H

#include <stdio.h>

#include "../analysis/query/distribution.h"
#include "../analysis/totals/losses.h"
#include "../analysis/totals/processes.h"
#include "../analysis/totals/sites.h"
#include "../analysis/totals/types.h"
#include "../base/json.h"
#include "../store/store.h"
#include "options.h"
#include "table.h"

struct ctl {
	struct options options;
	struct style style; /* for standard output */
	struct json json;   /* open on standard output between ctl_document and ctl_end when --json
	                     * was given */
	int status;         /* exit status when the verb returns no error */
};

#define CTL_JSON(ctl) ((ctl)->options.given[OPT_JSON])

/* Opens the session and finds what --process, --tag and --between mean; on an error nothing is left
 * open. */
SHINY_MUST_CHECK struct shiny_err *ctl_begin(struct ctl *ctl, struct store **store,
					     struct filter *filter);
/* Their kinds. */
struct filter_names ctl_names(const struct ctl *ctl);
/* Says what --tag and --between leave of the session; in JSON always, into the object that is open:
 * null is all. */
void ctl_subset(struct ctl *ctl);
/* What --process, --tag and --between mean; nothing of it is left on an error. */
SHINY_MUST_CHECK struct shiny_err *ctl_filter(const struct ctl *ctl, struct store *store,
					      struct filter *filter);
/* Behind what loads a report: gives the scope back, and where that failed closes the session.
 * Returns `err`. */
SHINY_MUST_CHECK struct shiny_err *ctl_loaded(struct store *store, struct filter *filter,
					      struct shiny_err *err);

/* The loss line; in JSON the losses, into the object that is open; the status for --strict. `path`:
 * the session's. */
SHINY_MUST_CHECK struct shiny_err *ctl_losses(struct ctl *ctl, struct store *store,
					      const char *path);

/*
 * Ends a report and closes the session: the loss line, the next useful command, in JSON
 * the losses; the status for --strict.
 */
SHINY_MUST_CHECK struct shiny_err *ctl_end(struct ctl *ctl, struct store *store, const char *next);

/* How many rows to show of `count`: --limit, else `usual` on a terminal, else all. */
size_t ctl_limit(const struct ctl *ctl, size_t count, size_t usual);
/* "… and 37 more rows (--limit 0 shows all)" */
void ctl_more(const struct ctl *ctl, size_t shown, size_t count);

/* An empty line and a section's title, with what is said of it less loudly. */
void ctl_heading(const struct ctl *ctl, const char *title, const char *more);

/* Starts the JSON document with its `verb` and `version`; only once all is loaded, so that an error
 * leaves no half of one. */
void ctl_document(struct ctl *ctl);

/* JSON rows that report shares with the verbs of the same name. */
void json_types(struct ctl *ctl, const char *key, const struct types *types, enum types_by by,
		size_t limit);
void json_levels(struct ctl *ctl, const struct types *types);
SHINY_MUST_CHECK struct shiny_err *json_sites(struct ctl *ctl, const char *key,
					      const struct sites *sites, size_t limit);
/* The frames of a stack, innermost first; of stack 0 none. */
SHINY_MUST_CHECK struct shiny_err *json_stack(struct json *json, struct store *store,
					      const char *key, uint32_t stack);
void json_processes(struct ctl *ctl, const char *key, const struct processes *processes,
		    size_t limit);
/* Lifetimes by powers of two: how many ended, how many were alive to the end, what share lived
 * longer. */
void json_ages(struct json *json, const char *key, const struct distribution *ages);
void json_sums(struct json *json, const struct sums *sums);

#endif
