/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl.h: the context of a verb: options, output and exit status; and the shared parts of reports.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_CTL_H
#define SHINY_CTL_H

#include <stdio.h>

#include "../analysis/totals/losses.h"
#include "../analysis/totals/processes.h"
#include "../analysis/totals/sites.h"
#include "../analysis/totals/types.h"
#include "../answer/table.h"
#include "../base/json.h"
#include "../store/store.h"
#include "options.h"

struct ctl {
	struct options options;
	struct style style; /* of standard output */
	struct json json;   /* open on standard output between ctl_document() and ctl_end(), with
			     * --json */
	int status;         /* exit status when the verb returns no error */
};

#define CTL_JSON(ctl) ((ctl)->options.given[OPT_JSON])

/* Opens the session, and loads the filter of --process, --tag and --between; on an error nothing
 * stays open. */
SHINY_MUST_CHECK struct shiny_err *ctl_begin(struct ctl *ctl, struct store **store,
					     struct filter *filter);
/* Returns the values of these options. */
struct filter_names ctl_names(const struct ctl *ctl);
/* Prints the part of the session that --tag and --between select; with --json always, as a member
 * of the open object: null: all. */
void ctl_subset(struct ctl *ctl);
/* Loads the filter of --process, --tag and --between; on an error `filter` needs no deinit. */
SHINY_MUST_CHECK struct shiny_err *ctl_filter(const struct ctl *ctl, struct store *store,
					      struct filter *filter);
/* Call after loading a report: frees the filter; on an error also closes the session. Returns
 * `err`. */
SHINY_MUST_CHECK struct shiny_err *ctl_loaded(struct store *store, struct filter *filter,
					      struct shiny_err *err);

/* Prints the loss line, or puts the losses into the open JSON object; sets the status for --strict.
 * `path`: of the session. */
SHINY_MUST_CHECK struct shiny_err *ctl_losses(struct ctl *ctl, struct store *store,
					      const char *path);

/* Loads the losses for fields that have them (losses_fields); sets the status for --strict. */
SHINY_MUST_CHECK struct shiny_err *ctl_losses_load(struct ctl *ctl, struct store *store,
						   const char *path, struct losses *out);

/* Ends a report and closes the session: prints the loss line and the next useful command, or with
 * --json puts the losses; sets the status for --strict. */
SHINY_MUST_CHECK struct shiny_err *ctl_end(struct ctl *ctl, struct store *store, const char *next);

/* Returns the number of rows to show, at most `count`: --limit, else `usual` on a terminal, else
 * all. */
size_t ctl_limit(const struct ctl *ctl, size_t count, size_t usual);
/* Prints "… and 37 more rows (--limit 0 shows all)", if there are more. */
void ctl_more(const struct ctl *ctl, size_t shown, size_t count);

/* Returns the option by which a command shows the level that was asked for, " --heap palloc"; ""
 * without --heap, or for a verb that shows the first level alone. The caller frees it. */
char *ctl_heap(const struct ctl *ctl, const char *command);

/* Prints the command that explains the first row of a table, by its name there: why a call site is
 * what it is, or which call sites a type has. Nothing for a name that no command takes. */
void ctl_why(const struct ctl *ctl, bool is_site, const char *name);

/* Prints one line, cut to the terminal. */
void ctl_line(const struct style *style, enum tint which, const char *text);
/* Prints an empty line and a section's title, with `more` dimmed after it. */
void ctl_heading(const struct ctl *ctl, const char *title, const char *more);

/* Begins the JSON document with its `verb` and `version`. Call after loading, so that an error
 * prints no part of one. */
void ctl_document(struct ctl *ctl);

/* Put JSON rows that `report` shares with the verbs of the same name. */
void json_sums(struct json *json, const struct sums *sums);

#endif
