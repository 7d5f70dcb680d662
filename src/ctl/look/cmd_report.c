/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_report.c: `shinyctl report`: prints the front page of a session, which fits a screen.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../answer/estimated.h"
#include "../../base/bars.h"
#include "../../base/cleanup.h"
#include "../../base/line_fold.h"
#include "../../base/text.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/units.h"
#include "report_page.h"
#include "../snapshot_facts.h"
#include "../verb_body.h"

enum {
	SCREEN = 50,	/* lines */
	NAMED = 6,	/* roles and components listed by name */
	HEADLINES = 6,
	TEXT_MOST = 220,
};

/* Rows of the page's first table, of each other one, and lines of what was not seen and of resident
 * memory. The first of these with which the page fits a terminal of SCREEN lines are taken, or the
 * last. */
static const struct page_rows {
	size_t first, others, unseen, resident;
} page_rows[] = { { 5, 3, 3, 3 }, { 5, 2, 3, 3 }, { 5, 1, 3, 3 }, { 4, 1, 3, 3 },
		  { 3, 1, 2, 3 }, { 3, 1, 1, 2 }, { 2, 1, 1, 1 }, { 1, 1, 1, 1 } };

/* Returns the share of allocations with a known type, by confidence, as text. */
static char *types_text(const struct totals *s, const struct types *types)
{
	char list[TEXT_MOST] = "";
	size_t used = 0;

	for (size_t level = 0; level < LEVEL_LABEL; level++) {
		const struct type_level *l = &types->levels[level];

		if (l->sums.allocs)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s %s",
						 used ? ", " : "", l->name,
						 units_share(UNITS_BUF, (double)l->sums.allocs,
							     (double)s->sums.allocs));
	}
	return used ? mem_format("  with a type %15s   of allocations: %s",
				 units_share(UNITS_BUF, (double)s->typed_allocs,
					     (double)s->sums.allocs),
				 list)
		    : mem_format("  with a type %15s", "none");
}

/* Prints the part of the session that --tag and --between select, and which figures are of the
 * whole session, or unknown. */
static void print_subset(struct ctl *ctl, const struct report_page *page)
{
	FILE *out = ctl->style.out;

	if (!page->narrow)
		return;
	ctl_subset(ctl);
	if (page->length != page->totals.duration)
		fprintf(out, "%s long, from %s on; ", units_time(UNITS_BUF, page->length),
			units_time(UNITS_BUF, page->from));
	fprintf(out, "of the whole session: processes, threads, what was not seen%s\n",
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
			AUTO_FREE char *file = text_shell(ctl->options.operands[0]);

			fprintf(ctl->style.out, "and %zu more: shinyctl info --processes %s\n",
				headlines->count - i, file);
			return;
		}
		line = mem_format("%s%s%s", row->text, row->verb ? " \xe2\x86\x92 shinyctl " : "",
				  row->verb ? row->verb : "");
		ctl_line(&ctl->style, TINT_WARN, line);
		free(line);
	}
}

/* Returns how many bars fit behind `used` columns. */
static size_t bars_room(const struct style *style, size_t used)
{
	if (!style->width || style->width >= used + TOTALS_TIMES)
		return TOTALS_TIMES;
	return style->width > used + 1 ? style->width - used : 1;
}

/* Prints the command, when it ran, and what to know before the numbers. */
static void print_title(struct ctl *ctl, const struct report_page *page)
{
	const struct style *style = &ctl->style;
	const struct totals *s = &page->totals;
	AUTO_FREE char *file = text_shell(ctl->options.operands[0]);
	char when[64] = "", *line;
	time_t started = (time_t)(s->started / 1000000000);
	struct tm tm;

	ctl_line(style, TINT_BOLD, *s->command ? s->command : s->program);
	if (s->started && localtime_r(&started, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S, ", &tm);
	/* objects in pools are counted without threads */
	line = mem_format("%s%s, %s%s%s   %s", when, units_time(UNITS_BUF, s->duration),
			  units_noun(UNITS_NOUN_BUF, s->processes, "process"),
			  s->threads ? ", " : "",
			  s->threads ? units_noun(UNITS_NOUN_BUF, s->threads, "thread") : "", file);
	ctl_line(style, TINT_NONE, line);
	free(line);
	print_subset(ctl, page);
	print_headlines(ctl, &page->headlines);
	putc('\n', style->out);
}

/* Prints the highest live bytes, and their course. */
static void print_course(const struct style *style, const struct totals *s)
{
	char *line = mem_format("  peak        %15s   after %s",
				units_bytes(UNITS_BUF, s->peak_bytes),
				units_time(UNITS_BUF, s->peak_at));
	char *bars = bars_text(s->times, TOTALS_TIMES, bars_room(style, strlen(line) + 3));

	fprintf(style->out, "%s   %s%s%s\n", line, tint(style, TINT_GOOD), bars,
		tint_end(style, TINT_GOOD));
	free(line);
	free(bars);
}

static void print_head(struct ctl *ctl, const struct report_page *page,
		       const struct page_rows *rows)
{
	const struct style *style = &ctl->style;
	const struct totals *s = &page->totals;
	char *types = types_text(s, &page->types), *line;

	print_title(ctl, page);
	fprintf(style->out, "  live at end %15s   %s%s\n", units_count(UNITS_BUF, s->sums.live),
		units_bytes(UNITS_BUF, s->sums.live_bytes),
		estimated_margin(ESTIMATED_MARGIN_BUF, s->sums.live_bytes,
				 s->sums.live_bytes_variance));
	if (s->sums.abandoned) {
		line = mem_format("  abandoned   %15s   %s never freed by a process that ended, or "
				  "called exec, before the end",
				  units_count(UNITS_BUF, s->sums.abandoned),
				  units_bytes(UNITS_BUF, s->sums.abandoned_bytes));
		ctl_line(style, TINT_NONE, line);
		free(line);
	}
	fprintf(style->out, "  freed       %15s   %s\n",
		units_count(UNITS_BUF, s->sums.frees - s->sums.inherited_frees),
		units_bytes(UNITS_BUF,
			    s->sums.bytes - s->sums.live_bytes - s->sums.abandoned_bytes));
	fprintf(style->out, "  allocations %15s   %s%s in all, %s/s\n",
		units_count(UNITS_BUF, s->sums.allocs), units_bytes(UNITS_BUF, s->sums.bytes),
		estimated_margin(ESTIMATED_MARGIN_BUF, s->sums.bytes, s->sums.bytes_variance),
		units_short(UNITS_BUF, report_rate(page)));
	ctl_line(style, TINT_NONE, types);
	free(types);
	if (s->sums.inherited) {
		line = mem_format("  inherited   %15s   %s copied by forks: in none of the others; "
				  "%s freed",
				  units_count(UNITS_BUF, s->sums.inherited),
				  units_bytes(UNITS_BUF, s->sums.inherited_bytes),
				  units_count(UNITS_BUF, s->sums.inherited_frees));
		ctl_line(style, TINT_NONE, line);
		free(line);
	}
	if (s->peak_bytes && !page->partial)
		print_course(style, s);
	resident_print(style, &page->resident, rows->resident, s->processes > 1);
}

/* The bytes that a role, or a component, holds at the moment of a table. */
struct holder {
	const char *name;
	uint64_t processes, bytes;
};

ORDER_BY(by_holding, struct holder, ORDER_DOWN(bytes) ?: ORDER_TEXT(name))

/* Prints " in browser 31.2 MiB, 3× renderer 20.1 MiB, …"; roles that hold nothing come last, as
 * a number. */
static void print_roles(const struct style *style, const struct hotspot_roles *roles, bool at_peak)
{
	struct holder *holders = mem_zero(roles->count + 1, sizeof(*holders)), others = { 0 };
	uint64_t idle = 0;
	AUTO_FREE char *text = NULL;
	size_t size;
	FILE *out = mem_stream_open(&text, &size);

	for (size_t i = 0; i < roles->count; i++) {
		const struct hotspot_role *role = &roles->rows[i];

		holders[i] = (struct holder){ role->name, role->processes,
					      at_peak ? role->at_peak_bytes : role->bytes };
	}
	qsort(holders, roles->count, sizeof(*holders), by_holding);
	for (size_t i = 0; i < roles->count; i++) {
		const struct holder *h = &holders[i];

		if (!h->bytes) {
			idle += h->processes;
		} else if (i >= NAMED) {
			others.processes += h->processes;
			others.bytes += h->bytes;
		} else {
			fputs(i ? ", " : "  in ", out);
			if (h->processes > 1)
				fprintf(out, "%" PRIu64 "× ", h->processes);
			fprintf(out, "%.60s %s", h->name, units_bytes(UNITS_BUF, h->bytes));
		}
	}
	if (others.processes)
		fprintf(out, ", %s more %s", units_count(UNITS_BUF, others.processes),
			units_bytes(UNITS_BUF, others.bytes));
	if (idle && holders->bytes)
		fprintf(out, ", and %s more that hold%s nothing", units_count(UNITS_BUF, idle),
			idle == 1 ? "s" : "");
	mem_stream_close(out);
	if (roles->count > 1 && holders->bytes)
		ctl_line(style, TINT_NONE, text);
	free(holders);
}

/* Prints " of blink 32 %, v8 20 %, …" of `total` bytes. */
static void print_components(const struct style *style, const struct report_page *page,
			     bool at_peak, uint64_t total)
{
	struct holder *holders = mem_zero(page->names.count + 1, sizeof(*holders));
	AUTO_FREE char *text = NULL;
	size_t size;
	FILE *out = mem_stream_open(&text, &size);

	for (size_t i = 0; i < page->names.count; i++)
		holders[i] = (struct holder){ page->owners[i].name, 0,
					      at_peak ? page->owners[i].at_peak_bytes
						      : page->owners[i].bytes };
	qsort(holders, page->names.count, sizeof(*holders), by_holding);
	for (size_t i = 0; i < page->names.count && i < NAMED && holders[i].bytes; i++)
		fprintf(out, "%s%.60s %s", i ? ", " : "  of ", holders[i].name,
			units_share(UNITS_BUF, (double)holders[i].bytes, (double)total));
	mem_stream_close(out);
	if (holders->bytes)
		ctl_line(style, TINT_NONE, text);
	free(holders);
}

/* ---- tables ---- */

struct report_line {
	struct estimated held;
	uint64_t median_ns;
	char *type, *site;
};
struct report_lines {
	struct report_line rows[HOTSPOTS_MOST + 1];
	size_t count;
	uint64_t total; /* that shares are of */
};

/* The sums of a table: its rows have this many bytes and blocks, those not shown included; shares
 * are of `total`. */
struct section {
	uint64_t bytes, blocks, total;
	bool by_blocks; /* shares are of blocks */
	bool whole;	/* `bytes` and `blocks` are known: a last row shows the rest */
};

static void get_median(const void *row, struct field_value *out)
{
	const struct report_line *r = row;

	if (r->median_ns)
		field_set_owned(out,
				mem_format("\xe2\x89\xa4 %s", units_time(UNITS_BUF, r->median_ns)));
}

/* clang-format off */
#define LINE struct report_line
static const struct field line_fields[] = {
	{ FIELD_BYTES("bytes", LINE, held.bytes) },
	{ FIELD_GROUP(LINE, held, estimated_fields) },
	{ FIELD_SHARE("of_bytes", LINE, held.bytes, struct report_lines, total) },
	{ FIELD_SHARE("of_blocks", LINE, held.blocks, struct report_lines, total) },
	{ FIELD_COUNT("blocks", LINE, held.blocks) },
	{ FIELD_WORKED_OUT("median_life", ID, get_median) },
	{ FIELD_TEXT("type", LINE, type), FIELD_NAME },
	{ FIELD_TEXT("call_site", LINE, site), .flexible = true, .cut = TEXT_CUT_MIDDLE },
	FIELD_LAST
};
static const struct field lines_fields[] = {
	{ FIELD_FIRST("lines", struct report_lines, rows, count, line_fields),
	  .shows = "bytes margin/4 of_bytes/2 blocks/1 median_life type call_site" },
	{ FIELD_FIRST("lives", struct report_lines, rows, count, line_fields),
	  .shows = "bytes/1 margin/4 of_blocks blocks median_life type call_site" },
	FIELD_LAST
};
/* clang-format on */

static void print_report_rows(struct ctl *ctl, const struct hotspot_rows *rows, size_t limit,
			      const struct section *section)
{
	bool full = ctl->options.given[OPT_FULL_NAMES];
	struct report_lines lines = { .total = section->total };
	const struct answer answer = { .fields = lines_fields, .result = &lines };
	uint64_t bytes = section->bytes, blocks = section->blocks; /* in rows not shown */

	for (size_t i = 0; i < rows->count && i < limit; i++) {
		const struct hotspot_row *row = &rows->rows[i];

		lines.rows[lines.count++] = (struct report_line){ row->held,
								  row->median_ns,
								  report_type(row, full),
								  report_site(row, full) };
		bytes -= row->held.bytes < bytes ? row->held.bytes : bytes;
		blocks -= row->held.blocks < blocks ? row->held.blocks : blocks;
	}
	if (section->whole && blocks)
		lines.rows[lines.count++] = (struct report_line){ .held.bytes = bytes,
								  .held.blocks = blocks,
								  .type = mem_text("all others") };
	answer_table(&answer, section->by_blocks ? "lives" : "lines", &ctl->style);
	for (size_t i = 0; i < lines.count; i++) {
		free(lines.rows[i].type);
		free(lines.rows[i].site);
	}
}

static void print_not_seen(struct ctl *ctl, const struct coverage *coverage, size_t limit)
{
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < coverage->count; i++) {
		const struct finding *row = &coverage->rows[i];
		char *line;

		/* the last lines report losses */
		if (row->state == FINDING_OK || strcmp(row->name, "lost") == 0)
			continue;
		if (shown == limit) {
			more++;
			continue;
		}
		if (!shown++)
			ctl_heading(ctl, "Not seen", "");
		line = mem_format("  %s%s%s", row->text, row->advice ? " \xe2\x86\x92 " : "",
				  row->advice ? row->advice : "");
		ctl_line(&ctl->style, TINT_NONE, line);
		free(line);
	}
	if (more) {
		AUTO_FREE char *file = text_shell(ctl->options.operands[0]);

		fprintf(ctl->style.out, "  and %zu more: shinyctl doctor %s\n", more, file);
	}
}

/* Prints the command that explains the first row of the program's own. */
static void print_why(struct ctl *ctl, const struct hotspot_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (!rows->rows[i].startup) {
			AUTO_FREE char *site = report_site(&rows->rows[i], true);

			ctl_why(ctl, true, site);
			return;
		}
}

/* Prints what was live at the peak. */
static void print_peak(struct ctl *ctl, const struct report_page *page, size_t rows)
{
	const struct totals *s = &page->totals;
	const struct sums *sums = &s->sums;
	const struct section at_peak = { sums->at_peak_bytes, sums->at_peak, sums->at_peak_bytes,
					 .whole = true };
	AUTO_FREE char *text = mem_format(" %s in %s, after %s",
					  units_bytes(UNITS_BUF, sums->at_peak_bytes),
					  units_noun(UNITS_NOUN_BUF, sums->at_peak, "block"),
					  units_time(UNITS_BUF, s->at_peak_ns));

	ctl_heading(ctl, "At the peak:", text);
	if (!page->narrow && !ctl->options.given[OPT_PROCESS] &&
	    s->peak_bytes > sums->at_peak_bytes) {
		AUTO_FREE char *left = mem_format(
			"  %s less than the peak, which counts processes that had ended",
			units_bytes(UNITS_BUF, s->peak_bytes - sums->at_peak_bytes));

		ctl_line(&ctl->style, TINT_DIM, left);
	}
	print_roles(&ctl->style, &page->hotspots.roles, true);
	print_components(&ctl->style, page, true, sums->at_peak_bytes);
	print_report_rows(ctl, &page->hotspots.at_peak,
			  ctl_limit(ctl, page->hotspots.at_peak.count, rows), &at_peak);
	print_why(ctl, &page->hotspots.at_peak);
}

/* Prints what is live at the end; only their sum if that is next to nothing. */
static void print_end(struct ctl *ctl, const struct report_page *page, size_t rows)
{
	const struct sums *s = &page->totals.sums;
	const struct section lives = { s->live_bytes, s->live, s->live_bytes, .whole = true };
	bool first = !report_page_at_peak(page);

	if (!page->hotspots.live.count)
		return;
	if (report_page_clean(page) || !report_page_at_end(page)) {
		AUTO_FREE char *text = mem_format(
			" %s in %s, %s of the peak%s", units_bytes(UNITS_BUF, s->live_bytes),
			units_noun(UNITS_NOUN_BUF, s->live, "block"),
			units_share(UNITS_BUF, (double)s->live_bytes,
				    (double)page->totals.peak_bytes),
			report_page_clean(page) ? ": a clean exit" : "");

		ctl_heading(ctl, "Live at the end:", text);
		return;
	}
	ctl_heading(ctl, "Live at the end", "");
	if (first) {
		print_roles(&ctl->style, &page->hotspots.roles, false);
		print_components(&ctl->style, page, false, s->live_bytes);
	}
	print_report_rows(ctl, &page->hotspots.live,
			  ctl_limit(ctl, page->hotspots.live.count, rows), &lives);
	if (first)
		print_why(ctl, &page->hotspots.live);
}

static void print_churn(struct ctl *ctl, const struct report_page *page, size_t rows)
{
	const struct hotspots *o = &page->hotspots;
	const struct section short_lived = { o->short_lived_bytes, o->short_lived_blocks, o->blocks,
					     true, true },
			     retained = { .total = page->totals.sums.live_bytes };

	if (report_page_short_lived(page)) {
		AUTO_FREE char *text = mem_format(
			" %s of %s died within %s",
			units_share(UNITS_BUF, (double)o->short_lived_blocks, (double)o->blocks),
			units_noun(UNITS_NOUN_BUF, o->blocks, "block"),
			units_time(UNITS_BUF, o->short_lived_ns));

		ctl_heading(ctl, "Short-lived:", text);
		print_report_rows(ctl, &o->short_lived, ctl_limit(ctl, o->short_lived.count, rows),
				  &short_lived);
	}
	if (o->retained.count && report_page_at_end(page)) {
		ctl_heading(ctl, "Retained:",
			    " allocated in the second half of its process, and live at the end");
		print_report_rows(ctl, &o->retained, ctl_limit(ctl, o->retained.count, rows),
				  &retained);
	}
}

static void print_sections(struct ctl *ctl, const struct report_page *page,
			   const struct page_rows *rows)
{
	bool both = report_page_at_peak(page) && report_page_at_end(page);

	print_head(ctl, page, rows);
	if (report_page_at_peak(page))
		print_peak(ctl, page, rows->first);
	print_end(ctl, page, both ? rows->others : rows->first);
	print_churn(ctl, page, rows->others);
	keepers_print(&ctl->style, &page->keepers, "type");
	ctl_heading(ctl, "Next", "");
	for (size_t i = 0; i < page->hint_count; i++) {
		AUTO_FREE char *file = text_shell(ctl->options.operands[0]);
		AUTO_FREE char *text = mem_format("      %s", page->hints[i].text);

		fprintf(ctl->style.out, "  shinyctl %s %s\n", page->hints[i].command, file);
		ctl_line(&ctl->style, TINT_DIM, text);
	}
	print_not_seen(ctl, &page->coverage, rows->unseen);
}

/* Returns the page's text, folded as it will be. */
static char *sections_text(struct ctl *ctl, const struct report_page *page,
			   const struct page_rows *rows)
{
	FILE *out = ctl->style.out, *stream;
	char *text = NULL;
	size_t bytes;

	stream = mem_stream_open(&text, &bytes);
	ctl->style.out = ctl->style.width ? line_fold_open(stream, ctl->style.width) : stream;
	print_sections(ctl, page, rows);
	if (ctl->style.out != stream)
		fclose(ctl->style.out);
	mem_stream_close(stream);
	ctl->style.out = out;
	return text;
}

/* True if the page, and what is said of losses below it, fits a screen. */
static bool fits(const char *text, const struct coverage *coverage)
{
	size_t lines = 2;

	for (size_t i = 0; i < coverage->count; i++)
		lines += strcmp(coverage->rows[i].name, "lost") ? 0 : 2; /* folded */
	for (; (text = strchr(text, '\n')); text++)
		lines++;
	return lines < SCREEN;
}

static struct shiny_err *print_page(struct ctl *ctl, const struct answer *answer)
{
	const struct report_page *page = answer->result;
	size_t sizes = sizeof(page_rows) / sizeof(*page_rows);
	char *text = NULL;

	for (size_t i = 0; i < sizes; i++) {
		free(text);
		text = sections_text(ctl, page, &page_rows[i]);
		if (!ctl->style.width || ctl->options.given[OPT_LIMIT] ||
		    fits(text, &page->coverage))
			break;
	}
	fputs(text, ctl->style.out);
	free(text);
	return NULL;
}

static struct shiny_err *load_report(struct ctl *ctl, struct store *store,
				     const struct filter *filter, void *result)
{
	struct report_page *page = result;
	struct shiny_err *err;

	if (ctl->options.given[OPT_HTML_PAGE])
		return shiny_err(SHINY_ERR_USAGE, "report --html is now `shinyctl html`");
	page->file = ctl->options.operands[0];
	page->tag = ctl->options.text[OPT_TAG];
	page->between = ctl->options.text[OPT_BETWEEN];
	err = report_page_load(ctl, store, filter, page);
	if (err)
		report_page_deinit(page);
	return err;
}
VERB_BODY_DEINIT(struct report_page, report_page_deinit)

const struct verb_body verb_report = {
	.fields = report_fields,
	.size = sizeof(struct report_page),
	.load = load_report,
	.deinit = report_page_deinit_result,
	.usual = 10, /* rows of each list with --json */
	.print = print_page,
};
