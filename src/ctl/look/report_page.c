/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_page.c: reads the facts that report_page.h lists.
 *
 * All facts come from sums (hotspots.h, totals.h): no event is read. A hint names a verb to look
 * further, with the number behind it; that verb reads the events and finds more. With --tag or
 * --between the events are read, for sums of the blocks that the filter selects (subset.h). Without
 * events, sums by tag come from the file's tables, and `partial` is set: the rest is unknown.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report_page.h"

#include "../../analysis/compare/subset.h"
#include "../../analysis/query/type_name.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/progress.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../../store/contents.h"

/* The thresholds of hints. */
#define HINT_SHORT_LIVED 0.05	   /* share of all blocks, from one site */
#define HINT_RETAINED	 0.05	   /* share of the live bytes */
#define HINT_KEPT	 0.25	   /* share of the live bytes, from a site that keeps its blocks: */
#define HINT_KEPT_BLOCKS 100	   /* it has as many live, */
#define HINT_KEPT_FREED	 0.1	   /* and freed at most this share of all */
#define HINT_PAGES	 0.50	   /* live share of the pages' bytes: below */
#define HINT_FEW	 64	   /* pages: with fewer there is no hint */
#define HINT_REUSE_NS	 (1 << 20) /* shorter-lived blocks might be reused */
#define HINT_TYPED	 0.80	   /* share of allocations with a type: below */

/* A program that freed all but a buffer or table: its live bytes at the end are below CLEAN_BYTES,
 * and below CLEAN_SHARE of its peak. */
#define CLEAN_BYTES (64 << 10)
#define CLEAN_SHARE 0.01

#define PEAK_FIRST 1.2 /* peak / live bytes at the end: from here on the peak is shown first */
#define END_TOO	   0.1 /* live bytes at the end / peak: from here on the end is shown, too */

bool report_page_at_peak(const struct report_page *page)
{
	const struct sums *s = &page->totals.sums;

	return page->hotspots.at_peak.count &&
	       (double)s->at_peak_bytes >= PEAK_FIRST * (double)s->live_bytes;
}

bool report_page_at_end(const struct report_page *page)
{
	const struct sums *s = &page->totals.sums;

	return !report_page_at_peak(page) ||
	       (double)s->live_bytes >= END_TOO * (double)s->at_peak_bytes;
}

bool report_page_clean(const struct report_page *page)
{
	const struct totals *s = &page->totals;

	return !page->partial && s->sums.live_bytes < CLEAN_BYTES &&
	       (double)s->sums.live_bytes < CLEAN_SHARE * (double)s->peak_bytes;
}

bool report_page_short_lived(const struct report_page *page)
{
	const struct hotspots *o = &page->hotspots;

	return o->short_lived.count &&
	       (double)o->short_lived_blocks >= HINT_SHORT_LIVED * (double)o->blocks;
}

void report_page_deinit(struct report_page *page)
{
	headlines_deinit(&page->headlines);
	totals_deinit(&page->totals);
	hotspots_deinit(&page->hotspots);
	keepers_deinit(&page->keepers);
	component_rules_free(page->rules);
	texts_deinit(&page->names);
	free(page->owners);
	resident_deinit(&page->resident);
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

ORDER_BY(by_bytes, struct report_owner, ORDER_DOWN(bytes) ?: ORDER_TEXT(name))
ORDER_BY(by_peak, struct report_owner, ORDER_DOWN(at_peak_bytes) ?: ORDER_TEXT(name))

/* Adds a sum of all components, `live_bytes` or `at_peak_bytes`, to the page's owners. */
static struct shiny_err *add_components(struct store *store, const struct filter *filter,
					const char *column, struct report_page *page)
{
	struct components c;
	size_t before = page->names.count;
	uint32_t *of;

	SHINY_TRY(components_load(store, filter, page->rules, column, &c));
	of = mem_zero(c.names.count + 1, sizeof(*of));
	for (size_t i = 0; i < c.names.count; i++)
		of[i] = texts_put(&page->names, c.names.at[i]);
	page->owners = mem_resize(page->owners, page->names.count + 1, sizeof(*page->owners));
	memset(page->owners + before, 0, (page->names.count + 1 - before) * sizeof(*page->owners));
	for (size_t i = 0; i < c.count; i++) {
		struct report_owner *owner = &page->owners[of[c.rows[i].name]];

		*(strcmp(column, "live_bytes") ? &owner->at_peak_bytes : &owner->bytes) +=
			c.rows[i].value;
	}
	free(of);
	components_deinit(&c);
	return NULL;
}

static struct shiny_err *load_components(struct store *store, const struct filter *filter,
					 struct report_page *page)
{
	SHINY_TRY(component_rules_load(NULL, 0, &page->rules));
	SHINY_TRY(add_components(store, filter, "live_bytes", page));
	SHINY_TRY(add_components(store, filter, "at_peak_bytes", page));
	for (size_t i = 0; i < page->names.count; i++)
		page->owners[i].name = page->names.at[i];
	qsort(page->owners, page->names.count, sizeof(*page->owners),
	      report_page_at_peak(page) ? by_peak : by_bytes);
	return NULL;
}

/* ---- names ---- */

char *report_type(const struct hotspot_row *row, bool full)
{
	if (row->startup)
		return mem_text("start-up");
	return type_name_block(&(struct type_text){ .type = row->type,
						    .container = row->container,
						    .form = row->form,
						    .confidence = row->confidence,
						    .derived = row->or_derived,
						    .full = full });
}

char *report_site(const struct hotspot_row *row, bool full)
{
	char *function, *site;

	if (row->startup)
		return mem_text("(the loader, the C and the C++ library)");
	function = full ? mem_text(row->label) : type_name_function(row->label);
	if (!row->file || !row->line)
		return function;
	site = mem_format("%s (%s:%" PRIu32 ")", function, text_base(row->file), row->line);
	free(function);
	return site;
}

/* ---- hints ---- */

/* Returns a row's call site, shortened to fit into a sentence. */
static char *hint_site(const struct hotspot_row *row)
{
	enum { COLUMNS = 48 };
	char *site = report_site(row, false), *out = mem_alloc(4 * COLUMNS + 8);

	text_fit(out, 4 * COLUMNS + 8, site, COLUMNS, TEXT_CUT_MIDDLE);
	free(site);
	return out;
}

static void add_hint(struct report_page *page, char *command, char *text)
{
	if (page->hint_count < REPORT_HINTS) {
		page->hints[page->hint_count++] = (struct report_hint){ text, command };
	} else {
		free(text);
		free(command);
	}
}

static void hint(struct report_page *page, const char *command, char *text)
{
	add_hint(page, mem_format("%s%s", command, page->narrowing), text);
}

/* Names leaks first if one site holds much of what is live, in many blocks, and frees hardly any:
 * then it needs no age of them to ask. */
static bool hint_kept(struct report_page *page)
{
	const struct hotspots *o = &page->hotspots;
	uint64_t live = page->totals.sums.live_bytes;
	const struct hotspot_row *row = o->live.rows;
	char *site;

	if (!o->live.count || report_page_clean(page) ||
	    (double)row->held.bytes < HINT_KEPT * (double)live ||
	    row->held.blocks < HINT_KEPT_BLOCKS ||
	    (double)row->ended > HINT_KEPT_FREED * (double)row->allocs)
		return false;
	site = hint_site(row);
	hint(page, "leaks",
	     mem_format("%s, %s of what is live, was allocated by %s, which freed %s of it: does "
			"it grow?",
			units_bytes(UNITS_BUF, row->held.bytes),
			units_share(UNITS_BUF, (double)row->held.bytes, (double)live), site,
			row->ended ? units_share(UNITS_BUF, (double)row->ended, (double)row->allocs)
				   : "nothing"));
	free(site);
	return true;
}

static void find_hints(struct report_page *page)
{
	const struct totals *s = &page->totals;
	const struct hotspots *o = &page->hotspots;
	const struct hotspot_row *young = o->short_lived.rows, *retained = o->retained.rows;
	uint64_t live = s->sums.live_bytes;
	bool kept = hint_kept(page), sample = s->sums.allocs_variance != 0;

	if (o->short_lived.count &&
	    (double)young->held.blocks >= HINT_SHORT_LIVED * (double)o->blocks) {
		char *site = hint_site(young);

		hint(page, "lifetimes --by site",
		     mem_format("%s of all blocks come from %s; half of them live at most %s%s",
				units_share(UNITS_BUF, (double)young->held.blocks,
					    (double)o->blocks),
				site, units_time(UNITS_BUF, young->median_ns),
				young->median_ns <= HINT_REUSE_NS ? ": can they be reused?" : ""));
		free(site);
	}
	if (!kept && o->retained.count &&
	    (double)retained->held.bytes >= HINT_RETAINED * (double)live) {
		char *site = hint_site(retained);

		hint(page, "leaks",
		     mem_format("%s, %s of what is live, was allocated late by %s: does it grow?",
				units_bytes(UNITS_BUF, retained->held.bytes),
				units_share(UNITS_BUF, (double)retained->held.bytes, (double)live),
				site));
		free(site);
	}
	if (!page->partial && report_page_at_peak(page))
		hint(page, "peak",
		     mem_text("all rows of the peak, what of it was soon freed, and other peaks"));
	if (!sample && o->pages >= HINT_FEW &&
	    (double)o->pages_bytes < HINT_PAGES * (double)o->pages * 4096)
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
	if (!page->second && !sample) /* it is about all blocks of the first level */
		add_hint(page, mem_text("diagnose"),
			 mem_text("symptoms, what they come from, and advice, from the events"));
}

static char *narrowing(const struct ctl *ctl)
{
	AUTO_FREE char *heap = ctl_heap(ctl, "leaks"); /* as each verb of a hint */
	const char *tags = ctl->options.text[OPT_TAG], *between = ctl->options.text[OPT_BETWEEN];

	AUTO_FREE char *tag = text_word(tags ? tags : "");
	AUTO_FREE char *time = text_word(between ? between : "");

	return mem_format("%s%s%s%s%s", heap, tags ? " --tag " : "", tags ? tag : "",
			  between ? " --between " : "", between ? time : "");
}

/* `sums`: becomes a store with the filter's sums if events give them; else unchanged. */
static struct shiny_err *open_sums(struct store *store, const struct filter *filter,
				   struct report_page *page, struct store **sums)
{
	bool with_events = true;

	page->narrow = filter_is_subset(filter);
	if (!page->narrow)
		return NULL;
	if (!filter_timed(filter))
		SHINY_TRY(contents_has_events(store, &with_events));
	page->partial = !with_events;
	if (page->partial)
		return NULL;
	return subset_open(store, filter, SUBSET_ALL, "following the blocks", sums);
}

static struct shiny_err *load_sums(struct ctl *ctl, struct store *store,
				   const struct filter *filter, struct report_page *page)
{
	struct progress progress;
	struct shiny_err *err;

	page->narrowing = narrowing(ctl);
	page->second = filter->level == 2;
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
		err = resident_load(store, filter, MEMORY_PEAK, &page->resident);
	if (!err)
		err = coverage_load(store, &page->coverage);
	if (!err)
		err = headlines_load(store, filter->level, &page->headlines);
	progress_set(&progress, 4, 5);
	if (!err && CTL_JSON(ctl))
		err = processes_load(store, NULL, &page->processes);
	if (!err && CTL_JSON(ctl))
		err = sites_load(store, filter, SITES_BY_LINE, NULL, ORDER_LIVE, true,
				 &page->sites);
	progress_end(&progress);
	if (!err)
		find_hints(page);
	return err;
}

struct shiny_err *report_page_load(struct ctl *ctl, struct store *store,
				   const struct filter *filter, struct report_page *page)
{
	struct store *sums = store;
	struct shiny_err *err = open_sums(store, filter, page, &sums);

	if (!err)
		err = load_sums(ctl, sums, filter, page);
	if (!err && !page->narrow)
		err = keepers_load(store, filter, GROUP_TYPE, NULL, REPORT_KEPT,
				   ctl->options.given[OPT_FULL_NAMES], &page->keepers);
	if (sums != store)
		store_close(sums);
	return err;
}

double report_rate(const struct report_page *page)
{
	return page->length ? (double)page->totals.sums.allocs * 1e9 / (double)page->length : 0;
}
