/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_pages.c: `shinyctl pages`: prints the pages of the heap at a moment: their fill, their
 * contents, and the blocks that keep them. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/space/pages.h"
#include "../../base/bars.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../ctl.h"
#include "../page_map.h"
#include "../pages_json.h"

/* Types and call sites shown without --limit. */
enum { PAGES_USUAL_PINS = 10 };

enum { SERIES_COLUMNS = 60, USUAL_PROCESSES = 10 };

#define PAGES_IN(pages) units_bytes(UNITS_BUF, (pages) * PAGE_BYTES)

static uint64_t live_of(const struct pages_sums *sums)
{
	return sums->bytes - sums->overlap_bytes;
}

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

/* ---- text ---- */

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

static void print_answer(const struct ctl *ctl, const struct pages *p, uint64_t under)
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
		units_share(UNITS_BUF, (double)live_of(t), (double)t->pages * PAGE_BYTES),
		tint_end(&ctl->style, TINT_BOLD), units_bytes(UNITS_BUF, live_of(t)),
		units_noun(UNITS_NOUN_BUF, t->blocks, "block"),
		units_noun(UNITS_NOUN_BUF, t->pages, "page"), PAGES_IN(t->pages));
	fprintf(ctl->style.out,
		"  pinned       %s (%s), %s, by %s: %s %s less than %s, %s a single block\n",
		units_noun(UNITS_NOUN_BUF, t->pinned, "page"), PAGES_IN(t->pinned),
		units_share(UNITS_BUF, (double)t->pinned, (double)t->pages),
		units_bytes(UNITS_BUF, t->pinned_bytes), units_count(UNITS_BUF, t->under),
		units_form(t->under, "holds", "hold"), units_bytes(UNITS_BUF, under),
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

static void print_use(const struct ctl *ctl, const struct pages_sums *t)
{
	enum { FROM, PAGES, PAGES_BAR, SHARE, RANGES, RANGES_BAR, THERE, THERE_BAR, USE_COLUMNS };
	static const struct table_column columns[USE_COLUMNS] = {
		[FROM] = { .title = "live", .kind = CELL_TEXT },
		[PAGES] = { .title = "pages", .kind = CELL_COUNT },
		[PAGES_BAR] = { .title = "", .kind = CELL_BAR, .tint = TINT_GOOD },
		[SHARE] = { .title = "share", .kind = CELL_SHARE },
		[RANGES] = { .title = "2 MiB ranges", .kind = CELL_COUNT },
		[RANGES_BAR] = { .title = "", .kind = CELL_BAR, .drop = 2, .tint = TINT_GOOD },
		[THERE] = { .title = "by pages in use", .kind = CELL_COUNT, .drop = 1 },
		[THERE_BAR] = { .title = "", .kind = CELL_BAR, .drop = 3, .tint = TINT_GOOD },
	};
	struct table table;

	ctl_heading(ctl, "How full", ": live bytes of each page, and of each range");
	table_init(&table, columns, USE_COLUMNS);
	table_total(&table, PAGES_BAR, t->pages);
	table_total(&table, SHARE, t->pages);
	table_total(&table, RANGES_BAR, t->ranges);
	table_total(&table, THERE_BAR, t->ranges);
	for (unsigned i = 0; i < PAGES_TENTHS; i++) {
		char *from = mem_format("%3u - %u %%", i * 100 / PAGES_TENTHS,
					(i + 1) * 100 / PAGES_TENTHS);

		table_row(&table);
		table_text(&table, FROM, from);
		table_number(&table, PAGES, t->by_use[i]);
		table_number(&table, PAGES_BAR, t->by_use[i]);
		table_number(&table, SHARE, t->by_use[i]);
		table_number(&table, RANGES, t->ranges_by_use[i]);
		table_number(&table, RANGES_BAR, t->ranges_by_use[i]);
		table_number(&table, THERE, t->ranges_by_pages[i]);
		table_number(&table, THERE_BAR, t->ranges_by_pages[i]);
		free(from);
	}
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

static void print_sets(const struct ctl *ctl, const uint64_t pages[PAGE_SETS],
		       const uint64_t ranges[PAGE_SETS])
{
	enum { SET, PAGES, SHARE, BAR, RANGES, SET_COLUMNS };
	static const struct table_column columns[SET_COLUMNS] = {
		[SET] = { .title = "states", .kind = CELL_TEXT, .tint = TINT_NAME },
		[PAGES] = { .title = "pages", .kind = CELL_COUNT },
		[SHARE] = { .title = "share", .kind = CELL_SHARE },
		[BAR] = { .title = "", .kind = CELL_BAR, .tint = TINT_GOOD },
		[RANGES] = { .title = "2 MiB ranges", .kind = CELL_COUNT },
	};
	struct table table;
	uint64_t all = 0;

	table_init(&table, columns, SET_COLUMNS);
	for (unsigned i = 1; i < PAGE_SETS; i++) {
		all += pages[i];
		if (!pages[i] && !ranges[i])
			continue;
		table_row(&table);
		table_text(&table, SET, page_set_names[i]);
		table_number(&table, PAGES, pages[i]);
		table_number(&table, SHARE, pages[i]);
		table_number(&table, BAR, pages[i]);
		table_number(&table, RANGES, ranges[i]);
	}
	table_total(&table, SHARE, all);
	table_total(&table, BAR, all);
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

static void print_composition(const struct ctl *ctl, const struct pages *p)
{
	char *states = mem_format(": D destroyed, R reused without a free, P %s%s",
				  p->at == PAGES_AT_END ? "alive at the end" : "live then",
				  p->touched.processes ? ", Z likewise and untouched" : "");

	ctl_heading(ctl, "What ever lay on pages", states);
	free(states);
	print_sets(ctl, p->total.ever, p->total.ever_ranges);
	if (p->at == PAGES_AT_END)
		return;
	ctl_heading(ctl, "How what is live ends",
		    ": D will be destroyed, R reused, P never ends: it keeps its page");
	print_sets(ctl, p->total.fates, p->total.fate_ranges);
}

static void print_buckets(const struct ctl *ctl, const struct pages_sums *t)
{
	enum { SIZE, BLOCKS, BYTES, PAGES, ALONE, RECLAIMABLE, RECLAIMABLE_BYTES, BUCKET_COLUMNS };
	static const struct table_column columns[BUCKET_COLUMNS] = {
		[SIZE] = { .title = "block size", .kind = CELL_TEXT },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
		[BYTES] = { .title = "live", .kind = CELL_BYTES },
		[PAGES] = { .title = "pages", .kind = CELL_COUNT },
		[ALONE] = { .title = "of this size only", .kind = CELL_COUNT, .drop = 1 },
		[RECLAIMABLE] = { .title = "reclaimable", .kind = CELL_COUNT, .tint = TINT_WARN },
		[RECLAIMABLE_BYTES] = { .title = "", .kind = CELL_BYTES, .drop = 2 },
	};
	struct table table;

	ctl_heading(ctl, "By size",
		    ": reclaimable are the pages of this size only, less what their blocks need "
		    "side by side");
	table_init(&table, columns, BUCKET_COLUMNS);
	for (unsigned i = 0; i < PAGES_BUCKETS; i++) {
		const struct pages_bucket *bucket = &t->buckets[i];

		table_row(&table);
		table_text(&table, SIZE, pages_bucket_names[i]);
		table_number(&table, BLOCKS, bucket->blocks);
		table_number(&table, BYTES, bucket->bytes);
		table_number(&table, PAGES, bucket->pages);
		table_number(&table, ALONE, bucket->alone);
		table_number(&table, RECLAIMABLE, bucket->reclaimable);
		table_number(&table, RECLAIMABLE_BYTES, bucket->reclaimable * PAGE_BYTES);
	}
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

static void print_pins(const struct ctl *ctl, const struct pages_pins *pins, const char *what)
{
	enum { IDLE, FREED, PINNED, HELD, BLOCKS, PAGES, NAME, PIN_COLUMNS };
	const struct table_column columns[PIN_COLUMNS] = {
		[IDLE] = { .title = "idle", .kind = CELL_BYTES, .tint = TINT_WARN },
		[FREED] = { .title = "by it alone", .kind = CELL_COUNT },
		[PINNED] = { .title = "pinned", .kind = CELL_COUNT },
		[HELD] = { .title = "with", .kind = CELL_BYTES, .drop = 3 },
		[PAGES] = { .title = "of pages", .kind = CELL_COUNT, .drop = 1 },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT, .drop = 2 },
		[NAME] = { what, CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	};
	size_t count = 0, limit;
	struct table table;
	char *title = mem_format("What pins pages, by %s", what);

	while (count < pins->count && pins->rows[count].pinned)
		count++;
	limit = ctl_limit(ctl, count, PAGES_USUAL_PINS);
	ctl_heading(ctl, title, ": idle is what is not live on the pages that it alone keeps");
	table_init(&table, columns, PIN_COLUMNS);
	for (size_t i = 0; i < limit; i++) {
		const struct pages_pin *row = &pins->rows[i];

		table_row(&table);
		table_text(&table, NAME, row->name);
		table_number(&table, IDLE, row->idle);
		table_number(&table, PINNED, row->pinned);
		table_number(&table, FREED, row->freed);
		table_number(&table, HELD, row->pinned_bytes);
		table_number(&table, PAGES, row->pages);
		table_number(&table, BLOCKS, row->blocks);
	}
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, count);
	table_deinit(&table);
	free(title);
}

static void print_processes_pages(const struct ctl *ctl, const struct pages *p)
{
	enum { NAME, PID, PAGES, LIVE, USE, PINNED, RANGES, HUGE, COMMITTED, PROCESS_COLUMNS };
	static const struct table_column columns[PROCESS_COLUMNS] = {
		[NAME] = { "process", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
		[PID] = { .title = "pid", .kind = CELL_TEXT, .drop = 3 },
		[PAGES] = { .title = "pages", .kind = CELL_COUNT },
		[LIVE] = { .title = "live", .kind = CELL_BYTES },
		[USE] = { .title = "in use", .kind = CELL_TEXT },
		[PINNED] = { .title = "pinned", .kind = CELL_COUNT, .tint = TINT_WARN },
		[RANGES] = { .title = "2 MiB ranges", .kind = CELL_COUNT, .drop = 2 },
		[HUGE] = { .title = "fit for huge pages", .kind = CELL_COUNT, .drop = 1 },
		[COMMITTED] = { .title = "committed", .kind = CELL_BYTES, .drop = 4 },
	};
	size_t limit = ctl_limit(ctl, p->count, USUAL_PROCESSES);
	struct table table;

	if (p->count < 2)
		return;
	ctl_heading(ctl, "Processes", "");
	table_init(&table, columns, PROCESS_COLUMNS);
	for (size_t i = 0; i < limit; i++) {
		const struct pages_process *process = &p->processes[i];
		char *pid = mem_format("%u", process->pid);

		table_row(&table);
		table_text(&table, NAME, process->name);
		table_text(&table, PID, pid);
		table_number(&table, PAGES, process->sums.pages);
		table_number(&table, LIVE, live_of(&process->sums));
		table_text(&table, USE,
			   units_share(UNITS_BUF, (double)live_of(&process->sums),
				       (double)process->sums.pages * PAGE_BYTES));
		table_number(&table, PINNED, process->sums.pinned);
		table_number(&table, RANGES, process->sums.ranges);
		table_number(&table, HUGE, fit_for_huge(&process->sums));
		if (process->sums.sampled)
			table_number(&table, COMMITTED, process->sums.committed);
		free(pid);
	}
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, p->count);
	table_deinit(&table);
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

static void print(struct ctl *ctl, const struct pages *p, uint64_t under)
{
	print_answer(ctl, p, under);
	if (p->total.pages) {
		print_pins(ctl, &p->by_type, "type");
		print_pins(ctl, &p->by_site, "site");
		print_use(ctl, &p->total);
	}
	if (p->count)
		print_composition(ctl, p);
	if (p->total.pages) {
		print_buckets(ctl, &p->total);
		print_processes_pages(ctl, p);
	}
	print_series(ctl, p);
}

static void print_map(struct ctl *ctl, const struct pages *p, uint64_t under)
{
	print_answer(ctl, p, under);
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

struct shiny_err *cmd_pages(struct ctl *ctl)
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
	struct shiny_err *err = moment_of(ctl->options.text[OPT_PAGES_AT], &ask);
	struct filter filter = { 0 };
	struct pages pages;
	struct store *store;

	if (!err)
		err = ctl_begin(ctl, &store, &filter);
	if (!err)
		err = ctl_loaded(store, &filter, pages_load(store, &filter, &ask, &pages));
	if (err)
		return err;
	if (json) {
		ctl_document(ctl);
		json_pages(&ctl->json, &pages, ask.under,
			   ctl_limit(ctl, SIZE_MAX, PAGES_USUAL_PINS), map);
	} else if (map) {
		print_map(ctl, &pages, ask.under);
	} else {
		print(ctl, &pages, ask.under);
	}
	pages_deinit(&pages);
	return ctl_end(ctl, store,
		       map			? "pages"
		       : ask.at == PAGES_AT_END ? "pages --at peak"
						: "pages --map");
}
