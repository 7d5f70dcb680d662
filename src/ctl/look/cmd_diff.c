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
#include "diff_json.h"
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
	if (!row->members[0] || !row->members[1])
		table_text(table, SHARE, row->members[0] ? "gone" : "new");
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

static struct shiny_err *json_session(struct ctl *ctl, const struct session_pair *pair, int side,
				      const struct diff *d)
{
	const struct diff_session *s = &d->sessions[side];
	const struct filter *filter = &pair->filters[side];
	const char *path = ctl->options.operands[side];
	struct json *json = &ctl->json;
	struct shiny_err *err;

	json_object(json, side ? "new" : "base");
	json_text(json, "file", path);
	json_number_or_null(json, "duration_ns", s->duration, !filter->tags);
	json_number_or_null(json, "processes", s->processes, !filter_is_subset(filter));
	json_sums(json, &s->sums);
	if (d->timed)
		json_number(json, "peak_bytes", s->peak_bytes);
	err = ctl_losses(ctl, pair->stores[side], path);
	json_end(json);
	return err;
}

static struct shiny_err *json_diff(struct ctl *ctl, const struct session_pair *pair,
				   const struct diff *d, enum breakdown_by by)
{
	struct json *json = &ctl->json;
	struct shiny_err *err;

	ctl_document(ctl);
	ctl_subset(ctl);
	json_text(json, "by", breakdown_names[by]);
	err = json_session(ctl, pair, 0, d);
	if (!err)
		err = json_session(ctl, pair, 1, d);
	json_bool(json, "timed", d->timed);
	json_number(json, "different", d->count);
	json_number(json, "same", d->same);
	json_object_line(json, "sites");
	for (int how = 0; how < MATCH_HOWS; how++)
		json_number(json, match_names[how], d->sites[how]);
	json_end(json);
	json_diff_rows(json, d, ctl_limit(ctl, d->count, 0));
	json_end(json);
	return err;
}

static struct shiny_err *cmd_diff(struct ctl *ctl)
{
	/* options.def lists both in the order of their enums */
	enum breakdown_by by = (enum breakdown_by)ctl->options.number[OPT_DIFF_BY];
	enum diff_measure order = (enum diff_measure)ctl->options.number[OPT_DIFF_SORT];
	bool sorted = ctl->options.given[OPT_DIFF_SORT];
	struct component_rules *rules = NULL;
	struct session_pair pair = { 0 };
	struct diff diff = { 0 };
	struct shiny_err *err = NULL;

	if (ctl->options.component_count && by != BREAKDOWN_COMPONENT)
		return shiny_err(SHINY_ERR_USAGE, "diff: --components is for --by component");
	if (by == BREAKDOWN_COMPONENT)
		err = component_rules_load(ctl->options.components, ctl->options.component_count,
					   &rules);
	if (!err)
		err = pair_open(ctl, ctl->options.operands[0], ctl->options.operands[1], &pair);
	if (!err)
		err = diff_load(pair.stores, pair.filters,
				&(struct diff_request){ .by = by,
							.rules = rules,
							.match = ctl->options.text[OPT_MATCH],
							.order = sorted ? order : DIFF_LIVE,
							.sums_only = sorted && diff_is_sum(order),
							.full_names =
								ctl->options.given[OPT_FULL_NAMES],
							.progress = true },
				&diff);
	if (!err && CTL_JSON(ctl)) {
		err = json_diff(ctl, &pair, &diff, by);
	} else if (!err) {
		print_diff(ctl, &pair.filters[1], &diff, by);
		for (int side = 0; !err && side < 2; side++) {
			fprintf(ctl->style.out, "%s%s: ", side ? "" : "\n", side ? "new " : "base");
			err = ctl_losses(ctl, pair.stores[side], ctl->options.operands[side]);
		}
	}
	if (!err && !CTL_JSON(ctl) && ctl->style.width) {
		AUTO_FREE char *base = text_shell(ctl->options.operands[0]);
		AUTO_FREE char *new = text_shell(ctl->options.operands[1]);

		fprintf(ctl->style.out, "%snext:%s shinyctl diff --by %s %s %s\n",
			tint(&ctl->style, TINT_DIM), tint_end(&ctl->style, TINT_DIM),
			by == BREAKDOWN_TYPE ? "site" : "type", base, new);
	}
	diff_deinit(&diff);
	pair_close(&pair);
	component_rules_free(rules);
	return err;
}

const struct verb_body verb_diff = { .run = cmd_diff };
