/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_report.c: `shinyctl report`: prints the front page of a session, which fits a screen.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/bars.h"
#include "../../base/cleanup.h"
#include "../../base/text.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "report_page.h"
#include "../snapshot_facts.h"
#include "../verb_body.h"

enum {
	LIVE_ROWS = 5,
	OTHER_ROWS = 3, /* a screen's worth */
	NAMED = 6,	/* roles and components listed by name */
	NOT_SEEN = 3,
	HEADLINES = 6,
	TEXT_MOST = 220,
};
/* Prints one line, cut to the terminal. */
static void put_line(const struct style *style, enum tint which, const char *text)
{
	size_t room = style->width ? style->width : 4000;
	char *fitted = mem_alloc(4 * room + 8);

	text_fit(fitted, 4 * room + 8, text, room, TEXT_CUT_END);
	fprintf(style->out, "%s%s%s\n", tint(style, which), fitted, tint_end(style, which));
	free(fitted);
}

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
		put_line(&ctl->style, TINT_WARN, line);
		free(line);
	}
}

static void print_head(struct ctl *ctl, const struct report_page *page)
{
	const struct style *style = &ctl->style;
	const struct totals *s = &page->totals;
	size_t room = style->width ? style->width : style->longest ? 2 * style->longest : 4000;
	char *command = mem_alloc(4 * room + 8), *types = types_text(s, &page->types),
	     when[64] = "", *line, *bars;
	AUTO_FREE char *file = text_shell(ctl->options.operands[0]);
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
			  units_noun(UNITS_NOUN_BUF, s->threads, "thread"), file);
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
		units_short(UNITS_BUF, report_rate(page)));
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

/* Sums of the roles that are not listed by name. */
struct others {
	uint64_t processes, bytes, idle;
};

/* Prints " in browser 31.2 MiB, 3× renderer 20.1 MiB, …"; roles without live bytes come last, as a
 * number. */
static void print_whose(const struct style *style, const struct report_page *page)
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
	for (size_t i = 0; i < page->components.names.count && i < NAMED && page->owners[i].bytes &&
			   used < sizeof(text) - TEXT_MOST;
	     i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.60s %s",
					 i ? ", " : "  of ", page->owners[i].name,
					 units_share(UNITS_BUF, (double)page->owners[i].bytes,
						     (double)live));
	if (used)
		put_line(style, TINT_NONE, text);
}

/* ---- tables ---- */

struct report_line {
	uint64_t bytes, blocks, median_ns;
	char *type, *site;
	uint64_t share; /* the bytes, or the blocks */
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
	{ FIELD_BYTES("bytes", LINE, bytes) },
	{ FIELD_SHARE("share", LINE, share, struct report_lines, total) },
	{ FIELD_COUNT("blocks", LINE, blocks) },
	{ FIELD_WORKED_OUT("median_life", ID, get_median) },
	{ FIELD_TEXT("type", LINE, type), FIELD_NAME },
	{ FIELD_TEXT("call_site", LINE, site), .flexible = true, .cut = TEXT_CUT_MIDDLE },
	FIELD_LAST
};
static const struct field lines_fields[] = {
	{ FIELD_FIRST("lines", struct report_lines, rows, count, line_fields),
	  .shows = "bytes/1 share blocks median_life type call_site" },
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

		lines.rows[lines.count++] = (struct report_line){ row->bytes,
								  row->blocks,
								  row->median_ns,
								  report_type(row, full),
								  report_site(row, full),
								  0 };
		bytes -= row->bytes < bytes ? row->bytes : bytes;
		blocks -= row->blocks < blocks ? row->blocks : blocks;
	}
	if (section->whole && blocks)
		lines.rows[lines.count++] = (struct report_line){ .bytes = bytes,
								  .blocks = blocks,
								  .type = mem_text("all others") };
	for (size_t i = 0; i < lines.count; i++)
		lines.rows[i].share =
			section->by_blocks ? lines.rows[i].blocks : lines.rows[i].bytes;
	answer_table(&answer, "lines", &ctl->style);
	for (size_t i = 0; i < lines.count; i++) {
		free(lines.rows[i].type);
		free(lines.rows[i].site);
	}
}

static void print_not_seen(struct ctl *ctl, const struct coverage *coverage)
{
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < coverage->count; i++) {
		const struct finding *row = &coverage->rows[i];
		char *line;

		/* the last lines report losses */
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
	if (more) {
		AUTO_FREE char *file = text_shell(ctl->options.operands[0]);

		fprintf(ctl->style.out, "  and %zu more: shinyctl doctor %s\n", more, file);
	}
}

static void print_live(struct ctl *ctl, const struct report_page *page)
{
	const struct hotspots *o = &page->hotspots;
	const struct totals *s = &page->totals;
	uint64_t live = s->sums.live_bytes;
	const struct section lives = { live, s->sums.live, live, .whole = true };
	char *text;

	if (!o->live.count)
		return;
	if (report_page_clean(page)) {
		text = mem_format(" %s in %s, %s of the peak: a clean exit",
				  units_bytes(UNITS_BUF, live),
				  units_noun(UNITS_NOUN_BUF, s->sums.live, "block"),
				  units_share(UNITS_BUF, (double)live, (double)s->peak_bytes));
		ctl_heading(ctl, "Live at the end:", text);
		free(text);
		return;
	}
	ctl_heading(ctl, "Live at the end", "");
	print_whose(&ctl->style, page);
	print_report_rows(ctl, &o->live, ctl_limit(ctl, o->live.count, LIVE_ROWS), &lives);
}

static struct shiny_err *print_page(struct ctl *ctl, const struct answer *answer)
{
	const struct report_page *page = answer->result;
	const struct hotspots *o = &page->hotspots;
	uint64_t live = page->totals.sums.live_bytes;
	const struct section short_lived = { o->short_lived_bytes, o->short_lived_blocks, o->blocks,
					     true, true },
			     retained = { .total = live };
	char *text;

	print_head(ctl, page);
	print_live(ctl, page);
	if (report_page_short_lived(page)) {
		text = mem_format(" %s of %s died within %s",
				  units_share(UNITS_BUF, (double)o->short_lived_blocks,
					      (double)o->blocks),
				  units_noun(UNITS_NOUN_BUF, o->blocks, "block"),
				  units_time(UNITS_BUF, o->short_lived_ns));
		ctl_heading(ctl, "Short-lived:", text);
		free(text);
		print_report_rows(ctl, &o->short_lived,
				  ctl_limit(ctl, o->short_lived.count, OTHER_ROWS), &short_lived);
	}
	if (o->retained.count) {
		ctl_heading(ctl, "Retained:",
			    " allocated in the second half of its process, and live at the end");
		print_report_rows(ctl, &o->retained, ctl_limit(ctl, o->retained.count, OTHER_ROWS),
				  &retained);
	}
	keepers_print(&ctl->style, &page->keepers, "type");
	ctl_heading(ctl, "Next", "");
	for (size_t i = 0; i < page->hint_count; i++) {
		AUTO_FREE char *file = text_shell(ctl->options.operands[0]);

		fprintf(ctl->style.out, "  shinyctl %s %s\n", page->hints[i].command, file);
		text = mem_format("      %s", page->hints[i].text);
		put_line(&ctl->style, TINT_DIM, text);
		free(text);
	}
	print_not_seen(ctl, &page->coverage);
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
