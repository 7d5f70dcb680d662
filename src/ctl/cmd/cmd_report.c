/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_report.c: `shinyctl report`: the front page of a session, which fits a screen: what is live
 * and who owns it, which blocks are short-lived, which are retained, what to do next, what was not
 * seen.
 *
 * All of it comes from sums (hotspots.h, totals.h): no event is read. Advice here is where to look,
 * with the number that says so; the verbs it names read the events and know more. With --tag or
 * --between the events are read after all, for such sums of the blocks that are meant (subset.h);
 * of tags, without events, what the file's own sums say of them, and in one line what they do not.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../analysis/attribute/component.h"
#include "../../analysis/totals/coverage.h"
#include "../../analysis/totals/headlines.h"
#include "../../analysis/compare/subset.h"
#include "../../analysis/totals/hotspots.h"
#include "../../analysis/totals/totals.h"
#include "../../analysis/query/type_name.h"
#include "../../base/bars.h"
#include "../../base/mem.h"
#include "../../base/progress.h"
#include "../../base/units.h"
#include "../ctl.h"

enum {
	LIVE_ROWS = 5,
	OTHER_ROWS = 3, /* a screen's worth */
	USUAL = 10,	/* rows of types and sites in JSON */
	NAMED = 6,	/* roles and components by name */
	HINTS = 2,
	NOT_SEEN = 3,
	HEADLINES = 6,
	TEXT_MOST = 220,
};
/* From what share on something is worth a hint. */
#define HINT_SHORT_LIVED 0.05	   /* of all blocks, from one site */
#define HINT_RETAINED	 0.05	   /* of the live bytes */
#define HINT_PAGES    0.50	/* of the pages' bytes are live: below it */
#define HINT_PEAK     1.5	/* peak over what is live at the end */
#define HINT_TIDY     10	/* the same: above it the program has freed what it had */
#define HINT_REUSE_NS (1 << 20) /* blocks that live no longer might be reused */
#define HINT_TYPED    0.80	/* of the allocations have a type: below it */

struct hint {
	char *text, *command; /* "leaks" */
};
struct component_sum {
	const char *name; /* of struct components */
	uint64_t bytes;
};
struct page {
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
	struct component_sum *owners; /* components.name_count of them, most bytes first */
	struct coverage coverage;
	struct types types;
	struct hint hints[HINTS];
	size_t hint_count;
	/* JSON only */
	struct processes processes;
	struct sites sites;
};

static void page_deinit(struct page *page)
{
	headlines_deinit(&page->headlines);
	totals_deinit(&page->totals);
	hotspots_deinit(&page->hotspots);
	components_deinit(&page->components);
	component_rules_free(page->rules);
	free(page->owners);
	coverage_deinit(&page->coverage);
	types_deinit(&page->types);
	for (size_t i = 0; i < page->hint_count; i++) {
		free(page->hints[i].text);
		free(page->hints[i].command);
	}
	free(page->narrowing);
	processes_deinit(&page->processes);
	sites_deinit(&page->sites);
}

static int by_bytes(const void *a, const void *b)
{
	const struct component_sum *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
				    : strcmp(x->name, y->name);
}

static struct shiny_err *load_components(struct store *store, const struct filter *filter,
					 struct page *page)
{
	struct components *c = &page->components;
	struct shiny_err *err = component_rules_load(NULL, 0, &page->rules);

	if (!err)
		err = components_load(store, filter, page->rules, "live_bytes", c);
	if (err)
		return err;
	page->owners = mem_zero(c->name_count + 1, sizeof(*page->owners));
	for (size_t i = 0; i < c->name_count; i++)
		page->owners[i].name = c->names[i];
	for (size_t i = 0; i < c->count; i++)
		page->owners[c->rows[i].name].bytes += c->rows[i].value;
	qsort(page->owners, c->name_count, sizeof(*page->owners), by_bytes);
	return NULL;
}

/* ---- names ---- */

static char *type_of(const struct hotspot_row *row, bool full)
{
	return type_name_block(&(struct type_text){ .type = row->type,
						    .container = row->container,
						    .form = row->form,
						    .confidence = row->confidence,
						    .derived = row->or_derived,
						    .full = full });
}

static char *site_of(const struct hotspot_row *row, bool full)
{
	char *function = full ? mem_text(row->label) : type_name_function(row->label), *site;

	if (!row->file)
		return function;
	site = row->line ? mem_format("%s (%s:%" PRIu32 ")", function, text_base(row->file),
				      row->line)
			 : mem_format("%s (%s)", function, text_base(row->file));
	free(function);
	return site;
}

/* ---- hints ---- */

static void add_hint(struct page *page, char *command, char *text)
{
	if (page->hint_count < HINTS) {
		page->hints[page->hint_count++] = (struct hint){ text, command };
	} else {
		free(text);
		free(command);
	}
}

static void hint(struct page *page, const char *command, char *text)
{
	add_hint(page, mem_format("%s%s", command, page->narrowing), text);
}

static void find_hints(struct page *page)
{
	const struct totals *s = &page->totals;
	const struct hotspots *o = &page->hotspots;
	const struct hotspot_row *young = o->short_lived.rows, *retained = o->retained.rows;
	uint64_t live = s->sums.live_bytes;

	if (o->short_lived.count && (double)young->blocks >= HINT_SHORT_LIVED * (double)o->blocks) {
		char *site = site_of(young, false);

		hint(page, "lifetimes --by site",
		     mem_format("%s of all blocks come from %s; half of them live at most %s%s",
				units_share(UNITS_BUF, (double)young->blocks, (double)o->blocks),
				site, units_time(UNITS_BUF, young->median_ns),
				young->median_ns <= HINT_REUSE_NS ? ": can they be reused?" : ""));
		free(site);
	}
	if (o->retained.count && (double)retained->bytes >= HINT_RETAINED * (double)live) {
		char *site = site_of(retained, false);

		hint(page, "leaks",
		     mem_format("%s, %s of what is live, was made late by %s: does it grow?",
				units_bytes(UNITS_BUF, retained->bytes),
				units_share(UNITS_BUF, (double)retained->bytes, (double)live),
				site));
		free(site);
	}
	/* a program that frees nearly all before it ends is a tidy one, not one with a peak */
	if (!page->partial && (double)s->peak_bytes >= HINT_PEAK * (double)live &&
	    (double)s->peak_bytes <= HINT_TIDY * (double)live)
		hint(page, "peak",
		     mem_format("the peak was %.1f times what is live at the end: what made it up?",
				(double)s->peak_bytes / (double)live));
	if (o->pages && (double)o->pages_bytes < HINT_PAGES * (double)o->pages * 4096)
		hint(page, "pages",
		     mem_format("live blocks fill %s of the bytes of the pages they lie on: what "
				"keeps the rest?",
				units_share(UNITS_BUF, (double)o->pages_bytes,
					    (double)o->pages * 4096)));
	if ((double)s->typed_allocs < HINT_TYPED * (double)s->sums.allocs)
		add_hint(page, mem_text("symbols"),
			 mem_format("%s of the allocations have no type: which modules lack debug "
				    "information?",
				    units_share(UNITS_BUF,
						(double)(s->sums.allocs - s->typed_allocs),
						(double)s->sums.allocs)));
	add_hint(page, mem_text("diagnose"),
		 mem_text("symptoms, what they come from, and advice, from the events"));
}

static char *narrowing(const struct ctl *ctl)
{
	const char *tags = ctl->options.text[OPT_TAG], *between = ctl->options.text[OPT_BETWEEN];

	return mem_format("%s%s%s%s%s%s", tags ? " --tag '" : "", tags ? tags : "", tags ? "'" : "",
			  between ? " --between '" : "", between ? between : "",
			  between ? "'" : "");
}

/* `sums`: the store of what the filter means, where events tell it; else it stays what it is. */
static struct shiny_err *open_sums(struct store *store, const struct filter *filter,
				   struct page *page, struct store **sums)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err;

	page->narrow = filter_is_subset(filter);
	if (!page->narrow)
		return NULL;
	if (!filter_timed(filter)) {
		err = store_query(store, "SELECT EXISTS (SELECT 1 FROM events)", &q);
		if (!err && !(err = query_step(q, &row)) && row)
			page->partial = query_number(q, 0) == 0;
		query_end(q);
		if (err || page->partial)
			return err;
	}
	return subset_open(store, filter, SUBSET_ALL, "following the blocks", sums);
}

static struct shiny_err *load_sums(struct ctl *ctl, struct store *store,
				   const struct filter *filter, struct page *page)
{
	struct progress progress;
	struct shiny_err *err;

	page->narrowing = narrowing(ctl);
	progress_begin(&progress, "adding up", true);
	err = totals_load(store, filter, &page->totals);
	page->from = filter->from;
	page->length = filter_length(filter, page->totals.duration);
	progress_set(&progress, 1, 5);
	if (!err)
		err = hotspots_load(store, filter, page->totals.duration, !page->partial,
				    &page->hotspots);
	progress_set(&progress, 2, 5);
	if (!err)
		err = types_load(store, filter,
				 CTL_JSON(ctl) ? TYPES_BY_BLOCK : TYPES_BY_CONFIDENCE, NULL,
				 ORDER_LIVE, &page->types);
	progress_set(&progress, 3, 5);
	if (!err)
		err = load_components(store, filter, page);
	if (!err)
		err = coverage_load(store, &page->coverage);
	if (!err)
		err = headlines_load(store, &page->headlines);
	progress_set(&progress, 4, 5);
	if (!err && CTL_JSON(ctl))
		err = processes_load(store, &page->processes);
	if (!err && CTL_JSON(ctl))
		err = sites_load(store, filter, SITES_BY_LINE, NULL, ORDER_LIVE, true,
				 &page->sites);
	progress_end(&progress);
	if (!err)
		find_hints(page);
	return err;
}

static struct shiny_err *page_load(struct ctl *ctl, struct store *store,
				   const struct filter *filter, struct page *page)
{
	struct store *sums = store;
	struct shiny_err *err = open_sums(store, filter, page, &sums);

	if (!err)
		err = load_sums(ctl, sums, filter, page);
	if (sums != store)
		store_close(sums);
	return err;
}

/* ---- text ---- */

static double rate(const struct page *page)
{
	return page->length ? (double)page->totals.sums.allocs * 1e9 / (double)page->length : 0;
}

/* One line, cut to the terminal. */
static void put_line(const struct style *style, enum tint which, const char *text)
{
	size_t room = style->width ? style->width : 4000;
	char *fitted = mem_alloc(4 * room + 8);

	text_fit(fitted, 4 * room + 8, text, room, TEXT_CUT_END);
	fprintf(style->out, "%s%s%s\n", tint(style, which), fitted, tint_end(style, which));
	free(fitted);
}

/* For what share of the allocations types are known, and how surely. */
static char *types_text(const struct totals *s, const struct types *types)
{
	char list[TEXT_MOST] = "";
	size_t used = 0;

	for (size_t level = 0; level < LEVEL_LABEL; level++)
		if (types->levels[level].allocs)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s %s",
						 used ? ", " : "", level_names[level],
						 units_share(UNITS_BUF,
							     (double)types->levels[level].allocs,
							     (double)s->sums.allocs));
	return used ? mem_format("  with a type %15s   of allocations: %s",
				 units_share(UNITS_BUF, (double)s->typed_allocs,
					     (double)s->sums.allocs),
				 list)
		    : mem_format("  with a type %15s", "none");
}

/* What --tag and --between leave of the session, and what is said of all of it all the same, or not
 * at all. */
static void print_subset(struct ctl *ctl, const struct page *page)
{
	if (!page->narrow)
		return;
	ctl_subset(ctl);
	if (page->length != page->totals.duration)
		fprintf(stdout, "%s long, from %s on; ", units_time(UNITS_BUF, page->length),
			units_time(UNITS_BUF, page->from));
	fprintf(stdout, "of the whole session: processes, threads, what was not seen%s\n",
		page->partial ? "\nnot known of a tag without events: the peak, whose the blocks "
				"are by process, the short-lived and the retained ones"
			      : "");
}

static void print_headlines(struct ctl *ctl, const struct headlines *headlines)
{
	for (size_t i = 0; i < headlines->count; i++) {
		const struct headline *row = &headlines->rows[i];
		char *line;

		if (i == HEADLINES) {
			fprintf(stdout, "and %zu more: shinyctl processes %s\n",
				headlines->count - i, ctl->options.operands[0]);
			return;
		}
		line = mem_format("%s%s%s", row->text, row->verb ? " \xe2\x86\x92 shinyctl " : "",
				  row->verb ? row->verb : "");
		put_line(&ctl->style, TINT_WARN, line);
		free(line);
	}
}

static void print_head(struct ctl *ctl, const struct page *page)
{
	const struct style *style = &ctl->style;
	const struct totals *s = &page->totals;
	size_t room = style->width ? style->width : style->longest ? 2 * style->longest : 4000;
	char *command = mem_alloc(4 * room + 8), *types = types_text(s, &page->types),
	     when[64] = "", *line, *bars;
	time_t started = (time_t)(s->started / 1000000000);
	struct tm tm;

	text_fit(command, 4 * room + 8, *s->command ? s->command : s->program, room, TEXT_CUT_END);
	fprintf(style->out, "%s%s%s\n", tint(style, TINT_BOLD), command,
		tint_end(style, TINT_BOLD));
	free(command);
	if (s->started && localtime_r(&started, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S, ", &tm);
	line = mem_format("%s%s, %s, %s   %s", when, units_time(UNITS_BUF, s->duration),
			  units_noun(UNITS_NOUN_BUF, s->processes, "process"),
			  units_noun(UNITS_NOUN_BUF, s->threads, "thread"),
			  ctl->options.operands[0]);
	put_line(style, TINT_NONE, line);
	free(line);
	print_subset(ctl, page);
	print_headlines(ctl, &page->headlines);
	putc('\n', style->out);
	fprintf(style->out, "  live at end %15s   %s\n", units_count(UNITS_BUF, s->sums.live),
		units_bytes(UNITS_BUF, s->sums.live_bytes));
	if (s->sums.abandoned)
		fprintf(style->out,
			"  abandoned   %15s   %s never freed by a process that ended, or called "
			"exec, "
			"before the end\n",
			units_count(UNITS_BUF, s->sums.abandoned),
			units_bytes(UNITS_BUF, s->sums.abandoned_bytes));
	fprintf(style->out, "  freed       %15s   %s\n",
		units_count(UNITS_BUF, s->sums.frees - s->sums.inherited_frees),
		units_bytes(UNITS_BUF,
			    s->sums.bytes - s->sums.live_bytes - s->sums.abandoned_bytes));
	fprintf(style->out, "  allocations %15s   %s in all, %s a second\n",
		units_count(UNITS_BUF, s->sums.allocs), units_bytes(UNITS_BUF, s->sums.bytes),
		units_short(UNITS_BUF, rate(page)));
	put_line(style, TINT_NONE, types);
	free(types);
	if (s->sums.inherited)
		fprintf(style->out,
			"  inherited   %15s   %s copied by forks: in none of the others; %s "
			"freed\n",
			units_count(UNITS_BUF, s->sums.inherited),
			units_bytes(UNITS_BUF, s->sums.inherited_bytes),
			units_count(UNITS_BUF, s->sums.inherited_frees));
	if (s->peak_bytes && !page->partial) {
		bars = bars_text(s->times, TOTALS_TIMES, TOTALS_TIMES);
		fprintf(style->out, "  peak        %15s   after %s   %s%s%s\n",
			units_bytes(UNITS_BUF, s->peak_bytes), units_time(UNITS_BUF, s->peak_at),
			tint(style, TINT_GOOD), bars, tint_end(style, TINT_GOOD));
		free(bars);
	}
}

/* Those beyond the ones that have a name here. */
struct others {
	uint64_t processes, bytes, idle;
};

/* " in browser 31.2 MiB, 3× renderer 20.1 MiB, …"; who has nothing live does not hide the
 * others. */
static void print_whose(const struct style *style, const struct page *page)
{
	const struct hotspot_roles *roles = &page->hotspots.roles;
	uint64_t live = page->totals.sums.live_bytes;
	struct others others = { 0 };
	char text[8 * TEXT_MOST];
	size_t used = 0;

	for (size_t i = 0; i < roles->count; i++) {
		const struct hotspot_role *role = &roles->rows[i];
		char many[UNITS_TEXT] = "";

		if (!role->bytes) {
			others.idle += role->processes;
		} else if (i >= NAMED || used >= sizeof(text) - 3 * TEXT_MOST) {
			others.processes += role->processes;
			others.bytes += role->bytes;
		} else {
			if (role->processes > 1)
				snprintf(many, sizeof(many), "%" PRIu64 "\xc3\x97 ",
					 role->processes);
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%.60s %s",
						 i ? ", " : "  in ", many, role->name,
						 units_bytes(UNITS_BUF, role->bytes));
		}
	}
	if (others.processes)
		used += (size_t)snprintf(text + used, sizeof(text) - used, ", %s more %s",
					 units_count(UNITS_BUF, others.processes),
					 units_bytes(UNITS_BUF, others.bytes));
	if (others.idle && used)
		snprintf(text + used, sizeof(text) - used, ", and %s more that hold%s nothing",
			 units_count(UNITS_BUF, others.idle), others.idle == 1 ? "s" : "");
	if (roles->count > 1 && used)
		put_line(style, TINT_NONE, text);
	used = 0;
	for (size_t i = 0; i < page->components.name_count && i < NAMED && page->owners[i].bytes &&
			   used < sizeof(text) - TEXT_MOST;
	     i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.60s %s",
					 i ? ", " : "  of ", page->owners[i].name,
					 units_share(UNITS_BUF, (double)page->owners[i].bytes,
						     (double)live));
	if (used)
		put_line(style, TINT_NONE, text);
}

enum { BYTES, SHARE, BLOCKS, MEDIAN, TYPE, SITE, COLUMNS };

/* What a table is about: its rows are of this many bytes and blocks, those not shown included; a
 * share is of `total`. */
struct section {
	uint64_t bytes, blocks, total;
	bool by_blocks; /* shares are of blocks */
	bool whole;	/* `bytes` and `blocks` are known: a last row has the rest */
};

static void print_rest(struct table *table, const struct section *section, uint64_t bytes,
		       uint64_t blocks)
{
	if (!section->whole || section->blocks <= blocks)
		return;
	bytes = section->bytes > bytes ? section->bytes - bytes : 0;
	blocks = section->blocks - blocks;
	table_row(table);
	table_number(table, BYTES, bytes);
	table_number(table, SHARE, section->by_blocks ? blocks : bytes);
	table_number(table, BLOCKS, blocks);
	table_text(table, TYPE, "all others");
}

static void print_rows(struct ctl *ctl, const struct hotspot_rows *rows, size_t limit,
		       const struct section *section)
{
	static const struct table_column columns[COLUMNS] = {
		[BYTES] = { .title = "bytes", .kind = CELL_BYTES, .drop = 1 },
		[SHARE] = { .title = "share", .kind = CELL_SHARE },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
		[MEDIAN] = { .title = "median life", .kind = CELL_RIGHT },
		[TYPE] = { .title = "type",
			   .kind = CELL_TEXT,
			   .flexible = true,
			   .cut = TEXT_CUT_MIDDLE,
			   .tint = TINT_NAME },
		[SITE] = { .title = "call site",
			   .kind = CELL_TEXT,
			   .flexible = true,
			   .cut = TEXT_CUT_MIDDLE },
	};
	bool full = ctl->options.given[OPT_FULL_NAMES];
	uint64_t bytes = 0, blocks = 0;
	struct table table;

	table_init(&table, columns, COLUMNS);
	table_total(&table, SHARE, section->total);
	for (size_t i = 0; i < rows->count && i < limit; i++) {
		const struct hotspot_row *row = &rows->rows[i];
		char *type = type_of(row, full), *site = site_of(row, full);

		table_row(&table);
		table_number(&table, BYTES, row->bytes);
		table_number(&table, SHARE, section->by_blocks ? row->blocks : row->bytes);
		table_number(&table, BLOCKS, row->blocks);
		if (row->median_ns) {
			char *median = mem_format("\xe2\x89\xa4 %s",
						  units_time(UNITS_BUF, row->median_ns));

			table_text(&table, MEDIAN, median);
			free(median);
		}
		table_text(&table, TYPE, type);
		table_text(&table, SITE, site);
		bytes += row->bytes;
		blocks += row->blocks;
		free(type);
		free(site);
	}
	print_rest(&table, section, bytes, blocks);
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

static void print_not_seen(struct ctl *ctl, const struct coverage *coverage)
{
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < coverage->count; i++) {
		const struct finding *row = &coverage->rows[i];
		char *line;

		/* the last lines tell of what was lost */
		if (row->state == FINDING_OK || strcmp(row->name, "lost") == 0)
			continue;
		if (shown == NOT_SEEN) {
			more++;
			continue;
		}
		if (!shown++)
			ctl_heading(ctl, "Not seen", "");
		line = mem_format("  %s%s%s", row->text, row->advice ? " \xe2\x86\x92 " : "",
				  row->advice ? row->advice : "");
		put_line(&ctl->style, TINT_NONE, line);
		free(line);
	}
	if (more)
		fprintf(stdout, "  and %zu more: shinyctl doctor %s\n", more,
			ctl->options.operands[0]);
}

static void print_page(struct ctl *ctl, const struct page *page)
{
	const struct hotspots *o = &page->hotspots;
	uint64_t live = page->totals.sums.live_bytes;
	const struct section lives = { live, page->totals.sums.live, live, .whole = true },
			     short_lived = { o->short_lived_bytes, o->short_lived_blocks, o->blocks,
					     true, true },
			     retained = { .total = live };
	char *text;

	print_head(ctl, page);
	if (o->live.count) {
		ctl_heading(ctl, "Live at the end", "");
		print_whose(&ctl->style, page);
		print_rows(ctl, &o->live, ctl_limit(ctl, o->live.count, LIVE_ROWS), &lives);
	}
	if (o->short_lived.count) {
		text = mem_format(" %s of %s died within %s",
				  units_share(UNITS_BUF, (double)o->short_lived_blocks,
					      (double)o->blocks),
				  units_noun(UNITS_NOUN_BUF, o->blocks, "block"),
				  units_time(UNITS_BUF, o->short_lived_ns));
		ctl_heading(ctl, "Short-lived:", text);
		free(text);
		print_rows(ctl, &o->short_lived, ctl_limit(ctl, o->short_lived.count, OTHER_ROWS),
			   &short_lived);
	}
	if (o->retained.count) {
		ctl_heading(ctl, "Retained:",
			    " made in the second half of its process, and live at the end");
		print_rows(ctl, &o->retained, ctl_limit(ctl, o->retained.count, OTHER_ROWS),
			   &retained);
	}
	ctl_heading(ctl, "Next", "");
	for (size_t i = 0; i < page->hint_count; i++) {
		fprintf(ctl->style.out, "  shinyctl %s %s\n", page->hints[i].command,
			ctl->options.operands[0]);
		text = mem_format("      %s", page->hints[i].text);
		put_line(&ctl->style, TINT_DIM, text);
		free(text);
	}
	print_not_seen(ctl, &page->coverage);
}

/* ---- JSON ---- */

static void json_rows(struct ctl *ctl, const char *key, const struct hotspot_rows *rows)
{
	struct json *json = &ctl->json;

	json_array(json, key);
	for (size_t i = 0; i < ctl_limit(ctl, rows->count, USUAL); i++) {
		const struct hotspot_row *row = &rows->rows[i];
		char *type = type_of(row, false), *site = site_of(row, true);

		json_object_line(json, NULL);
		json_text(json, "name", type);
		json_text(json, "type", row->type);
		json_text(json, "site", site);
		json_number(json, "blocks", row->blocks);
		json_number(json, "bytes", row->bytes);
		json_number(json, "allocs", row->allocs);
		json_number(json, "ended", row->ended);
		if (row->median_ns)
			json_number(json, "median_lifetime_ns", row->median_ns);
		json_end(json);
		free(type);
		free(site);
	}
	json_end(json);
}

static void json_components(struct json *json, const struct page *page)
{
	json_array(json, "components");
	for (size_t i = 0; i < page->components.name_count && page->owners[i].bytes; i++) {
		json_object_line(json, NULL);
		json_text(json, "name", page->owners[i].name);
		json_number(json, "live_bytes", page->owners[i].bytes);
		json_end(json);
	}
	json_end(json);
}

static void json_hotspots(struct ctl *ctl, const struct page *page)
{
	static const char *const others[] = {
		"roles", "live_bytes_over_time", "short_lived_total", "short_lived", "retained",
		"pages"
	};
	const struct hotspots *o = &page->hotspots;
	struct json *json = &ctl->json;

	json_components(json, page);
	json_rows(ctl, "live", &o->live);
	if (page->partial) {
		for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
			json_null(json, others[i]);
		return;
	}
	json_array(json, "roles");
	for (size_t i = 0; i < o->roles.count; i++) {
		json_object_line(json, NULL);
		json_text(json, "name", o->roles.rows[i].name);
		json_number(json, "processes", o->roles.rows[i].processes);
		json_number(json, "allocs", o->roles.rows[i].allocs);
		json_number(json, "live", o->roles.rows[i].blocks);
		json_number(json, "live_bytes", o->roles.rows[i].bytes);
		json_number(json, "peak_bytes", o->roles.rows[i].peak_bytes);
		json_end(json);
	}
	json_end(json);
	json_array_line(json, "live_bytes_over_time");
	for (size_t i = 0; i < TOTALS_TIMES; i++)
		json_number(json, NULL, page->totals.times[i]);
	json_end(json);
	json_object_line(json, "short_lived_total");
	json_number(json, "within_ns", o->short_lived_ns);
	json_number(json, "blocks", o->short_lived_blocks);
	json_number(json, "bytes", o->short_lived_bytes);
	json_number(json, "of", o->blocks);
	json_end(json);
	json_rows(ctl, "short_lived", &o->short_lived);
	json_rows(ctl, "retained", &o->retained);
	json_object_line(json, "pages");
	json_number(json, "pages", o->pages);
	json_number(json, "live_bytes", o->pages_bytes);
	json_end(json);
}

static void json_headlines(struct json *json, const struct headlines *headlines)
{
	json_array(json, "headlines");
	for (size_t i = 0; i < headlines->count; i++) {
		json_object_line(json, NULL);
		json_text(json, "kind", headlines->rows[i].kind);
		json_text(json, "text", headlines->rows[i].text);
		json_text(json, "verb", headlines->rows[i].verb);
		json_end(json);
	}
	json_end(json);
}

static void json_next(struct json *json, const struct page *page)
{
	json_array(json, "next");
	for (size_t i = 0; i < page->hint_count; i++) {
		json_object_line(json, NULL);
		json_text(json, "verb", page->hints[i].command);
		json_text(json, "text", page->hints[i].text);
		json_end(json);
	}
	json_end(json);
	json_array(json, "not_seen");
	for (size_t i = 0; i < page->coverage.count; i++) {
		const struct finding *row = &page->coverage.rows[i];

		if (row->state == FINDING_OK)
			continue;
		json_object_line(json, NULL);
		json_text(json, "name", row->name);
		json_text(json, "text", row->text);
		json_text(json, "advice", row->advice);
		json_end(json);
	}
	json_end(json);
}

static struct shiny_err *json_page(struct ctl *ctl, const struct page *page)
{
	const struct totals *s = &page->totals;
	struct json *json = &ctl->json;

	json_text(json, "file", ctl->options.operands[0]);
	json_text(json, "program", s->program);
	json_text(json, "command", s->command);
	json_number(json, "started_ns", s->started);
	json_number(json, "duration_ns", s->duration);
	json_number(json, "schema_version", s->schema_version);
	json_headlines(json, &page->headlines);
	ctl_subset(ctl);
	json_number(json, "from_ns", page->from);
	json_number(json, "length_ns", page->length);
	json_object(json, "totals");
	json_number(json, "processes", s->processes);
	json_number(json, "threads", s->threads);
	json_number_or_null(json, "events", s->events, !page->narrow);
	json_sums(json, &s->sums);
	json_number(json, "typed_allocs", s->typed_allocs);
	json_number(json, "types", s->types);
	json_number(json, "labels", s->labels);
	json_number(json, "vtables", s->vtables);
	json_number(json, "sites", s->sites);
	json_number_or_null(json, "stacks", s->stacks, !page->narrow);
	json_number_or_null(json, "peak_bytes", s->peak_bytes, !page->partial);
	json_number_or_null(json, "peak_time_ns", s->peak_at, !page->partial);
	json_real(json, "allocs_per_second", rate(page));
	json_end(json);
	json_hotspots(ctl, page);
	json_next(json, page);
	if (page->partial)
		json_null(json, "processes");
	else
		json_processes(ctl, "processes", &page->processes, page->processes.count);
	json_levels(ctl, &page->types);
	json_types(ctl, "types", &page->types, TYPES_BY_BLOCK,
		   ctl_limit(ctl, page->types.count, USUAL));
	return json_sites(ctl, "sites", &page->sites, ctl_limit(ctl, page->sites.count, USUAL));
}

struct shiny_err *cmd_report(struct ctl *ctl)
{
	struct store *store;
	struct filter filter;
	struct page page = { 0 };
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);

	if (err)
		return err;
	err = ctl_loaded(store, &filter, page_load(ctl, store, &filter, &page));
	if (err) {
		page_deinit(&page);
		return err;
	}
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		err = json_page(ctl, &page);
	} else {
		print_page(ctl, &page);
	}
	page_deinit(&page);
	if (err) {
		store_close(store);
		return err;
	}
	return ctl_end(ctl, store, NULL);
}
