/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h: a session as a file of another program.
 *
 * Runs: CLI. Signals: no. Allocates: yes (mem.h). Threads: one a store.
 *
 * Sums over an exported file equal those of shinyctl's verbs; the source of each form says which of
 * its values are which. Write errors stay in the stream: check ferror() once at the end.
 */
#ifndef SHINY_EXPORT_H
#define SHINY_EXPORT_H

#include <stdio.h>

#include "../analysis/attribute/tree.h"
#include "labelled.h"
#include "profile.h"

struct export_job {
	struct store *store;
	struct store *sums; /* has the filter's sums: subset.h, or the store itself */
	const struct filter *filter;
	const struct profile *profile; /* NULL: the form needs none */
	enum profile_measure measure;  /* for forms that hold one */
	enum group_by by;              /* for trees, with threshold */
	double threshold;
	const char *table;             /* for tables: a view's name without v_ */
	const char *command; /* the recorded command line */
	const char *service; /* what a receiver calls it; NULL: the command's program */
	uint32_t pid;        /* of the command's first process */
	const char *loss;    /* "lost: 12 events", for forms with room for remarks */
	struct label_choice labels; /* for forms with labels */
	bool full_names, progress;
	FILE *out;
};

/* An export format, named as in --to. */
struct export_form {
	const char *name;
	bool profile, peak; /* profile: it needs one; peak: with what was live at the peak */
	bool measure;       /* it holds one measure: --measure */
	bool table;         /* it holds one table: --table */
	bool tree;          /* it is a tree: --by, --threshold; no measure at the peak */
	bool binary;
	bool labels;        /* its samples have labels: the profile needs PROFILE_TAGS */
	bool each;          /* it lists each block: a sample has no such list */
	struct shiny_err *(*write)(const struct export_job *job);
};
enum { EXPORT_FORMS = 13 };
extern const struct export_form export_forms[EXPORT_FORMS]; /* in the order of --to's words */

SHINY_MUST_CHECK struct shiny_err *export_folded(const struct export_job *job);
SHINY_MUST_CHECK struct shiny_err *export_pprof(const struct export_job *job);
SHINY_MUST_CHECK struct shiny_err *export_otlp(const struct export_job *job);
SHINY_MUST_CHECK struct shiny_err *export_speedscope(const struct export_job *job);
SHINY_MUST_CHECK struct shiny_err *export_dhat(const struct export_job *job);
SHINY_MUST_CHECK struct shiny_err *export_massif(const struct export_job *job);
SHINY_MUST_CHECK struct shiny_err *export_heaptrack(const struct export_job *job);
SHINY_MUST_CHECK struct shiny_err *export_callgrind(const struct export_job *job);
SHINY_MUST_CHECK struct shiny_err *export_firefox(const struct export_job *job);
SHINY_MUST_CHECK struct shiny_err *export_trace(const struct export_job *job);
SHINY_MUST_CHECK struct shiny_err *export_dot(const struct export_job *job);
/* Writes the events that --process and --between select, as a table of this name. */
#define EXPORT_EVENTS "events"
SHINY_MUST_CHECK struct shiny_err *export_events(const struct export_job *job, bool csv);
SHINY_MUST_CHECK struct shiny_err *export_csv(const struct export_job *job);
SHINY_MUST_CHECK struct shiny_err *export_jsonl(const struct export_job *job);

/* Writes a form with labels into memory; the caller frees *text. */
SHINY_MUST_CHECK struct shiny_err *export_memory(
	struct store *store, const struct filter *filter, const struct profile *profile,
	struct shiny_err *(*write)(const struct export_job *job), struct label_choice labels,
	const char *service, char **text, size_t *bytes);

#endif
