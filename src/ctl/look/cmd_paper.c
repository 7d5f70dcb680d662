/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_paper.c: `shinyctl paper`: prints the figures of "Shiny Objects" (Upadhyay & Venkat, POMACS
 * 10(1):20, 2026), for an unmodified program.
 *
 * Each figure has the results of the analysis of that name in the paper's terms; the analysis's
 * verb prints more.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../analysis/diagnose.h"
#include "../../analysis/replay/replay_together.h"
#include "../../analysis/space/sizes.h"
#include "../../analysis/time/lifetimes.h"
#include "../../answer/answer.h"
#include "../../base/bars.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../verb_body.h"
#include "paper_access.h"

enum { TYPES_NAMED = 4, SERIES_COLUMNS = 60 };

struct figures {		     /* of one session */
	struct diagnose_known known; /* streams, pooling, activity, pages */
	struct lifetimes lifetimes;
	struct sizes sizes;
	struct diagnoses diagnoses;
	struct paper_access access;
};

static void figures_deinit(struct figures *f)
{
	diagnose_forget(&f->known);
	lifetimes_deinit(&f->lifetimes);
	sizes_deinit(&f->sizes);
	diagnose_deinit(&f->diagnoses);
	paper_access_deinit(&f->access);
}

struct figures_ask {
	struct store *store;
	const struct filter *filter;
	bool full_names;
	struct figures *figures;
};

static struct shiny_err *ask_lifetimes(void *context)
{
	const struct figures_ask *ask = context;

	return lifetimes_load(ask->store, ask->filter, GROUP_TYPE, NULL, LIFETIMES_BY_BLOCKS,
			      ask->full_names, true, &ask->figures->lifetimes);
}

static struct shiny_err *ask_sizes(void *context)
{
	const struct figures_ask *ask = context;

	return sizes_load(ask->store, ask->filter, NULL, SIZES_BY_BLOCKS, ask->full_names, true,
			  &ask->figures->sizes);
}

static struct shiny_err *ask_diagnoses(void *context)
{
	const struct figures_ask *ask = context;

	unsigned flags = DIAGNOSE_HISTORY | DIAGNOSE_TYPES | DIAGNOSE_PROGRESS |
			 (ask->full_names ? DIAGNOSE_FULL_NAMES : 0);

	return diagnose_load(ask->store, ask->filter, flags, &ask->figures->known,
			     &ask->figures->diagnoses);
}

static struct shiny_err *figures_load(struct ctl *ctl, struct store *store,
				      const struct filter *filter, struct figures *f)
{
	bool full = ctl->options.given[OPT_FULL_NAMES];
	struct figures_ask ask = { store, filter, full, f };
	const struct replay_task tasks[] = { { ask_diagnoses, &ask },
					     { ask_lifetimes, &ask },
					     { ask_sizes, &ask } };

	SHINY_TRY(replay_together(tasks, sizeof(tasks) / sizeof(*tasks)));
	return paper_access_load(store, filter, full, &f->access);
}

/* ---- text ---- */

enum {
	WHO,
	PROCESSES,
	ALLOCATIONS,
	DEALLOCATIONS,
	CONSTRUCTIONS,
	DESTRUCTIONS,
	RATIO,
	STREAM_COLUMNS
};
static const struct table_column stream_columns[STREAM_COLUMNS] = {
	[WHO] = { "role", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[PROCESSES] = { .title = "processes", .kind = CELL_COUNT, .drop = 1 },
	[ALLOCATIONS] = { .title = "allocations", .kind = CELL_COUNT },
	[DEALLOCATIONS] = { .title = "deallocations", .kind = CELL_COUNT },
	[CONSTRUCTIONS] = { .title = "constructions", .kind = CELL_COUNT },
	[DESTRUCTIONS] = { .title = "destructions", .kind = CELL_COUNT },
	[RATIO] = { .title = "constructions/allocation", .kind = CELL_TEXT, .drop = 2 },
};

static void stream_row(struct table *table, const char *name, const struct streams *s,
		       const struct streams_row *row)
{
	char *ratio =
		mem_format("%24.2f", row->allocations ? (double)streams_constructions(s, row) /
								(double)row->allocations
						      : 0);

	table_row(table);
	table_text(table, WHO, name);
	table_number(table, PROCESSES, row->processes);
	table_number(table, ALLOCATIONS, row->allocations);
	table_number(table, DEALLOCATIONS, row->deallocations);
	table_number(table, CONSTRUCTIONS, streams_constructions(s, row));
	table_number(table, DESTRUCTIONS, streams_destructions(s, row));
	table_text(table, RATIO, ratio);
	free(ratio);
}

static void print_f6(struct ctl *ctl, const struct streams *s)
{
	struct table table;

	ctl_heading(ctl, "F6  The four streams", "");
	table_init(&table, stream_columns, STREAM_COLUMNS);
	for (size_t i = 0; i < s->count; i++)
		stream_row(&table, s->rows[i].name, s, &s->rows[i]);
	if (s->count > 1)
		stream_row(&table, "all", s, &s->total);
	table_print(&table, &ctl->style);
	table_deinit(&table);
	if (!s->recorded)
		fprintf(ctl->style.out,
			"%sconstructions and destructions are the least that there were: "
			"constructors were not recorded (SHINY_CTORS, for programs with "
			"symbols)%s\n",
			tint(&ctl->style, TINT_DIM), tint_end(&ctl->style, TINT_DIM));
}

/* Finds the types with most blocks in a population. Returns their number. */
static size_t top_types(const struct lifetimes *l, enum population p,
			const struct lifetime_row *top[TYPES_NAMED])
{
	size_t count = 0;

	for (size_t i = 0; i < l->count; i++) {
		size_t at = count;

		if (!l->rows[i].population[p])
			continue;
		while (at && top[at - 1]->population[p] < l->rows[i].population[p])
			at--;
		if (at == TYPES_NAMED)
			continue;
		count += count < TYPES_NAMED;
		memmove(top + at + 1, top + at, (count - at - 1) * sizeof(*top));
		top[at] = &l->rows[i];
	}
	return count;
}

static void print_f7(struct ctl *ctl, const struct lifetimes *l, const struct paper_access *a)
{
	uint64_t ended[DISTRIBUTION_OCTAVES], alive[DISTRIBUTION_OCTAVES];
	const struct distribution_octave *octaves = l->octaves.rows;
	size_t octave_count = l->octaves.count;
	const struct lifetime_row *t = &l->total;
	char *bars;

	ctl_heading(ctl, "F7  Lifetimes", "");
	for (size_t i = 0; i < octave_count; i++) {
		ended[i] = octaves[i].ended;
		alive[i] = octaves[i].censored;
	}
	if (octave_count) {
		bars = bars_text(ended, octave_count, SERIES_COLUMNS);
		fprintf(ctl->style.out, "ended        %s  %s to %s, an octave a column\n", bars,
			units_time(UNITS_BUF, octaves[0].from),
			units_time(UNITS_BUF, 2 * (octaves[octave_count - 1].from ?: 1)));
		free(bars);
		bars = bars_text(alive, octave_count, SERIES_COLUMNS);
		fprintf(ctl->style.out, "never ended  %s  by age\n", bars);
		free(bars);
	}
	fprintf(ctl->style.out, "of all: D destroyed %s, R reused %s, P persistent %s\n",
		units_share(UNITS_BUF, (double)t->destroyed, (double)t->blocks),
		units_share(UNITS_BUF, (double)t->reused, (double)t->blocks),
		units_share(UNITS_BUF, (double)t->persistent, (double)t->blocks));
	paper_print_z(&ctl->style, a);
	for (enum population p = POPULATION_MIDDLE; p < POPULATIONS; p++) {
		const struct lifetime_row *top[TYPES_NAMED + 1];
		size_t count = top_types(l, p, top);

		fprintf(ctl->style.out, "%-7s%s of the blocks:", population_names[p],
			units_share(UNITS_BUF, (double)t->population[p], (double)t->blocks));
		for (size_t i = 0; i < count; i++) {
			char name[256];

			text_fit(name, sizeof(name), top[i]->name, 32, TEXT_CUT_MIDDLE);
			fprintf(ctl->style.out, "%s %s %s", i ? "," : "", name,
				units_share(UNITS_BUF, (double)top[i]->population[p],
					    (double)t->population[p]));
		}
		putc('\n', ctl->style.out);
	}
}

static void print_f8(struct ctl *ctl, const struct sizes *s)
{
	enum { UP_TO, BLOCKS, BAR, LIVED, PERSISTENT, COLUMNS };
	static const struct table_column columns[COLUMNS] = {
		[UP_TO] = { .title = "size up to", .kind = CELL_BYTES },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
		[BAR] = { .title = "", .kind = CELL_BAR, .tint = TINT_GOOD },
		[LIVED] = { .title = "lived, geometric mean", .kind = CELL_TIME },
		[PERSISTENT] = { .title = "persistent", .kind = CELL_COUNT },
	};
	struct table table;

	ctl_heading(ctl, "F8  Lifetime by size", "");
	table_init(&table, columns, COLUMNS);
	table_total(&table, BAR, s->total.sums.blocks);
	for (unsigned i = 0; i < SIZES_OCTAVES; i++) {
		const struct sizes_octave *o = &s->octaves[i];

		if (!o->sums.blocks)
			continue;
		table_row(&table);
		table_number(&table, UP_TO, o->up_to);
		table_number(&table, BLOCKS, o->sums.blocks);
		table_number(&table, BAR, o->sums.blocks);
		if (o->ages.ended)
			table_number(&table, LIVED,
				     (uint64_t)distribution_geometric_mean(&o->ages));
		table_number(&table, PERSISTENT, o->ages.censored);
	}
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

static void print_f9(struct ctl *ctl, const struct pages *p)
{
	const struct pages_sums *t = &p->total;
	bool any = false;

	ctl_heading(ctl, "F9  Pages", "");
	fprintf(ctl->style.out, "of what lay on each 4 KiB page until the peak:");
	for (unsigned set = 0; set < PAGE_SETS; set++) {
		if (!t->ever[set])
			continue;
		fprintf(ctl->style.out, "%s %s %s", any ? "," : "", page_set_names[set],
			units_count(UNITS_BUF, t->ever[set]));
		any = true;
	}
	fprintf(ctl->style.out, "%s\n", any ? " pages" : " nothing");
	fprintf(ctl->style.out,
		"in use %s of the bytes of %s; %s of them, %s, %s kept by a single block or less "
		"than %d B\n",
		units_share(UNITS_BUF, pages_utilization(t), 1),
		units_noun(UNITS_NOUN_BUF, t->pages, "page"), units_count(UNITS_BUF, t->pinned),
		units_share(UNITS_BUF, (double)t->pinned, (double)t->pages),
		units_form(t->pinned, "is", "are"), PAGES_UNDER);
	paper_print_zombies(&ctl->style, p);
}

static void print_f10(struct ctl *ctl, const struct pooling *p)
{
	enum {
		SIZE,
		BLOCKS,
		CALLS,
		POOLED,
		CYCLES,
		POOLED_CYCLES,
		FREE_PAGES,
		POOLED_PAGES,
		COLUMNS
	};
	static const struct table_column columns[COLUMNS] = {
		[SIZE] = { .title = "size", .kind = CELL_TEXT, .tint = TINT_NAME },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT, .drop = 1 },
		[CALLS] = { .title = "calls", .kind = CELL_COUNT },
		[POOLED] = { .title = "with pools", .kind = CELL_COUNT },
		[CYCLES] = { .title = "cycles", .kind = CELL_COUNT, .drop = 2 },
		[POOLED_CYCLES] = { .title = "with pools", .kind = CELL_COUNT, .drop = 2 },
		[FREE_PAGES] = { .title = "reclaimable pages", .kind = CELL_COUNT },
		[POOLED_PAGES] = { .title = "with pools", .kind = CELL_COUNT },
	};
	struct table table;

	ctl_heading(ctl, "F10 Pools by size and lifetime, a model (shinyctl sizes --pooling)", "");
	table_init(&table, columns, COLUMNS);
	for (unsigned i = 0; i <= PAGES_BUCKETS; i++) {
		const struct pooling_row *row = i < PAGES_BUCKETS ? &p->sizes[i].all : &p->total;

		table_row(&table);
		table_text(&table, SIZE, i < PAGES_BUCKETS ? pages_bucket_names[i] : "all");
		table_number(&table, BLOCKS, row->blocks);
		table_number(&table, CALLS, row->without.calls);
		table_number(&table, POOLED, row->with.calls);
		table_number(&table, CYCLES, row->without.cycles);
		table_number(&table, POOLED_CYCLES, row->with.cycles);
		table_number(&table, FREE_PAGES, pooling_reclaimable(row, &row->without));
		table_number(&table, POOLED_PAGES, pooling_reclaimable(row, &row->with));
	}
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

static void print_series(const struct ctl *ctl, const char *name, const struct activity *a,
			 size_t offset)
{
	uint64_t *values = mem_zero(a->count + 1, sizeof(*values)), most = 0;
	char *bars;

	for (size_t i = 0; i < a->total.count; i++) {
		memcpy(&values[a->total.first + i], (const char *)&a->total.points[i] + offset,
		       sizeof(*values));
		if (values[a->total.first + i] > most)
			most = values[a->total.first + i];
	}
	bars = bars_text(values, a->count, SERIES_COLUMNS);
	fprintf(ctl->style.out, "%-12s %s%s%s  at most %s\n", name, tint(&ctl->style, TINT_GOOD),
		bars, tint_end(&ctl->style, TINT_GOOD), units_count(UNITS_BUF, most));
	free(bars);
	free(values);
}

static void print_f11(struct ctl *ctl, const struct activity *a, const struct paper_access *access)
{
	ctl_heading(ctl, "F11 Live over time", "");
	print_series(ctl, "objects", a, offsetof(struct activity_point, blocks));
	print_series(ctl, "types", a, offsetof(struct activity_point, types));
	print_series(ctl, "pages", a, offsetof(struct activity_point, pages));
	print_series(ctl, "cache lines", a, offsetof(struct activity_point, lines));
	paper_print_types(&ctl->style, access);
	ctl_heading(ctl, "F12 In use", "");
	paper_print_in_use(&ctl->style, access);
	ctl_heading(ctl, "F13 Mispredictions and heavy operations by type", "");
	fprintf(ctl->style.out, "hardware counters are not recorded\n");
}

static void print_f14(struct ctl *ctl, const struct diagnoses *d)
{
	ctl_heading(ctl, "F14 Diagnosis (shinyctl diagnose)", "");
	for (size_t i = 0; i < SYMPTOMS; i++)
		fprintf(ctl->style.out, "%-12s %-8s%s\n", symptom_names[i],
			verdict_names[d->at[i].verdict],
			d->at[i].advice ? d->at[i].advice : d->at[i].measure);
}

static void print_paper(struct ctl *ctl, const struct figures *f)
{
	print_f6(ctl, &f->known.streams);
	print_f7(ctl, &f->lifetimes, &f->access);
	print_f8(ctl, &f->sizes);
	print_f9(ctl, &f->known.pages);
	print_f10(ctl, &f->known.pooling);
	print_f11(ctl, &f->known.activity, &f->access);
	print_f14(ctl, &f->diagnoses);
}

/* ---- JSON ---- */

static void json_streams_row(struct json *json, const char *key, const char *name,
			     const struct streams *s, const struct streams_row *row)
{
	json_object_line(json, key);
	json_text(json, "name", name);
	json_number(json, "processes", row->processes);
	json_number(json, "allocations", row->allocations);
	json_number(json, "deallocations", row->deallocations);
	json_number(json, "collected", row->collected);
	json_number(json, "finalized", row->finalized);
	json_number(json, "constructions", streams_constructions(s, row));
	json_number(json, "destructions", streams_destructions(s, row));
	json_end(json);
}

static struct shiny_err *json_f7(struct json *json, const struct lifetimes *l,
				 const struct paper_access *a)
{
	const struct answer lifetimes = { .fields = lifetimes_fields, .result = l };

	json_object(json, "F7");
	json_number(json, "blocks", l->total.blocks);
	json_number(json, "destroyed", l->total.destroyed);
	json_number(json, "reused", l->total.reused);
	json_number(json, "persistent", l->total.persistent);
	paper_json_z(json, a);
	SHINY_TRY(answer_json_list(&lifetimes, "histogram", json, "lifetimes"));
	for (enum population p = 0; p < POPULATIONS; p++) {
		const struct lifetime_row *top[TYPES_NAMED + 1];
		size_t count = top_types(l, p, top);

		json_array(json, population_names[p]);
		for (size_t i = 0; i < count; i++) {
			json_object_line(json, NULL);
			json_text(json, "type", top[i]->name);
			json_number(json, "blocks", top[i]->population[p]);
			json_end(json);
		}
		json_end(json);
	}
	json_end(json);
	return NULL;
}

static void json_f8_to_f10(struct json *json, const struct figures *f)
{
	json_array(json, "F8");
	for (unsigned i = 0; i < SIZES_OCTAVES; i++) {
		const struct sizes_octave *o = &f->sizes.octaves[i];

		if (!o->sums.blocks)
			continue;
		json_object_line(json, NULL);
		json_number(json, "up_to", o->up_to);
		json_number(json, "blocks", o->sums.blocks);
		json_real(json, "geometric_mean_ns", distribution_geometric_mean(&o->ages));
		json_number(json, "persistent", o->ages.censored);
		json_end(json);
	}
	json_end(json);
	json_object(json, "F9");
	json_number(json, "at_ns", f->known.pages.time);
	json_number(json, "pages", f->known.pages.total.pages);
	json_real(json, "utilization", pages_utilization(&f->known.pages.total));
	json_number(json, "pinned", f->known.pages.total.pinned);
	paper_json_zombies(json, &f->known.pages);
	json_object_line(json, "sets");
	for (unsigned set = 1; set < PAGE_SETS; set++)
		json_number(json, page_set_names[set], f->known.pages.total.ever[set]);
	json_end(json);
	json_end(json);
	json_array(json, "F10");
	for (unsigned i = 0; i <= PAGES_BUCKETS; i++) {
		const struct pooling *p = &f->known.pooling;
		const struct pooling_row *row = i < PAGES_BUCKETS ? &p->sizes[i].all : &p->total;

		json_object_line(json, NULL);
		json_text(json, "size", i < PAGES_BUCKETS ? pages_bucket_names[i] : "all");
		json_number(json, "blocks", row->blocks);
		json_number(json, "calls", row->without.calls);
		json_number(json, "pooled_calls", row->with.calls);
		json_number(json, "cycles", row->without.cycles);
		json_number(json, "pooled_cycles", row->with.cycles);
		json_number(json, "reclaimable", pooling_reclaimable(row, &row->without));
		json_number(json, "pooled_reclaimable", pooling_reclaimable(row, &row->with));
		json_end(json);
	}
	json_end(json);
}

static void json_f11_to_f14(struct json *json, const struct figures *f)
{
	const struct activity *a = &f->known.activity;

	json_array(json, "F11");
	for (size_t i = 0; i < a->total.count; i++) {
		json_object_line(json, NULL);
		json_number(json, "time_ns", (a->total.first + i + 1) * a->interval);
		json_number(json, "objects", a->total.points[i].blocks);
		json_number(json, "types", a->total.points[i].types);
		json_number(json, "pages", a->total.points[i].pages);
		json_number(json, "lines", a->total.points[i].lines);
		json_end(json);
	}
	json_end(json);
	paper_json_in_use(json, &f->access);
	json_null(json, "F13");
	json_object_line(json, "F14");
	for (size_t i = 0; i < SYMPTOMS; i++)
		json_text(json, symptom_names[i], verdict_names[f->diagnoses.at[i].verdict]);
	json_end(json);
}

static struct shiny_err *json_figures(struct json *json, const char *file, const struct streams *s,
				      const struct figures *f)
{
	json_object(json, NULL);
	json_text(json, "file", file);
	json_object(json, "F6");
	json_bool(json, "constructors_recorded", s->recorded);
	json_streams_row(json, "all", "all", s, &s->total);
	json_array(json, "roles");
	for (size_t i = 0; i < s->count; i++)
		json_streams_row(json, NULL, s->rows[i].name, s, &s->rows[i]);
	json_end(json);
	json_end(json);
	if (f) {
		SHINY_TRY(json_f7(json, &f->lifetimes, &f->access));
		json_f8_to_f10(json, f);
		json_f11_to_f14(json, f);
	}
	json_end(json);
	return NULL;
}

/* ---- one session, and several ---- */

static struct shiny_err *one(struct ctl *ctl)
{
	struct figures figures = { 0 };
	struct store *store;
	struct filter filter;
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);

	if (err)
		return err;
	err = ctl_loaded(store, &filter, figures_load(ctl, store, &filter, &figures));
	if (!err && CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_array(&ctl->json, "files");
		err = json_figures(&ctl->json, ctl->options.operands[0], &figures.known.streams,
				   &figures);
		json_end(&ctl->json);
	} else if (!err) {
		print_paper(ctl, &figures);
	}
	figures_deinit(&figures);
	return err ? err : ctl_end(ctl, store, NULL);
}

static struct shiny_err *load_streams(const struct ctl *ctl, const char *file, struct streams *out)
{
	struct filter filter = { 0 };
	struct store *store;
	struct shiny_err *err = store_open(file, &store);

	if (err)
		return err;
	err = filter_resolve(store, ctl->options.text[OPT_PROCESS], &filter);
	if (!err)
		err = streams_load(store, &filter, true, out);
	filter_deinit(&filter);
	store_close(store);
	return err;
}

/* Prints F6, a row for each session. */
static struct shiny_err *several(struct ctl *ctl)
{
	size_t count = ctl->options.operand_count;
	struct streams *streams = mem_zero(count, sizeof(*streams));
	struct table_column titled[STREAM_COLUMNS];
	struct shiny_err *err = NULL;
	struct table table;

	for (size_t i = 0; !err && i < count; i++)
		err = load_streams(ctl, ctl->options.operands[i], &streams[i]);
	if (!err && CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_array(&ctl->json, "files");
		for (size_t i = 0; !err && i < count; i++)
			err = json_figures(&ctl->json, ctl->options.operands[i], &streams[i], NULL);
		json_end(&ctl->json);
		json_end(&ctl->json);
	} else if (!err) {
		ctl_heading(ctl, "F6  The four streams", "");
		memcpy(titled, stream_columns, sizeof(titled));
		titled[WHO].title = "session";
		table_init(&table, titled, STREAM_COLUMNS);
		for (size_t i = 0; i < count; i++)
			stream_row(&table, text_base(ctl->options.operands[i]), &streams[i],
				   &streams[i].total);
		table_print(&table, &ctl->style);
		table_deinit(&table);
	}
	for (size_t i = 0; i < count; i++)
		streams_deinit(&streams[i]);
	free(streams);
	return err;
}

static struct shiny_err *cmd_paper(struct ctl *ctl)
{
	return ctl->options.operand_count > 1 ? several(ctl) : one(ctl);
}

const struct verb_body verb_paper = { .run = cmd_paper };
