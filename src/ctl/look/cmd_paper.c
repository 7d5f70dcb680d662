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

#include "../../base/bars.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../verb_body.h"
#include "paper_figures.h"

enum { SERIES_COLUMNS = 60 };

static void print_list(struct ctl *ctl, const struct paper_file *f, const char *key)
{
	const struct answer answer = { .fields = paper_file_fields, .result = f };

	answer_table(&answer, key, &ctl->style);
}

static void print_f6(struct ctl *ctl, const struct paper_file *f)
{
	ctl_heading(ctl, "F6  The four streams", "");
	print_list(ctl, f, "streams");
	if (!f->known.streams.recorded)
		fprintf(ctl->style.out,
			"%sconstructions and destructions are the least that there were: "
			"constructors were not recorded (SHINY_CTORS, for programs with "
			"symbols)%s\n",
			tint(&ctl->style, TINT_DIM), tint_end(&ctl->style, TINT_DIM));
}

static void print_f7(struct ctl *ctl, const struct paper_file *f)
{
	const struct lifetimes *l = &f->lifetimes;
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
		units_share(UNITS_BUF, (double)t->destroyed, (double)t->began.blocks),
		units_share(UNITS_BUF, (double)t->reused, (double)t->began.blocks),
		units_share(UNITS_BUF, (double)t->persistent, (double)t->began.blocks));
	paper_print_z(&ctl->style, &f->access);
	for (enum population p = POPULATION_MIDDLE; p < POPULATIONS; p++) {
		const struct paper_top *top = &f->top[p];

		fprintf(ctl->style.out, "%-7s%s of the blocks:", population_names[p],
			units_share(UNITS_BUF, (double)t->population[p], (double)t->began.blocks));
		for (size_t i = 0; i < top->count; i++) {
			char name[256];

			text_fit(name, sizeof(name), top->rows[i].name, 32, TEXT_CUT_MIDDLE);
			fprintf(ctl->style.out, "%s %s %s", i ? "," : "", name,
				units_share(UNITS_BUF, (double)top->rows[i].blocks,
					    (double)t->population[p]));
		}
		putc('\n', ctl->style.out);
	}
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
	print_series(ctl, "objects", a, offsetof(struct activity_point, live.blocks));
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

static struct shiny_err *print_paper(struct ctl *ctl, const struct answer *answer)
{
	const struct paper_file *f = ((const struct paper *)answer->result)->files;

	print_f6(ctl, f);
	print_f7(ctl, f);
	ctl_heading(ctl, "F8  Lifetime by size", "");
	print_list(ctl, f, "F8");
	print_f9(ctl, &f->known.pages);
	ctl_heading(ctl, "F10 Pools by size and lifetime, a model (shinyctl sizes --pooling)", "");
	print_list(ctl, f, "F10");
	print_f11(ctl, &f->known.activity, &f->access);
	print_f14(ctl, &f->diagnoses);
	return NULL;
}

static struct shiny_err *load_paper(struct ctl *ctl, struct store *store,
				    const struct filter *filter, void *result)
{
	struct paper *paper = result;
	struct shiny_err *err;

	paper->count = 1;
	paper->files = mem_zero(1, sizeof(*paper->files));
	paper->files->file = ctl->options.operands[0];
	err = paper_figures_load(store, filter, ctl->options.given[OPT_FULL_NAMES], paper->files);
	if (err)
		paper_deinit(paper);
	return err;
}
VERB_BODY_DEINIT(struct paper, paper_deinit)

/* ---- several sessions: F6, a row for each ---- */

static bool asks_for_several(const struct ctl *ctl)
{
	return ctl->options.operand_count > 1;
}

static struct shiny_err *load_file(const struct ctl *ctl, struct paper_file *out)
{
	struct filter filter = { 0 };
	struct store *store;
	struct shiny_err *err = store_open(out->file, &store);

	if (err)
		return err;
	err = filter_resolve(store, ctl->options.text[OPT_PROCESS], &filter);
	if (!err)
		err = paper_streams_load(store, &filter, out);
	filter_deinit(&filter);
	store_close(store);
	return err;
}

static struct shiny_err *load_several(struct ctl *ctl, struct store *store,
				      const struct filter *filter, void *result)
{
	struct paper *paper = result;
	struct shiny_err *err = NULL;

	paper->count = ctl->options.operand_count;
	paper->files = mem_zero(paper->count, sizeof(*paper->files));
	for (size_t i = 0; !err && i < paper->count; i++) {
		paper->files[i].file = ctl->options.operands[i];
		err = load_file(ctl, &paper->files[i]);
	}
	if (err)
		paper_deinit(paper);
	return err;
}

static struct shiny_err *print_several(struct ctl *ctl, const struct answer *answer)
{
	ctl_heading(ctl, "F6  The four streams", "");
	answer_table(answer, "sessions", &ctl->style);
	return NULL;
}

static const struct verb_body several_body = {
	.fields = paper_several_fields,
	.size = sizeof(struct paper),
	.load = load_several,
	.deinit = paper_deinit_result,
	.print = print_several,
	.no_session = true,
	.fits = asks_for_several,
	.when = "With several sessions",
};

const struct verb_body verb_paper = {
	.needs = "each object's state",
	.fields = paper_fields,
	.size = sizeof(struct paper),
	.load = load_paper,
	.deinit = paper_deinit_result,
	.print = print_paper,
	.instead = &several_body,
};
