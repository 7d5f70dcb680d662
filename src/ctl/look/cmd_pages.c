/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_pages.c: `shinyctl pages`: prints the pages of the heap at a moment: their fill, their
 * contents, and the blocks that keep them. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/space/pages.h"
#include "../../base/bars.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "page_map.h"
#include "../verb_body.h"

enum { SERIES_COLUMNS = 60 };

#define PAGES_IN(pages) units_bytes(UNITS_BUF, (pages)*PAGE_BYTES)

static uint64_t reclaimable_of(const struct pages_sums *sums)
{
	uint64_t pages = 0;

	for (unsigned i = 0; i < PAGES_BUCKETS; i++)
		pages += sums->buckets[i].reclaimable;
	return pages;
}

/* Returns the number of ranges with at least nine tenths of their pages in use. */
static uint64_t fit_for_huge(const struct pages_sums *sums)
{
	return sums->ranges_by_pages[PAGES_TENTHS - 1];
}

/* Prints untouched blocks, if touches were recorded. */
static void print_zombies(const struct ctl *ctl, const struct pages *p)
{
	const struct pages_sums *t = &p->total;
	const struct touched_sums *u = &p->touched;

	if (!u->processes)
		return;
	fprintf(ctl->style.out,
		"  touched      at most %s of %s in memory with live blocks, within %s%s%s\n",
		units_count(UNITS_BUF, u->touched), units_noun(UNITS_NOUN_BUF, u->pages, "page"),
		units_time(UNITS_BUF, u->least), u->most > u->least ? " to " : "",
		u->most > u->least ? units_time(UNITS_BUF, u->most) : "");
	fprintf(ctl->style.out,
		"  zombies      %s (%s) that nobody touched in that time; %s and %s of 2 MiB hold "
		"nothing else\n",
		units_noun(UNITS_NOUN_BUF, t->zombies, "block"),
		units_bytes(UNITS_BUF, t->zombie_bytes),
		units_noun(UNITS_NOUN_BUF, t->fates[PAGE_ZOMBIE], "page"),
		units_noun(UNITS_NOUN_BUF, t->fate_ranges[PAGE_ZOMBIE], "range"));
}

static void print_answer(const struct ctl *ctl, const struct pages *p)
{
	const struct pages_sums *t = &p->total;
	uint64_t oldest = p->time;

	if (p->at == PAGES_AT_END)
		fputs("at the end", ctl->style.out);
	else
		fprintf(ctl->style.out, "%s %s after the start",
			p->at == PAGES_AT_PEAK ? "at the peak of live bytes," : "at",
			units_time(UNITS_BUF, p->time));
	if (!t->pages) {
		fprintf(ctl->style.out, ": nothing is live%s\n",
			p->at == PAGES_AT_TIME && !p->count
				? ", and no process that had blocks still runs"
				: "");
		return;
	}
	fprintf(ctl->style.out, ": %s%s in use%s: %s in %s on %s (%s)\n",
		tint(&ctl->style, TINT_BOLD),
		units_share(UNITS_BUF, (double)pages_live(t), (double)t->pages * PAGE_BYTES),
		tint_end(&ctl->style, TINT_BOLD), units_bytes(UNITS_BUF, pages_live(t)),
		units_noun(UNITS_NOUN_BUF, t->blocks, "block"),
		units_noun(UNITS_NOUN_BUF, t->pages, "page"), PAGES_IN(t->pages));
	fprintf(ctl->style.out,
		"  pinned       %s (%s), %s, by %s: %s %s less than %s, %s a single block\n",
		units_noun(UNITS_NOUN_BUF, t->pinned, "page"), PAGES_IN(t->pinned),
		units_share(UNITS_BUF, (double)t->pinned, (double)t->pages),
		units_bytes(UNITS_BUF, t->pinned_bytes), units_count(UNITS_BUF, t->under),
		units_form(t->under, "holds", "hold"), units_bytes(UNITS_BUF, p->under),
		units_count(UNITS_BUF, t->single));
	fprintf(ctl->style.out,
		"  reclaimable  %s (%s) if blocks of each size stood side by side\n",
		units_noun(UNITS_NOUN_BUF, reclaimable_of(t), "page"), PAGES_IN(reclaimable_of(t)));
	fprintf(ctl->style.out,
		"  huge pages   %s of %s of 2 MiB %s 90 %% of the pages in use; to back all takes "
		"%s more\n",
		units_count(UNITS_BUF, fit_for_huge(t)),
		units_noun(UNITS_NOUN_BUF, t->ranges, "range"),
		units_form(fit_for_huge(t), "has", "have"),
		units_bytes(UNITS_BUF, t->ranges * RANGE_BYTES - t->pages * PAGE_BYTES));
	fprintf(ctl->style.out, "  cache lines  %s of 64 B %s live bytes (%s)\n",
		units_count(UNITS_BUF, t->lines), units_form(t->lines, "holds", "hold"),
		units_bytes(UNITS_BUF, t->lines * LINE_BYTES));
	for (size_t i = 0; i < p->count; i++)
		if (p->processes[i].sums.sampled && p->processes[i].sample_time < oldest)
			oldest = p->processes[i].sample_time;
	if (t->sampled)
		fprintf(ctl->style.out,
			"  committed    %s by malloc and collected heaps, when %s of %s %s last "
			"sampled%s%s%s:\n"
			"               %s resident, %s live then, %s of what was committed\n",
			units_bytes(UNITS_BUF, t->committed), units_count(UNITS_BUF, t->sampled),
			units_noun(UNITS_NOUN_BUF, p->count, "process"),
			units_form(t->sampled, "was", "were"),
			p->at == PAGES_AT_END ? "" : ", up to ",
			p->at == PAGES_AT_END ? "" : units_time(UNITS_BUF, p->time - oldest),
			p->at == PAGES_AT_END ? "" : " before", units_bytes(UNITS_BUF, t->resident),
			units_bytes(UNITS_BUF, t->sample_live),
			units_share(UNITS_BUF, (double)t->sample_live, (double)t->committed));
	print_zombies(ctl, p);
	if (t->overlaps)
		fprintf(ctl->style.out,
			"%s  %s %s inside others, whose end was not seen: %s count once%s\n",
			tint(&ctl->style, TINT_DIM),
			units_noun(UNITS_NOUN_BUF, t->overlaps, "block"),
			units_form(t->overlaps, "begins", "begin"),
			units_bytes(UNITS_BUF, t->overlap_bytes), tint_end(&ctl->style, TINT_DIM));
}

static void print_tables(const struct ctl *ctl, const struct pages_tables *tables, const char *key)
{
	const struct answer answer = { .fields = pages_tables_fields, .result = tables };

	answer_table(&answer, key, &ctl->style);
}

static void print_composition(const struct ctl *ctl, const struct pages *p,
			      const struct pages_tables *tables)
{
	AUTO_FREE char *states =
		mem_format(": D destroyed, R reused without a free, P %s%s",
			   p->at == PAGES_AT_END ? "alive at the end" : "live then",
			   p->touched.processes ? ", Z likewise and untouched" : "");

	ctl_heading(ctl, "What ever lay on pages", states);
	print_tables(ctl, tables, "ever");
	if (p->at == PAGES_AT_END)
		return;
	ctl_heading(ctl, "How what is live ends",
		    ": D will be destroyed, R reused, P never ends: it keeps its page");
	print_tables(ctl, tables, "fates");
}

static void print_pins(const struct ctl *ctl, const struct answer *answer,
		       const struct pages_pins *pins, const char *key, const char *title)
{
	struct answer pinned = *answer;
	size_t count = 0;

	while (count < pins->count && pins->rows[count].pinned)
		count++;
	if (count < pinned.limit)
		pinned.limit = count;
	ctl_heading(ctl, title, ": idle is what is not live on the pages that it alone keeps");
	answer_table(&pinned, key, &ctl->style);
	ctl_more(ctl, pinned.limit, count);
}

/* Returns the share of the pages' bytes that is not live, in tenths of a percent. */
static uint64_t unused(const struct pages_point *point)
{
	uint64_t all = point->pages * PAGE_BYTES;

	return all > point->bytes ? (all - point->bytes) * 1000 / all : 0;
}

static void print_series(const struct ctl *ctl, const struct pages *p)
{
	static const char *const names[] = { "live", "pages", "not in use" };
	enum { SERIES = sizeof(names) / sizeof(*names) };
	uint64_t *values = mem_zero(p->point_count + 1, sizeof(*values));

	if (p->point_count)
		ctl_heading(ctl, "Over time",
			    ": bytes that are live, pages they lie on, and what share of these is "
			    "not live");
	for (unsigned k = 0; k < SERIES && p->point_count; k++) {
		uint64_t most = 0, least = UINT64_MAX;
		char *bars, *text;

		for (size_t i = 0; i < p->point_count; i++) {
			const struct pages_point *point = &p->points[i];

			values[i] = k == 0 ? point->bytes : k == 1 ? point->pages : unused(point);
			most = values[i] > most ? values[i] : most;
			if (point->pages)
				least = values[i] < least ? values[i] : least;
		}
		bars = bars_text(values, p->point_count, SERIES_COLUMNS);
		least = least == UINT64_MAX ? 0 : least;
		if (k == 0)
			text = mem_format("up to %s", units_bytes(UNITS_BUF, most));
		else if (k == 1)
			text = mem_format("up to %s (%s)", units_count(UNITS_BUF, most),
					  PAGES_IN(most));
		else
			text = mem_format("%s to %s", units_share(UNITS_BUF, (double)least, 1000),
					  units_share(UNITS_BUF, (double)most, 1000));
		fprintf(ctl->style.out, "%-10s  %s  %s\n", names[k], bars, text);
		free(bars);
		free(text);
	}
	free(values);
}

static void print_map(struct ctl *ctl, const struct pages *p)
{
	print_answer(ctl, p);
	for (size_t i = 0; i < p->count; i++) {
		if (!p->processes[i].sums.pages)
			continue;
		putc('\n', ctl->style.out);
		page_map_print(&ctl->style, &p->processes[i],
			       (enum page_cell)ctl->options.number[OPT_CELL]);
	}
	if (p->total.pages) {
		putc('\n', ctl->style.out);
		page_map_legend(&ctl->style, p->at != PAGES_AT_END);
	}
}

static struct shiny_err *print_pages(struct ctl *ctl, const struct answer *answer)
{
	const struct pages *p = answer->result;
	struct pages_tables tables;

	if (ctl->options.given[OPT_MAP]) {
		print_map(ctl, p);
		return NULL;
	}
	pages_tables(&p->total, &tables);
	print_answer(ctl, p);
	if (p->total.pages) {
		print_pins(ctl, answer, &p->by_type, "types", "What pins pages, by type");
		print_pins(ctl, answer, &p->by_site, "sites", "What pins pages, by site");
		ctl_heading(ctl, "How full", ": live bytes of each page, and of each range");
		print_tables(ctl, &tables, "tenths");
	}
	if (p->count)
		print_composition(ctl, p, &tables);
	if (p->total.pages) {
		ctl_heading(ctl, "By size",
			    ": reclaimable are the pages of this size only, less what their blocks "
			    "need side by side");
		print_tables(ctl, &tables, "sizes");
	}
	if (p->total.pages && p->count > 1) {
		ctl_heading(ctl, "Processes", "");
		answer_table(answer, "processes_shown", &ctl->style);
		ctl_more(ctl, answer->limit, p->count);
	}
	print_series(ctl, p);
	return NULL;
}

static struct shiny_err *moment_of(const char *text, struct pages_ask *ask)
{
	if (!strcmp(text, "end"))
		ask->at = PAGES_AT_END;
	else if (!strcmp(text, "peak"))
		ask->at = PAGES_AT_PEAK;
	else if (strchr(text, '%') && units_parse_share(text, &ask->share))
		ask->at = PAGES_AT_SHARE;
	else if (units_parse_time(text, &ask->time))
		ask->at = PAGES_AT_TIME;
	else
		return shiny_err(SHINY_ERR_USAGE,
				 "pages: --at %s: not end, peak, a time such as 2.5s since the "
				 "start, or a share such as 40%%",
				 text);
	return NULL;
}

static struct shiny_err *load_pages(struct ctl *ctl, struct store *store,
				    const struct filter *filter, void *result)
{
	bool map = ctl->options.given[OPT_MAP], json = CTL_JSON(ctl);
	struct pages_ask ask = {
		.under = ctl->options.number[OPT_UNDER],
		.points = map && !json ? 0 : PAGES_POINTS,
		.history = !map || json,
		.match = ctl->options.text[OPT_MATCH],
		.full_names = ctl->options.given[OPT_FULL_NAMES],
		.progress = true,
	};
	struct pages *pages = result;

	SHINY_TRY(moment_of(ctl->options.text[OPT_AT], &ask));
	if (ask.at == PAGES_AT_TIME)
		SHINY_TRY(filter_reaches(store, "pages: --at", ask.time));
	SHINY_TRY(pages_load(store, filter, &ask, pages));
	for (size_t i = 0; i < pages->count; i++)
		pages->processes[i].mapped = map;
	return NULL;
}
VERB_BODY_DEINIT(struct pages, pages_deinit)

static const char *next_of_pages(const struct ctl *ctl)
{
	return ctl->options.given[OPT_MAP]			     ? "pages"
	       : strcmp(ctl->options.text[OPT_AT], "end") == 0 ? "pages --at peak"
								     : "pages --map";
}

const struct verb_body verb_pages = {
	.needs = "what a page is made of",
	.fields = pages_fields,
	.size = sizeof(struct pages),
	.load = load_pages,
	.deinit = pages_deinit_result,
	.usual = 10,
	.print = print_pages,
	.next_of = next_of_pages,
};
