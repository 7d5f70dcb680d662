/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_diff.c: `shinyctl diff`: prints the differences between two sessions, growth first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analysis/compare/diff.h"
#include "../../base/cleanup.h"
#include "../../base/text.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../pair.h"
#include "../verb_body.h"

enum { FIRST = 5 }; /* rows of each measure on the front page */

static const struct {
	const char *title;
	pair_units_fn *units;
} measures[DIFF_MEASURES] = {
	[DIFF_LIVE] = { "live at the end", units_bytes },
	[DIFF_PEAK] = { "most live at once", units_bytes },
	[DIFF_BYTES] = { "bytes requested in all", units_bytes },
	[DIFF_BLOCKS] = { "blocks allocated", units_count },
	[DIFF_SIZE] = { "size of each block", units_bytes },
	[DIFF_LIFETIME] = { "lifetime of half the blocks that ended", units_time },
};

static uint64_t value_of(const struct diff_side *side, enum diff_measure measure)
{
	switch (measure) {
	case DIFF_LIVE:
		return side->sums.live_bytes;
	case DIFF_PEAK:
		return side->peak_bytes;
	case DIFF_BYTES:
		return side->sums.bytes;
	case DIFF_BLOCKS:
		return side->sums.allocs;
	case DIFF_SIZE:
		return side->size;
	default:
		return side->p50_ns;
	}
}

/* ---- the sessions ---- */

static void print_value(struct table *table, const char *name, pair_units_fn *units, uint64_t base,
			uint64_t new)
{
	char text[UNITS_TEXT + 1];

	table_row(table);
	table_text(table, 0, name);
	table_text(table, 1, units(text, base));
	table_text(table, 2, units(text, new));
	if (base == new)
		return;
	table_text(table, 3, pair_change(text, units, base, new));
	table_text(table, 4, pair_share(text, base, new));
}

static void print_sessions(struct ctl *ctl, const struct filter *filter, const struct diff *d)
{
	static const struct table_column columns[] = {
		{ "", CELL_TEXT, true, TEXT_CUT_END, 0, TINT_NONE },
		{ .title = "base", .kind = CELL_RIGHT },
		{ .title = "new", .kind = CELL_RIGHT },
		{ .title = "change", .kind = CELL_RIGHT, .tint = TINT_BOLD },
		{ .title = "", .kind = CELL_RIGHT }
	};
	const struct diff_session *base = &d->sessions[0], *new = &d->sessions[1];
	struct table table;

	table_init(&table, columns, sizeof(columns) / sizeof(*columns));
	print_value(&table, "live at the end", units_bytes, base->sums.live_bytes,
		    new->sums.live_bytes);
	print_value(&table, "  blocks", units_count, base->sums.live, new->sums.live);
	if (d->timed)
		print_value(&table, "most live at once", units_bytes, base->peak_bytes,
			    new->peak_bytes);
	print_value(&table, "requested in all", units_bytes, base->sums.bytes, new->sums.bytes);
	print_value(&table, "  blocks", units_count, base->sums.allocs, new->sums.allocs);
	if (!filter_is_subset(filter))
		print_value(&table, "processes", units_count, base->processes, new->processes);
	if (!filter->tags)
		print_value(&table, "duration", units_time, base->duration, new->duration);
	table_print(&table, &ctl->style);
	table_deinit(&table);
	if (filter_is_subset(filter))
		fprintf(ctl->style.out, "of the whole sessions, and not shown: processes%s\n",
			filter->tags ? ", duration" : "");
}

/* ---- rows ---- */

enum { CHANGE, BASE, NEW, SHARE, STEPS, NAME, MOSTLY, COLUMNS };

static void print_row(struct table *table, const struct diff_row *row, enum diff_measure measure)
{
	uint64_t base = value_of(&row->sides[0], measure), new = value_of(&row->sides[1], measure);
	char text[UNITS_TEXT + 1];

	table_row(table);
	table_text(table, CHANGE, pair_change(text, measures[measure].units, base, new));
	table_text(table, BASE, measures[measure].units(text, base));
	table_text(table, NEW, measures[measure].units(text, new));
	if (!row->sides[0].members || !row->sides[1].members)
		table_text(table, SHARE, row->sides[0].members ? "gone" : "new");
	else if (base != new)
		table_text(table, SHARE, pair_share(text, base, new));
	if (measure == DIFF_LIFETIME) {
		char *steps = mem_format("%s \xe2\x86\x92 %s",
					 units_count(UNITS_BUF, row->sides[0].p50_steps),
					 units_count(UNITS_BUF, row->sides[1].p50_steps));

		table_text(table, STEPS, steps);
		free(steps);
	}
	table_text(table, NAME, row->name);
	if (row->mostly)
		table_text(table, MOSTLY, row->mostly);
}

static void print_diff_rows(struct ctl *ctl, const struct diff_row *const *rows, size_t count,
			    enum diff_measure measure, enum breakdown_by by)
{
	const struct table_column columns[COLUMNS] = {
		[CHANGE] = { .title = "change", .kind = CELL_RIGHT, .tint = TINT_BOLD },
		[BASE] = { .title = "base", .kind = CELL_RIGHT, .drop = 2 },
		[NEW] = { .title = "new", .kind = CELL_RIGHT },
		[SHARE] = { .title = "", .kind = CELL_RIGHT },
		[STEPS] = { .title = "blocks allocated meanwhile", .kind = CELL_RIGHT, .drop = 3 },
		[NAME] = { breakdown_names[by], CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
		[MOSTLY] = { by == BREAKDOWN_TYPE ? "mostly at" : "mostly", CELL_TEXT, true,
			     TEXT_CUT_MIDDLE, 4, TINT_DIM },
	};
	struct table table;

	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < count; i++)
		print_row(&table, rows[i], measure);
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

static void print_view(struct ctl *ctl, const struct diff *d, enum diff_measure measure,
		       enum breakdown_by by, size_t limit)
{
	size_t count = d->counts[measure];
	const struct diff_row **rows = mem_zero(count + 1, sizeof(*rows));
	char *title = mem_format("%s, by %s", measures[measure].title, breakdown_names[by]);

	for (size_t i = 0; i < d->count; i++)
		if (d->rows[i].places[measure])
			rows[d->rows[i].places[measure] - 1] = &d->rows[i];
	ctl_heading(ctl, title, count ? "" : ": no difference");
	free(title);
	if (count)
		print_diff_rows(ctl, rows, limit < count ? limit : count, measure, by);
	if (limit < count)
		fprintf(ctl->style.out, "%s\xe2\x80\xa6 and %s more (--sort %s shows them)%s\n",
			tint(&ctl->style, TINT_DIM), units_count(UNITS_BUF, count - limit),
			diff_measure_names[measure], tint_end(&ctl->style, TINT_DIM));
	free(rows);
}

static void print_not_compared(struct ctl *ctl, const struct diff *d)
{
	if (!d->with_events)
		fprintf(ctl->style.out, "%sno peaks and lifetimes:%s a session has no events\n",
			tint(&ctl->style, TINT_WARN), tint_end(&ctl->style, TINT_WARN));
	else if (!d->timed)
		fputs("peaks and lifetimes are not compared with this --sort\n", ctl->style.out);
}

/* Prints the share of both sessions that was matched. */
static void print_matching(struct ctl *ctl, const struct diff *d, enum breakdown_by by)
{
	FILE *out = ctl->style.out;

	fprintf(out, "\n%s %s different, %s the same\n",
		units_noun(UNITS_NOUN_BUF, d->count, "row"), units_form(d->count, "is", "are"),
		units_count(UNITS_BUF, d->same));
	print_not_compared(ctl, d);
	if (d->sites[MATCH_CALLS] || d->sites[MATCH_TOGETHER])
		fprintf(out, "call sites without names: %s found by the calls around them",
			units_count(UNITS_BUF, d->sites[MATCH_CALLS]));
	if (d->sites[MATCH_TOGETHER])
		fprintf(out, "; what cannot be told apart is counted together, in %s",
			units_noun(UNITS_NOUN_BUF, d->sites[MATCH_TOGETHER], "group"));
	if (d->sites[MATCH_CALLS] || d->sites[MATCH_TOGETHER])
		putc('\n', out);
}

static void print_diff(struct ctl *ctl, const struct filter *filter, const struct diff *d,
		       enum breakdown_by by)
{
	ctl_subset(ctl);
	print_sessions(ctl, filter, d);
	if (!d->count) {
		fprintf(ctl->style.out, "\n%sno difference%s by %s; %s %s the same\n",
			tint(&ctl->style, TINT_GOOD), tint_end(&ctl->style, TINT_GOOD),
			breakdown_names[by], units_noun(UNITS_NOUN_BUF, d->same, "row"),
			units_form(d->same, "is", "are"));
		print_not_compared(ctl, d);
		return;
	}
	if (ctl->options.given[OPT_DIFF_SORT]) {
		enum diff_measure measure = (enum diff_measure)ctl->options.number[OPT_DIFF_SORT];

		print_view(ctl, d, measure, by, ctl_limit(ctl, d->counts[measure], 30));
	} else {
		for (int m = 0; m < DIFF_MEASURES; m++)
			if (d->counts[m])
				print_view(ctl, d, (enum diff_measure)m, by,
					   ctl->options.given[OPT_LIMIT]
						   ? ctl_limit(ctl, d->counts[m], FIRST)
						   : FIRST);
	}
	print_matching(ctl, d, by);
}

/* ---- JSON ---- */

struct diff_answer {
	const char *tag, *between, *by;
	struct session_pair pair;
	struct diff diff;
};

FIELD_SKIPPER(is_tagged, struct diff_answer, r->tag)
FIELD_SKIPPER(is_narrow, struct diff_answer, r->tag || r->between)
FIELD_SKIPPER(is_untimed, struct diff_answer, !r->diff.timed)

/* clang-format off */
#define ANSWER struct diff_answer
#define PEAK(side) \
	{ FIELD_BYTES("peak_bytes", ANSWER, diff.sessions[side].peak_bytes), \
	  .help = "the most bytes live at once" },
#define SESSION(side, peak) \
	{ FIELD_TEXT("file", ANSWER, pair.paths[side]), .help = "the session, as given" }, \
	{ FIELD_TIME("duration_ns", ANSWER, diff.sessions[side].duration), .skip = is_tagged, \
	  .help = "how long it, or its interval, is; null: with --tag" }, \
	{ FIELD_COUNT("processes", ANSWER, diff.sessions[side].processes), .skip = is_narrow, \
	  .help = "its processes; null: with --tag or --between" }, \
	{ FIELD_GROUP(ANSWER, diff.sessions[side].sums, sums_fields) }, \
	{ FIELD_SAME(peak), .skip = is_untimed }, \
	{ FIELD_GROUP(ANSWER, pair.losses[side], losses_fields) },
static const struct field base_peak[] = { PEAK(0) FIELD_LAST };
static const struct field new_peak[] = { PEAK(1) FIELD_LAST };
static const struct field base_fields[] = { SESSION(0, base_peak) FIELD_LAST };
static const struct field new_fields[] = { SESSION(1, new_peak) FIELD_LAST };
static const struct field fields[] = {
	{ FIELD_TEXT("tag", ANSWER, tag), .help = "the value of --tag; null: none" },
	{ FIELD_TEXT("between", ANSWER, between), .help = "the value of --between; null: none" },
	{ FIELD_TEXT("by", ANSWER, by), .help = "the value of --by" },
	{ FIELD_SAME_OBJECT("base", base_fields), .spread = true, .help = "the base" },
	{ FIELD_SAME_OBJECT("new", new_fields), .spread = true, .help = "the newer session" },
	{ FIELD_GROUP(ANSWER, diff, diff_fields) },
	FIELD_LAST
};
/* clang-format on */

static struct shiny_err *json_diff(struct ctl *ctl, struct diff_answer *result)
{
	const struct answer answer = { .fields = fields,
				       .result = result,
				       .limit = ctl_limit(ctl, result->diff.count, 0) };

	SHINY_TRY(pair_losses(ctl, &result->pair));
	ctl_document(ctl);
	SHINY_TRY(answer_json(&answer, &ctl->json));
	json_end(&ctl->json);
	return NULL;
}

/* ---- the verb ---- */

/* Prints the losses of both sessions, and the command that goes on. */
static struct shiny_err *print_ends(struct ctl *ctl, const struct session_pair *pair,
				    enum breakdown_by by)
{
	FILE *out = ctl->style.out;

	for (int side = 0; side < 2; side++) {
		fprintf(out, "%s%s: ", side ? "" : "\n", side ? "new " : "base");
		SHINY_TRY(ctl_losses(ctl, pair->stores[side], pair->paths[side]));
	}
	if (ctl->style.width) {
		AUTO_FREE char *base = text_shell(pair->paths[0]);
		AUTO_FREE char *new = text_shell(pair->paths[1]);

		fprintf(out, "%snext:%s shinyctl diff --by %s %s %s\n", tint(&ctl->style, TINT_DIM),
			tint_end(&ctl->style, TINT_DIM), by == BREAKDOWN_TYPE ? "site" : "type",
			base, new);
	}
	return NULL;
}

static struct shiny_err *cmd_diff(struct ctl *ctl)
{
	const struct options *o = &ctl->options;
	/* options.def lists both in the order of their enums */
	enum breakdown_by by = (enum breakdown_by)o->number[OPT_DIFF_BY];
	enum diff_measure order = (enum diff_measure)o->number[OPT_DIFF_SORT];
	bool sorted = o->given[OPT_DIFF_SORT];
	struct component_rules *rules = NULL;
	struct diff_answer result = { .tag = o->text[OPT_TAG],
				      .between = o->text[OPT_BETWEEN],
				      .by = breakdown_names[by] };
	struct session_pair *pair = &result.pair;
	struct shiny_err *err = NULL;

	if (o->component_count && by != BREAKDOWN_COMPONENT)
		return shiny_err(SHINY_ERR_USAGE, "diff: --components is for --by component");
	if (by == BREAKDOWN_COMPONENT)
		err = component_rules_load(o->components, o->component_count, &rules);
	if (!err)
		err = pair_open(ctl, o->operands[0], o->operands[1], pair);
	if (!err)
		err = diff_load(pair->stores, pair->filters,
				&(struct diff_request){ .by = by,
							.rules = rules,
							.match = o->text[OPT_MATCH],
							.order = sorted ? order : DIFF_LIVE,
							.sums_only = sorted && diff_is_sum(order),
							.full_names = o->given[OPT_FULL_NAMES],
							.progress = true },
				&result.diff);
	if (!err && CTL_JSON(ctl)) {
		err = json_diff(ctl, &result);
	} else if (!err) {
		print_diff(ctl, &pair->filters[1], &result.diff, by);
		err = print_ends(ctl, pair, by);
	}
	diff_deinit(&result.diff);
	pair_close(pair);
	component_rules_free(rules);
	return err;
}

const struct verb_body verb_diff = { .run = cmd_diff, .fields = fields, .has_losses = true };
