/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "coverage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"
#include "../base/row_order.h"
#include "../base/units.h"
#include "space/memory.h"
#include "totals/headlines.h"
#include "totals/losses.h"
#include "totals/types.h"

const char *const finding_state_names[FINDING_STATES] = {
	[FINDING_OK] = "ok", [FINDING_WARN] = "warn", [FINDING_BAD] = "bad"
};

void coverage_add(struct coverage *coverage, enum finding_state state, const char *name,
		  const char *advice, const char *format, ...)
{
	struct finding *row =
		rows_push(&coverage->rows, &coverage->count, &coverage->room, sizeof(*row));
	va_list args;

	row->state = state;
	row->name = name;
	row->advice = advice ? mem_text(advice) : NULL;
	va_start(args, format);
	row->text = mem_format_list(format, args);
	va_end(args);
}

static struct shiny_err *add_processes(struct store *store, struct coverage *coverage)
{
	SHINY_CLEANUP(processes_deinit) struct processes processes = { 0 };
	struct shiny_err *err = processes_load(store, NULL, &processes);

	for (size_t i = 0; !err && i < processes.count; i++) {
		const struct process_row *p = &processes.rows[i];
		const char *who = *p->role ? p->role : p->name;

		if (strcmp(p->attach, "none") == 0)
			coverage_add(coverage, FINDING_WARN, "process",
				     "shinyctl doctor PROGRAM says more",
				     "%s (pid %u) was not recorded: %s", who, p->pid,
				     *p->attach_text ? p->attach_text : "no reason given");
		else
			coverage_add(coverage, FINDING_OK, "process", NULL, "%s (pid %u) by %s%s%s",
				     who, p->pid, p->attach, *p->attach_text ? ": " : "",
				     p->attach_text);
	}
	return err;
}

/* A program that is not recorded announces no children: those are counted only if recorded. */
static struct shiny_err *add_unseen(struct store *store, struct coverage *coverage)
{
	SHINY_CLEANUP(unrecorded_deinit) struct unrecorded unrecorded = { 0 };
	struct shiny_err *err = unrecorded_load(store, &unrecorded);

	if (!err && unrecorded.missed)
		coverage_add(coverage, FINDING_WARN, "process", NULL,
		    "%s not recorded; what such a program starts is counted only where it is "
		    "recorded itself",
		    units_noun(UNITS_NOUN_BUF, unrecorded.missed, "program"));
	return err;
}

static struct shiny_err *add_losses(struct store *store, struct coverage *coverage)
{
	SHINY_CLEANUP(losses_deinit) struct losses losses = { 0 };
	struct shiny_err *err = losses_load(store, &losses);

	if (!err && losses.incomplete)
		coverage_add(coverage, FINDING_WARN, "recording",
			     "what came after the last commit is missing", "it was not finished");
	if (!err && !loss_any(&losses.sum))
		coverage_add(coverage, FINDING_OK, "losses", NULL, "nothing was lost");
	for (size_t i = 0; !err && i < losses.count; i++) {
		const struct loss_row *row = &losses.rows[i];

		coverage_add(coverage, row->loss ? FINDING_WARN : FINDING_OK,
			     row->loss ? "lost" : "counted", row->loss ? row->advice : NULL,
			     "%s %s", units_count(UNITS_BUF, row->count),
			     row->text ? row->text : row->name);
	}
	return err;
}

static struct shiny_err *add_types(struct store *store, struct coverage *coverage)
{
	SHINY_CLEANUP(filter_deinit) struct filter filter = { 0 };
	SHINY_CLEANUP(types_deinit) struct types types = { 0 };

	SHINY_TRY(filter_resolve(store, NULL, &filter));
	SHINY_TRY(types_load(store, &filter, TYPES_BY_CONFIDENCE, NULL, ORDER_LIVE, &types));
	coverage_add(coverage, FINDING_OK, "types",
	    "shinyctl symbols FILE says which modules lack debug information",
	    "%s of the allocations have a type",
	    types.typed_allocs
		    ? units_share(UNITS_BUF, (double)types.typed_allocs, (double)types.total.allocs)
		    : "none");
	return NULL;
}

/* Adds a row for each way in which names are missing, with the modules that have most call
 * sites. */
static struct shiny_err *add_names(struct store *store, struct coverage *coverage)
{
	static const struct { const char *symbols, *text, *advice;
	} ways[] = {
		{ "dynsym", "exported names only", "-dbgsym packages, or --symbols DIR" },
		{ "none", "no names at all", "-dbgsym packages, or --symbols DIR" },
		{ "missing", "the file was gone when names were looked up", NULL },
		{ "changed", "the file is not the one that was recorded", NULL },
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct query *q = NULL;
		bool row = false;
		/* skips [vdso] and its like, which are no files */
		struct shiny_err *err = store_query(
			store,
			"SELECT COUNT(*), group_concat(name, ', ') FILTER (WHERE place <= 2) FROM "
			"(SELECT m.name AS name, ROW_NUMBER() OVER (ORDER BY (SELECT COUNT(*) FROM "
			"site s WHERE s.module = m.module) DESC, m.name) "
			"AS place FROM v_modules m WHERE m.symbols = ? AND m.name NOT LIKE '[%')",
			&q);

		if (!err) {
			query_bind_text(q, 1, ways[i].symbols);
			err = query_step(q, &row);
		}
		if (!err && row && query_number(q, 0)) {
			any = true;
			coverage_add(
				coverage, FINDING_WARN, "names", ways[i].advice, "%s: %s: %s%s",
				units_noun(UNITS_NOUN_BUF, (uint64_t)query_number(q, 0), "module"),
				ways[i].text, query_text(q, 1),
				query_number(q, 0) > 2 ? ", ..." : "");
		}
		query_end(q);
		if (err)
			return err;
	}
	if (!any)
		coverage_add(coverage, FINDING_OK, "names", NULL,
			     "every module has a symbol table");
	return NULL;
}

/* Adds the sidecar's notes. */
static struct shiny_err *add_notes(struct store *store, struct coverage *coverage)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(
		store, "SELECT text, COUNT(*) FROM v_notes GROUP BY text ORDER BY MIN(rowid)", &q);

	QUERY_EACH (q, err)
		coverage_add(coverage, FINDING_WARN, "note", NULL, "%s", query_text(q, 0));
	return err;
}

/* A process's resident memory in no recorded heap is reported from this size on; what no hook saw
 * mapped from this share of its resident memory on, too: less is what the loader and libc map for
 * themselves. */
enum { GAP_BYTES = 1 << 20, GAP_PART = 20 };

/* Such memory of one module, or of one name, in all processes. */
struct memory_gap {
	const char *how, *by; /* "mapped by ", the module; "named ", its name; or no_hook, "" */
	const struct memory_process *most;
	uint64_t rss;   /* in `most` */
	size_t others;  /* processes */
};
static const char no_hook[] = "that no hook saw mapped";
struct memory_gaps {
	struct memory_gap *rows;
	size_t count, room;
};

ORDER_BY(by_rss, struct memory_gap, ORDER_DOWN(rss) ?: ORDER_TEXT(by))

static void add_gap(struct memory_gaps *gaps, const struct memory_process *p, const char *how,
		    const char *by, uint64_t rss)
{
	size_t i = 0;

	if (!p->areas || rss < GAP_BYTES || (!*by && rss < p->sums.rss / GAP_PART))
		return;
	while (i < gaps->count &&
	       (strcmp(gaps->rows[i].how, how) != 0 || strcmp(gaps->rows[i].by, by) != 0))
		i++;
	if (i == gaps->count)
		*(struct memory_gap *)rows_push(&gaps->rows, &gaps->count, &gaps->room,
						sizeof(*gaps->rows)) =
			(struct memory_gap){ how, by, p, rss, 0 };
	else if (rss > gaps->rows[i].rss)
		gaps->rows[i] = (struct memory_gap){ how, by, p, rss, gaps->rows[i].others + 1 };
	else
		gaps->rows[i].others++;
}

static void find_gaps(struct memory_gaps *gaps, const struct memory_process *p)
{
	add_gap(gaps, p, no_hook, "", memory_owner_total(p, "unclassified"));
	for (size_t i = 0; i < p->owner_count; i++) {
		const struct memory_owner *o = &p->owners[i];
		const char *how = strcmp(o->owner, "mapped") == 0  ? "mapped by "
				  : strcmp(o->owner, "named") == 0 ? "named "
								   : NULL;

		for (size_t d = 0; how && d < o->count; d++)
			add_gap(gaps, p, how, o->details[d].detail, o->details[d].sums.rss);
	}
}

/*
 * Adds a row a module and name: the process with most such memory, at its moment with most
 * resident bytes. If the kernel hides its list of mappings, all memory would be unclassified, so a
 * note says so instead.
 */
static struct shiny_err *add_memory(struct store *store, struct coverage *coverage)
{
	SHINY_CLEANUP(memory_deinit) struct memory_history memory = { 0 };
	SHINY_CLEANUP(filter_deinit) struct filter all = { 0 };
	struct memory_gaps gaps = { 0 };

	SHINY_TRY(filter_resolve(store, NULL, &all));
	SHINY_TRY(memory_load(store, &all, MEMORY_PEAK, 0, &memory));
	for (size_t i = 0; i < memory.count; i++)
		find_gaps(&gaps, &memory.processes[i]);
	if (gaps.count)
		qsort(gaps.rows, gaps.count, sizeof(*gaps.rows), by_rss);
	for (size_t i = 0; i < gaps.count; i++) {
		const struct memory_gap *g = &gaps.rows[i];
		char others[64] = "";

		if (g->others)
			snprintf(others, sizeof(others), ", and likewise in %s",
				 units_noun(UNITS_NOUN_BUF, g->others, "other process"));
		coverage_add(coverage, FINDING_WARN, "memory", "shinyctl memory FILE",
			     "%s %s%s: in no recorded heap, of %s resident in %s (pid %u)%s",
			     units_bytes(UNITS_BUF, g->rss), g->how, g->by,
			     units_bytes(UNITS_BUF, g->most->sums.rss), g->most->name,
			     g->most->pid, others);
	}
	free(gaps.rows);
	return NULL;
}

struct shiny_err *coverage_load(struct store *store, struct coverage *out)
{
	SHINY_CLEANUP(coverage_deinit) struct coverage coverage = { 0 };

	SHINY_TRY(add_processes(store, &coverage));
	SHINY_TRY(add_unseen(store, &coverage));
	SHINY_TRY(add_losses(store, &coverage));
	SHINY_TRY(add_notes(store, &coverage));
	SHINY_TRY(add_memory(store, &coverage));
	SHINY_TRY(add_types(store, &coverage));
	SHINY_TRY(add_names(store, &coverage));
	*out = shiny_steal(coverage);
	return NULL;
}

void coverage_deinit(struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->count; i++) {
		free(coverage->rows[i].text);
		free(coverage->rows[i].advice);
	}
	free(coverage->rows);
}
