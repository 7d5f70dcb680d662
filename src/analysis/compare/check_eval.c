/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "check_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "check_select.h"
#include "check_session.h"
#include "check_value.h"

/* The values of a rule in each row of a dimension; without `each`, in one row for all. */
struct plan {
	const struct check_rule *rule;
	size_t result;        /* index of the rule's result */
	bool by_rows;
	enum breakdown_by by;
	size_t rows;          /* 1 if not by rows */
	double *values[2];    /* NAN: unknown */
	/* the range of each value, of lifetimes and of what is estimated; else NULL */
	struct histogram_range *ranges[2];
	struct sums *sums[2]; /* of a sample, by row; else NULL */
	bool *seen;           /* rows with blocks in either session */
	bool *selected[2];    /* cell → the rule selects it */
	size_t first_tracker;
	bool parts;           /* second pass of a peak: finds what each row has when all together
			       * first reach `peaks` */
	double peaks[2];
};

struct checking {
	struct store *const *stores;
	struct filter filters[2];
	struct filter_names names; /* names of these filters */
	const struct check_rules *rules;
	bool *mine; /* rule → it uses these filters */
	const struct check_options *options;
	struct check_results *out;
	struct breakdown breakdowns[2];
	struct suppressions hidden[2];
	struct match matches[BREAKDOWN_DIMENSIONS];
	bool matched[BREAKDOWN_DIMENSIONS];
	bool with_base;
	int first; /* first side: 0 with a base, else 1 */
};

/* ---- values ---- */

static struct shiny_err *need_match(struct checking *k, enum breakdown_by by)
{
	const struct breakdown *const breakdowns[2] = { k->with_base ? &k->breakdowns[0] : NULL,
							&k->breakdowns[1] };

	if (k->matched[by])
		return NULL;
	if (by == BREAKDOWN_SITE)
		SHINY_TRY(need_match(k, BREAKDOWN_TYPE));
	SHINY_TRY(match_load(k->stores, breakdowns, by, &k->matches[BREAKDOWN_TYPE],
			     &k->matches[by]));
	k->matched[by] = true;
	return NULL;
}

static uint32_t row_of(const struct checking *k, const struct plan *p, int side, size_t cell)
{
	return p->by_rows
		       ? k->matches[p->by].row_of[side][k->breakdowns[side].cells[cell].of[p->by]]
		       : 0;
}

/* Takes the medians, known to within their bins. */
static void take_lifetimes(struct plan *p, int side, const struct trackers *w)
{
	p->ranges[side] = mem_zero(p->rows + 1, sizeof(*p->ranges[side]));
	for (size_t r = 0; r < p->rows; r++) {
		if (!w->at[p->first_tracker + r].ages.count)
			continue;
		p->ranges[side][r] = trackers_age(w, p->first_tracker + r, 0.5);
		p->values[side][r] = (double)p->ranges[side][r].about;
	}
}

static bool needs_events(const struct plan *p)
{
	return check_measures[p->rule->measure].source == CHECK_OF_EVENTS;
}

static void add_sums(const struct checking *k, struct plan *p, int side)
{
	const struct breakdown *c = &k->breakdowns[side];

	for (size_t i = 0; i < c->cell_count; i++) {
		const struct breakdown_cell *cell = &c->cells[i];
		uint32_t row = row_of(k, p, side, i);

		if (!p->selected[side][i] || cell->sums.allocs + cell->sums.inherited == 0)
			continue;
		p->seen[row] = true;
		if (p->rule->measure == CHECK_SIZE)
			p->values[side][row] = fmax(p->values[side][row], (double)cell->most_size);
		else if (!needs_events(p))
			p->values[side][row] +=
				(double)check_value_of(&cell->sums, p->rule->measure);
		if (p->sums[side])
			sums_add(&p->sums[side][row], &cell->sums);
	}
}

/* Finds the ranges of values that are known. */
static void add_ranges(struct plan *p, int side)
{
	p->ranges[side] = mem_zero(p->rows + 1, sizeof(*p->ranges[side]));
	for (size_t r = 0; r < p->rows; r++)
		p->ranges[side][r] = check_value_range(&p->sums[side][r], p->rule->measure,
						       p->values[side][r]);
}

/* Gives each cell its own set of trackers: those of the plans that select it. */
static void track_cells(const struct checking *k, struct plan *plans, size_t count, int side,
			struct trackers *w)
{
	const struct breakdown *c = &k->breakdowns[side];
	size_t trackers = 0;
	uint32_t at = 0;

	for (size_t i = 0; i < count; i++) {
		if (!needs_events(&plans[i]))
			continue;
		plans[i].first_tracker = trackers;
		trackers += plans[i].rows + plans[i].parts;
	}
	trackers_init(w, trackers, c->cell_count, c->cell_count, 2 * c->cell_count * count);
	for (size_t i = 0; i < count; i++) {
		struct plan *p = &plans[i];

		for (size_t r = 0; needs_events(p) && r < p->rows; r++)
			w->at[p->first_tracker + r].lifetimes = p->rule->measure == CHECK_LIFETIME;
		if (p->parts)
			w->at[p->first_tracker + p->rows] =
				(struct tracker){ .target = (uint64_t)p->peaks[side],
						  .parts = p->first_tracker,
						  .part_count = p->rows };
	}
	for (size_t cell = 0; cell < c->cell_count; cell++) {
		w->set_of[cell] = (uint32_t)cell;
		for (size_t i = 0; i < count; i++) {
			if (!needs_events(&plans[i]) || !plans[i].selected[side][cell])
				continue;
			w->of[at++] = (uint32_t)(plans[i].first_tracker +
						 row_of(k, &plans[i], side, cell));
			if (plans[i].parts)
				w->of[at++] = (uint32_t)(plans[i].first_tracker + plans[i].rows);
		}
		w->first[cell + 1] = at;
	}
}

static struct shiny_err *follow(struct checking *k, struct plan *plans, size_t count, int side)
{
	SHINY_CLEANUP(trackers_deinit) struct trackers trackers = { .hidden = &k->hidden[side] };
	struct shiny_err *err;

	track_cells(k, plans, count, side, &trackers);
	err = tracker_run(k->stores[side], &k->filters[side], &k->breakdowns[side], &trackers,
			  k->options->progress ? "checking" : NULL);
	for (size_t i = 0; !err && i < count; i++) {
		for (size_t r = 0; needs_events(&plans[i]) && r < plans[i].rows; r++)
			plans[i].values[side][r] =
				check_value_tracked(&trackers.at[plans[i].first_tracker + r],
						    plans[i].rule->measure, plans[i].parts);
		if (plans[i].rule->measure == CHECK_LIFETIME)
			take_lifetimes(&plans[i], side, &trackers);
	}
	return err;
}

/* Runs all plans in one pass over the events. */
static struct shiny_err *run_plans(struct checking *k, struct plan *plans, size_t count)
{
	bool events = false;

	for (size_t i = 0; i < count; i++) {
		struct plan *p = &plans[i];

		if (p->by_rows)
			SHINY_TRY(need_match(k, p->by));
		p->rows = p->by_rows ? k->matches[p->by].count : 1;
		p->seen = mem_zero(p->rows + 1, sizeof(*p->seen));
		for (int side = 0; side < 2; side++) {
			p->values[side] = mem_zero(p->rows + 1, sizeof(*p->values[side]));
			if (side < k->first)
				continue;
			p->selected[side] = check_select(&k->breakdowns[side], p->rule);
			if (k->breakdowns[side].sample && p->rule->measure != CHECK_LIFETIME)
				p->sums[side] = mem_zero(p->rows + 1, sizeof(*p->sums[side]));
			add_sums(k, p, side);
		}
		events = events || needs_events(p);
	}
	for (int side = k->first; events && side < 2; side++)
		SHINY_TRY(follow(k, plans, count, side));
	for (size_t i = 0; i < count; i++)
		for (int side = 0; side < 2; side++)
			if (plans[i].sums[side])
				add_ranges(&plans[i], side);
	return NULL;
}

static void plan_deinit(struct plan *p)
{
	for (int side = 0; side < 2; side++) {
		free(p->values[side]);
		free(p->ranges[side]);
		free(p->sums[side]);
		free(p->selected[side]);
	}
	free(p->seen);
}

/* ---- results ---- */

static void unknown(struct check_result *r, const char *why)
{
	free(r->why);
	r->why = mem_text(why);
	r->state = CHECK_UNKNOWN;
}

static void judge(struct check_result *r, const struct check_rule *rule, double base, double value)
{
	r->base = base;
	r->value = value;
	r->limit = check_limit(rule, base);
	r->state = check_holds(rule, value, base) ? CHECK_HOLDS : CHECK_FAILS;
}

/* Returns the range of a row's value; one that is exact is a range of itself. */
static struct histogram_range range_of(const struct plan *p, int side, size_t row)
{
	uint64_t value = (uint64_t)fmax(p->values[side][row], 0);

	return p->ranges[side] ? p->ranges[side][row]
			       : (struct histogram_range){ value, value, value };
}

static bool is_ranged(const struct plan *p)
{
	return p->ranges[0] || p->ranges[1];
}

/* The rule holds if it holds for any value in the row's range. *divided: not for all. */
static bool range_holds(const struct plan *p, size_t row, bool *divided)
{
	const struct histogram_range value = range_of(p, 1, row), base = range_of(p, 0, row);
	const uint64_t bases[] = { base.low, base.high };
	bool holds = false, fails = false;

	for (unsigned b = 0; b < 2; b++) {
		const double limit = check_limit(p->rule, (double)bases[b]);
		const double values[] = { (double)value.low, (double)value.high,
					  fmin(fmax(limit, (double)value.low),
					       (double)value.high) };

		for (unsigned v = 0; v < sizeof(values) / sizeof(*values); v++)
			if (check_holds(p->rule, values[v], (double)bases[b]))
				holds = true;
			else
				fails = true;
	}
	*divided = holds && fails;
	return holds;
}

/* True if the rule holds for a row with these values. */
static bool row_holds(const struct plan *p, size_t row, double base, double value)
{
	bool divided;

	return is_ranged(p) ? range_holds(p, row, &divided) : check_holds(p->rule, value, base);
}

static void judge_row(struct check_result *r, const struct plan *p, size_t row, double base,
		      double value)
{
	judge(r, p->rule, base, value);
	if (!is_ranged(p))
		return;
	r->low = (double)range_of(p, 1, row).low;
	r->high = (double)range_of(p, 1, row).high;
	r->state = range_holds(p, row, &r->divided) ? CHECK_HOLDS : CHECK_FAILS;
}

static void judge_plan(struct checking *k, const struct plan *p)
{
	struct check_result *r = &k->out->at[p->result];
	double base = p->values[0][0], value = p->values[1][0];

	r->nothing = !p->seen[0];
	if (!r->nothing && isnan(value))
		unknown(r, "no such block has ended");
	else if (!r->nothing && p->rule->relative && isnan(base))
		unknown(r, "no such block has ended in the base");
	else
		judge_row(r, p, 0, isnan(base) ? 0 : base, isnan(value) ? 0 : value);
}

static void judge_rows(struct checking *k, const struct plan *p)
{
	struct check_result *r = &k->out->at[p->result];
	const struct match *match = &k->matches[p->by];
	double worst = -1;

	for (size_t i = 0; i < p->rows; i++) {
		double base = p->values[0][i], value = p->values[1][i], off;

		if (!p->seen[i] || isnan(value) || (p->rule->relative && isnan(base)))
			continue;
		r->rows++;
		off = fabs(value - check_limit(p->rule, base));
		if (row_holds(p, i, base, value))
			continue;
		r->broken++;
		check_part_add(r, mem_text(match->rows[i].name), isnan(base) ? 0 : base, value);
		if (off <= worst)
			continue;
		worst = off;
		judge_row(r, p, i, isnan(base) ? 0 : base, value);
		free(r->worst);
		r->worst = mem_text(match->rows[i].name);
	}
	r->nothing = r->rows == 0;
	r->state = r->broken ? CHECK_FAILS : CHECK_HOLDS;
	check_parts_sort(r, p->rule);
}

static bool from_events(enum check_measure measure)
{
	return check_measures[measure].source == CHECK_OF_EVENTS || measure == CHECK_GROWING ||
	       measure == CHECK_MISMATCHES || measure == CHECK_UNKNOWN_FREES;
}

/* True for what only all blocks together tell. */
static bool needs_all(enum check_measure measure)
{
	return measure == CHECK_SIZE || measure == CHECK_MISMATCHES ||
	       measure == CHECK_UNKNOWN_FREES || measure == CHECK_UNREACHABLE ||
	       measure == CHECK_UNREACHABLE_BYTES;
}

static struct shiny_err *session_value(struct checking *k, int side, enum check_measure measure,
				       double *value, struct check_result *parts)
{
	const struct check_side of = { k->stores[side], &k->filters[side], &k->breakdowns[side],
				       k->options };

	return check_session_value(&of, measure, value, parts);
}

static struct shiny_err *check_session(struct checking *k, const struct check_rule *rule,
				       struct check_result *r)
{
	double values[2] = { 0, 0 };

	if (rule->relative)
		SHINY_TRY(session_value(k, 0, rule->measure, &values[0], NULL));
	SHINY_TRY(session_value(k, 1, rule->measure, &values[1], r));
	judge(r, rule, values[0], values[1]);
	check_parts_sort(r, rule);
	return NULL;
}

/* ---- all of it ---- */

static bool is_of_session(const struct check_rule *rule)
{
	return check_measures[rule->measure].source == CHECK_OF_SESSION;
}

static struct shiny_err *check_rules(struct checking *k)
{
	AUTO_FREE struct plan *plans = mem_zero(k->rules->count + 1, sizeof(*plans));
	struct shiny_err *err = NULL;
	size_t count = 0;

	for (size_t i = 0; !err && i < k->rules->count; i++) {
		const struct check_rule *rule = &k->rules->at[i];

		if (!k->mine[i])
			continue;
		if (rule->measure != CHECK_LOST &&
		    !check_of_subset(rule->measure, k->names.tags, k->names.between))
			unknown(&k->out->at[i],
				k->names.tags ? "it is of the whole session, not of a tag"
					      : "it is of the whole session, not of an interval");
		else if (from_events(rule->measure) && !k->breakdowns[1].with_events)
			unknown(&k->out->at[i], "the session has no events");
		else if (from_events(rule->measure) && rule->relative &&
			 !k->breakdowns[0].with_events)
			unknown(&k->out->at[i], "the base has no events");
		else if (needs_all(rule->measure) && k->breakdowns[1].sample)
			unknown(&k->out->at[i], "the session is a sample of the blocks");
		else if (needs_all(rule->measure) && rule->relative && k->breakdowns[0].sample)
			unknown(&k->out->at[i], "the base is a sample of the blocks");
		else if (is_of_session(rule))
			err = check_session(k, rule, &k->out->at[i]);
		else
			plans[count++] = (struct plan){
				.rule = rule,
				.result = i,
				.by_rows = rule->each,
				.by = rule->each ? rule->selectors[rule->selector_count - 1].by
						 : BREAKDOWN_TYPE
			};
	}
	if (!err)
		err = run_plans(k, plans, count);
	for (size_t i = 0; i < count; i++) {
		if (!err && plans[i].by_rows)
			judge_rows(k, &plans[i]);
		else if (!err)
			judge_plan(k, &plans[i]);
		plan_deinit(&plans[i]);
	}
	return err;
}

/* Finds the rows that explain the rules that fail. */
static struct shiny_err *find_evidence(struct checking *k)
{
	AUTO_FREE struct plan *plans = mem_zero(k->rules->count + 1, sizeof(*plans));
	struct shiny_err *err;
	size_t count = 0;

	for (size_t i = 0; i < k->rules->count; i++) {
		const struct check_rule *rule = &k->rules->at[i];
		bool of_site = rule->selector_count &&
			       rule->selectors[rule->selector_count - 1].by == BREAKDOWN_SITE;

		if (k->mine[i] && k->out->at[i].state == CHECK_FAILS && !rule->each &&
		    !is_of_session(rule))
			plans[count++] =
				(struct plan){ .rule = rule,
					       .result = i,
					       .by_rows = true,
					       .by = of_site ? BREAKDOWN_TYPE : BREAKDOWN_SITE,
					       .parts = rule->measure == CHECK_PEAK_BYTES,
					       .peaks = { k->out->at[i].base,
							  k->out->at[i].value } };
	}
	err = run_plans(k, plans, count);
	for (size_t i = 0; i < count; i++) {
		struct plan *p = &plans[i];
		struct check_result *r = &k->out->at[p->result];

		for (size_t row = 0; !err && row < p->rows; row++) {
			double base = isnan(p->values[0][row]) ? 0 : p->values[0][row],
			       value = isnan(p->values[1][row]) ? 0 : p->values[1][row];

			if (p->seen[row] && (p->rule->relative ? value != base : value != 0))
				check_part_add(r, mem_text(k->matches[p->by].rows[row].name), base,
					       value);
		}
		check_parts_sort(r, p->rule);
		plan_deinit(p);
	}
	return err;
}

static struct shiny_err *load(struct checking *k)
{
	bool components = false, leaks = false;

	for (size_t i = 0; i < k->rules->count; i++) {
		const struct check_rule *rule = &k->rules->at[i];

		if (!k->mine[i])
			continue;
		leaks = leaks || rule->measure == CHECK_LEAKS ||
			rule->measure == CHECK_LEAKED_BYTES;
		for (size_t f = 0; f < rule->selector_count; f++)
			components = components || rule->selectors[f].by == BREAKDOWN_COMPONENT;
	}
	for (int side = k->first; side < 2; side++) {
		SHINY_TRY(breakdown_load(k->stores[side], &k->filters[side],
					 components ? k->options->components : NULL,
					 k->options->full_names,
					 k->options->progress ? "counting" : NULL,
					 &k->breakdowns[side]));
		k->out->lost[side] = k->breakdowns[side].lost;
		k->out->losses[side] = k->breakdowns[side].losses;
		k->out->complete[side] = k->breakdowns[side].complete;
		if (leaks)
			SHINY_TRY(suppressions_load(k->stores[side], k->options->suppressions, true,
						    &k->hidden[side]));
	}
	SHINY_TRY(check_rules(k));
	return find_evidence(k);
}

/* Checks the rules that use the same filter names as `first`, with their own breakdowns. */
static struct shiny_err *check_filter(struct checking *k, const struct check_rule *first)
{
	struct shiny_err *err = NULL;

	for (int side = k->first; !err && side < 2; side++) {
		err = filter_load(k->stores[side], &k->names, &k->filters[side]);
		if (err && k->with_base && err->code == SHINY_ERR_USAGE)
			err = shiny_err_where(err, side ? "the new session" : "the base");
		if (err && err->code == SHINY_ERR_USAGE && (first->tags || first->between))
			err = shiny_err_where(err, "rule '%.120s'", first->text);
	}
	if (!err)
		err = load(k);
	for (int side = 0; side < 2; side++) {
		filter_deinit(&k->filters[side]);
		breakdown_deinit(&k->breakdowns[side]);
		suppressions_deinit(&k->hidden[side]);
	}
	for (int by = 0; by < BREAKDOWN_DIMENSIONS; by++)
		match_deinit(&k->matches[by]);
	return err;
}

static struct filter_names names_of(const struct check_rule *rule, const struct filter_names *names)
{
	return (struct filter_names){ names->process, names->heap,
				      rule->tags ? rule->tags : names->tags,
				      rule->between ? rule->between : names->between };
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

struct shiny_err *check_eval(struct store *const stores[2], const struct filter_names *names,
			     const struct check_rules *rules, const struct check_options *options,
			     struct check_results *out)
{
	SHINY_CLEANUP(check_results_deinit)
	struct check_results results = { .at = mem_zero(rules->count + 1, sizeof(*results.at)),
					 .count = rules->count,
					 .complete = { true, true } };
	bool *done = mem_zero(rules->count + 1, sizeof(*done)),
	     *mine = mem_zero(rules->count + 1, sizeof(*mine));
	struct shiny_err *err = NULL;

	for (size_t i = 0; i < rules->count; i++)
		results.at[i].rule = rules->at[i];
	for (size_t first = 0; !err && first < rules->count; first++) {
		struct checking k = { .stores = stores,
				      .names = names_of(&rules->at[first], names),
				      .rules = rules,
				      .mine = mine,
				      .options = options,
				      .out = &results,
				      .with_base = stores[0] != NULL,
				      .first = stores[0] ? 0 : 1 };

		if (done[first])
			continue;
		for (size_t i = first; i < rules->count; i++) {
			struct filter_names other = names_of(&rules->at[i], names);

			mine[i] = same_text(other.tags, k.names.tags) &&
				  same_text(other.between, k.names.between);
			done[i] = done[i] || mine[i];
		}
		err = check_filter(&k, &rules->at[first]);
		memset(mine, 0, rules->count);
	}
	free(done);
	free(mine);
	if (err)
		return err;
	*out = shiny_steal(results);
	return NULL;
}

void check_results_deinit(struct check_results *results)
{
	for (size_t i = 0; i < results->count; i++) {
		struct check_result *r = &results->at[i];

		for (size_t p = 0; p < r->part_count; p++)
			free(r->parts[p].name);
		free(r->parts);
		free(r->worst);
		free(r->why);
	}
	free(results->at);
	*results = (struct check_results){ 0 };
}
