/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_diff.c: `shinyctl diff`: prints the differences between two sessions, growth first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analysis/compare/diff.h"
#include "../../answer/estimated.h"
#include "../../base/cleanup.h"
#include "../../base/text.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../pair.h"
#include "../dimension.h"
#include "../verb_body.h"

enum { FIRST = 5 }; /* rows of each measure on the front page */

static const struct {
	const char *title;
	pair_units_fn *units;
	size_t at; /* offset of the value in a side */
} measures[DIFF_MEASURES] = {
#define SIDE(member) offsetof(struct diff_side, member)
	[DIFF_LIVE] = { "live at the end", units_bytes, SIDE(sums.live_bytes) },
	[DIFF_PEAK] = { "most live at once", units_bytes, SIDE(peak_bytes) },
	[DIFF_BYTES] = { "bytes requested in all", units_bytes, SIDE(sums.bytes) },
	[DIFF_BLOCKS] = { "blocks allocated", units_count, SIDE(sums.allocs) },
	[DIFF_SIZE] = { "size of each block", units_bytes, SIDE(size) },
	[DIFF_LIFETIME] = { "lifetime of half the blocks that ended", units_time, SIDE(p50_ns) },
#undef SIDE
};

static uint64_t value_of(const struct diff_side *side, enum diff_measure measure)
{
	return *(const uint64_t *)((const char *)side + measures[measure].at);
}

/* ---- tables ---- */

/* A value of both sessions, or of a row in both. */
struct diff_line {
	const char *name;
	pair_units_fn *units;
	uint64_t base, new;
	double variances[2];	    /* of their errors, in their unit squared; 0: exact */
	const struct diff_row *row; /* NULL: it is of the sessions */
	bool lifetime, by_type;	    /* of the row */
};
struct diff_lines {
	VEC(struct diff_line) rows;
};

static void get_share(const void *row, struct field_value *out)
{
	const struct diff_line *r = row;

	if (r->row && !r->row->sides[0].members)
		field_set_text(out, "new");
	else if (r->row && !r->row->sides[1].members)
		field_set_text(out, "gone");
	else if (r->base != r->new)
		field_set_owned(out, mem_text(pair_share(UNITS_BUF, r->base, r->new)));
}

static void get_steps(const void *row, struct field_value *out)
{
	const struct diff_line *r = row;
	const struct diff_side *sides = r->row->sides;

	if (r->lifetime)
		field_set_owned(out, mem_format("%s \xe2\x86\x92 %s",
						units_count(UNITS_BUF, sides[0].p50_steps),
						units_count(UNITS_BUF, sides[1].p50_steps)));
}

static char *in_words(const struct diff_line *r, uint64_t value, double variance)
{
	return mem_format("%s%s", r->units(UNITS_BUF, value),
			  estimated_margin_of(ESTIMATED_MARGIN_BUF, value, variance, r->units));
}

FIELD_SKIP(is_unchanged, struct diff_line, !r->row && r->base == r->new)
FIELD_SKIP(is_by_type, struct diff_line, r->by_type)
FIELD_SKIP(is_not_by_type, struct diff_line, !r->by_type)
FIELD_GETTER(get_change, struct diff_line, owned,
	     mem_text(pair_change((char[UNITS_TEXT + 1]){ 0 }, r->units, r->base, r->new)))
FIELD_GETTER(get_base, struct diff_line, owned, in_words(r, r->base, r->variances[0]))
FIELD_GETTER(get_new, struct diff_line, owned, in_words(r, r->new, r->variances[1]))
FIELD_GETTER(get_mostly, struct diff_line, text, r->row->mostly)

/* clang-format off */
static const struct field line_fields[] = {
	{ FIELD_TEXT("sum", struct diff_line, name), .title = "", .flexible = true },
	{ FIELD_WORKED_OUT("change", ID, get_change), .skip = is_unchanged, .tint = TINT_BOLD },
	{ FIELD_WORKED_OUT("base", ID, get_base) },
	{ FIELD_WORKED_OUT("new", ID, get_new) },
	{ FIELD_WORKED_OUT("share", ID, get_share), .title = "" },
	{ FIELD_WORKED_OUT("blocks_allocated_meanwhile", ID, get_steps) },
	{ FIELD_TEXT("name", struct diff_line, name), FIELD_BY_NAME },
	{ FIELD_WORKED_OUT("mostly_at", TEXT, get_mostly), .skip = is_not_by_type, .flexible = true,
	  .cut = TEXT_CUT_MIDDLE, .tint = TINT_DIM },
	{ FIELD_WORKED_OUT("mostly", TEXT, get_mostly), .skip = is_by_type, .flexible = true,
	  .cut = TEXT_CUT_MIDDLE, .tint = TINT_DIM },
	FIELD_LAST
};
static const struct field lines_fields[] = {
	{ FIELD_ROWS("sums", struct diff_lines, rows.at, rows.count, line_fields),
	  .shows = "sum base new change share" },
	{ FIELD_ROWS("rows", struct diff_lines, rows.at, rows.count, line_fields),
	  .shows = "change base/2 new share blocks_allocated_meanwhile/3 name mostly_at/4 "
		   "mostly/4" },
	FIELD_LAST
};
/* clang-format on */

/* Prints the lines as one of these tables, and frees them. */
static void print_lines(struct ctl *ctl, struct diff_lines *lines, const char *table,
			enum breakdown_by by)
{
	const struct answer answer = { .fields = lines_fields,
				       .result = lines,
				       .by = breakdown_names[by] };

	answer_table(&answer, table, &ctl->style);
	free(lines->rows.at);
}

static void add_sum(struct diff_lines *lines, const char *name, pair_units_fn *units, uint64_t base,
		    uint64_t new)
{
	*vec_push(&lines->rows) =
		(struct diff_line){ .name = name, .units = units, .base = base, .new = new };
}

/* A member of struct sums, of both sessions; `unit`: of its variance. */
#define SUM(text, write, member, unit)                                                     \
	((struct diff_line){ .name = text,                                                  \
			     .units = write,                                                \
			     .base = base->sums.member,                                     \
			     .new = new->sums.member,                                       \
			     .variances = { (double)base->sums.member##_variance * (unit),  \
					    (double)new->sums.member##_variance * (unit) } })

static void print_sessions(struct ctl *ctl, const struct filter *filter, const struct diff *d)
{
	const struct diff_session *base = &d->sessions[0], *new = &d->sessions[1];
	struct diff_lines lines = { 0 };

	*vec_push(&lines.rows) =
		SUM("live at the end", units_bytes, live_bytes, ESTIMATE_BYTES_UNIT);
	*vec_push(&lines.rows) = SUM("  blocks", units_count, live, 1);
	if (d->timed)
		add_sum(&lines, "most live at once", units_bytes, base->peak_bytes,
			new->peak_bytes);
	*vec_push(&lines.rows) =
		SUM("requested in all", units_bytes, bytes, ESTIMATE_BYTES_UNIT);
	*vec_push(&lines.rows) = SUM("  blocks", units_count, allocs, 1);
	if (!filter_is_subset(filter))
		add_sum(&lines, "processes", units_count, base->processes, new->processes);
	if (!filter->tags)
		add_sum(&lines, "duration", units_time, base->duration, new->duration);
	print_lines(ctl, &lines, "sums", BREAKDOWN_TYPE);
	if (filter_is_subset(filter))
		fprintf(ctl->style.out, "of the whole sessions, and not shown: processes%s\n",
			filter->tags ? ", duration" : "");
}

static void print_view(struct ctl *ctl, const struct diff *d, enum diff_measure measure,
		       enum breakdown_by by, size_t limit)
{
	size_t count = d->counts[measure], shown = limit < count ? limit : count;
	char *title = mem_format("%s, by %s", measures[measure].title, breakdown_names[by]);
	struct diff_lines lines = { 0 };

	for (size_t i = 0; i < shown; i++)
		vec_push(&lines.rows);
	for (size_t i = 0; i < d->count; i++) {
		const struct diff_row *row = &d->rows[i];

		if (row->places[measure] && row->places[measure] <= shown)
			lines.rows.at[row->places[measure] - 1] =
				(struct diff_line){ .name = row->name,
						    .units = measures[measure].units,
						    .base = value_of(&row->sides[0], measure),
						    .new = value_of(&row->sides[1], measure),
						    .row = row,
						    .lifetime = measure == DIFF_LIFETIME,
						    .by_type = by == BREAKDOWN_TYPE };
	}
	ctl_heading(ctl, title, count ? "" : ": no difference");
	free(title);
	if (count)
		print_lines(ctl, &lines, "rows", by);
	if (limit < count)
		fprintf(ctl->style.out, "%s\xe2\x80\xa6 and %s more (--sort %s shows them)%s\n",
			tint(&ctl->style, TINT_DIM), units_count(UNITS_BUF, count - limit),
			diff_measure_names[measure], tint_end(&ctl->style, TINT_DIM));
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
	if (ctl->options.given[OPT_SORT]) {
		enum diff_measure measure = (enum diff_measure)ctl->options.number[OPT_SORT];

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

FIELD_SKIP(is_tagged, struct diff_answer, r->tag)
FIELD_SKIP(is_narrow, struct diff_answer, filter_is_subset(&r->pair.filters[0]))
FIELD_SKIP(is_untimed, struct diff_answer, !r->diff.timed)

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
	enum breakdown_by by = dimension_breakdown(o->by);
	/* by.def lists them in the order of the enum */
	enum diff_measure order = (enum diff_measure)o->number[OPT_SORT];
	bool sorted = o->given[OPT_SORT];
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
