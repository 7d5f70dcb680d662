/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_lifetimes.c: `shinyctl lifetimes`: prints the lifetimes of blocks, their ends, and their
 * origins. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/access/cold.h"
#include "../../analysis/time/lifetimes.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../ctl.h"

enum {
	SHARE,
	BAR,
	BLOCKS,
	BYTES,
	DESTROYED,
	REUSED,
	PERSISTENT,
	TEMPORARY,
	ELSEWHERE,
	P50,
	P90,
	P99,
	GEOMETRIC,
	SURVIVE,
	NAME,
	COLUMNS
};
static const struct table_column columns[COLUMNS] = {
	[NAME] = { "type", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[SHARE] = { .title = "share", .kind = CELL_SHARE },
	[BAR] = { .title = "", .kind = CELL_BAR, .drop = 9, .tint = TINT_GOOD },
	[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
	[BYTES] = { .title = "bytes", .kind = CELL_BYTES, .drop = 4 },
	[DESTROYED] = { .title = "destroyed", .kind = CELL_COUNT, .drop = 6 },
	[REUSED] = { .title = "reused", .kind = CELL_COUNT, .drop = 8 },
	[PERSISTENT] = { .title = "persistent", .kind = CELL_COUNT },
	[TEMPORARY] = { .title = "temporary", .kind = CELL_COUNT, .drop = 3 },
	[ELSEWHERE] = { .title = "elsewhere", .kind = CELL_COUNT, .drop = 5 },
	[P50] = { .title = "p50", .kind = CELL_TIME },
	[P90] = { .title = "p90", .kind = CELL_TIME, .drop = 2 },
	[P99] = { .title = "p99", .kind = CELL_TIME, .drop = 1 },
	[GEOMETRIC] = { .title = "geo mean", .kind = CELL_TIME, .drop = 7 },
	[SURVIVE] = { .title = "half-life", .kind = CELL_TIME, .drop = 10 },
};

static void print_ends(const struct ctl *ctl, const struct lifetimes *l)
{
	const struct lifetime_row *t = &l->total;
	uint64_t half = distribution_survival_quantile(&t->ages, 0.5);

	fprintf(ctl->style.out, "%s, %s, in %s\n", units_noun(UNITS_NOUN_BUF, t->blocks, "block"),
		units_bytes(UNITS_BUF, t->bytes), units_time(UNITS_BUF, l->duration));
	fprintf(ctl->style.out, "  destroyed %s, reused %s, persistent %s",
		units_share(UNITS_BUF, (double)t->destroyed, (double)t->blocks),
		units_share(UNITS_BUF, (double)t->reused, (double)t->blocks),
		units_share(UNITS_BUF, (double)t->persistent, (double)t->blocks));
	fprintf(ctl->style.out, "; temporary %s, freed by another thread %s\n",
		units_share(UNITS_BUF, (double)t->temporary, (double)t->blocks),
		units_share(UNITS_BUF, (double)t->elsewhere, (double)t->blocks));
	fprintf(ctl->style.out,
		"  %s of %s ended: percentiles and means are theirs; how long the others live is "
		"not known\n",
		units_count(UNITS_BUF, t->ages.ended), units_count(UNITS_BUF, t->blocks));
	if (half == UINT64_MAX)
		fprintf(ctl->style.out, "  more than half outlive what was seen of them\n");
	else
		fprintf(ctl->style.out,
			"  half outlive %s, those that had not ended counted in "
			"%s(Kaplan-Meier)%s\n",
			units_time(UNITS_BUF, half), tint(&ctl->style, TINT_DIM),
			tint_end(&ctl->style, TINT_DIM));
}

/* Prints state Z: the unused share of the persistent blocks, by the types that were watched. */
static void print_zombies(const struct ctl *ctl, const struct cold *c)
{
	struct cold_zombies z = cold_zombies(c);

	if (!c->recorded)
		return;
	fprintf(ctl->style.out,
		"  zombies, not used within %s: about %s (%s\xe2\x80\x93%s) of the %s persistent "
		"blocks of watched types\n",
		units_time(UNITS_BUF, cold_times[c->within]),
		units_count(UNITS_BUF, (uint64_t)z.about), units_count(UNITS_BUF, (uint64_t)z.low),
		units_count(UNITS_BUF, (uint64_t)z.high), units_count(UNITS_BUF, z.known));
}

static void print_histogram(struct ctl *ctl, const struct lifetimes *l)
{
	enum { FROM, ENDED, ENDED_BAR, ALIVE, ALIVE_BAR, HISTOGRAM_COLUMNS };
	static const struct table_column histogram[HISTOGRAM_COLUMNS] = {
		[FROM] = { .title = "lifetime ≥", .kind = CELL_TIME },
		[ENDED] = { .title = "ended", .kind = CELL_COUNT },
		[ENDED_BAR] = { .title = "", .kind = CELL_BAR, .tint = TINT_GOOD },
		[ALIVE] = { .title = "still alive", .kind = CELL_COUNT },
		[ALIVE_BAR] = { .title = "", .kind = CELL_BAR, .tint = TINT_WARN },
	};
	struct distribution_octave octaves[DISTRIBUTION_OCTAVES];
	unsigned first = DISTRIBUTION_OCTAVES, last = 0;
	uint64_t most = 1;
	struct table table;

	distribution_octaves(&l->total.ages, octaves);
	for (unsigned i = 0; i < DISTRIBUTION_OCTAVES; i++) {
		if (!octaves[i].ended && !octaves[i].censored)
			continue;
		first = first == DISTRIBUTION_OCTAVES ? i : first;
		last = i;
		most = octaves[i].ended > most ? octaves[i].ended : most;
		most = octaves[i].censored > most ? octaves[i].censored : most;
	}
	table_init(&table, histogram, HISTOGRAM_COLUMNS);
	table_total(&table, ENDED_BAR, most);
	table_total(&table, ALIVE_BAR, most);
	for (unsigned i = first; i < DISTRIBUTION_OCTAVES && i <= last; i++) {
		table_row(&table);
		table_number(&table, FROM, i ? UINT64_C(1) << i : 0);
		table_number(&table, ENDED, octaves[i].ended);
		table_number(&table, ENDED_BAR, octaves[i].ended);
		table_number(&table, ALIVE, octaves[i].censored);
		table_number(&table, ALIVE_BAR, octaves[i].censored);
	}
	fputc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

/* Prints the rows with most blocks of each population. */
static void print_populations(const struct ctl *ctl, const struct lifetimes *l)
{
	enum { NAMED = 3 };

	fputc('\n', ctl->style.out);
	for (unsigned p = 0; p < POPULATIONS; p++) {
		const struct lifetime_row *top[NAMED] = { NULL };

		for (size_t i = 0; i < l->count; i++) {
			const struct lifetime_row *row = &l->rows[i];

			for (unsigned k = 0; k < NAMED; k++) {
				const struct lifetime_row *moved = top[k];

				if (moved && moved->population[p] >= row->population[p])
					continue;
				top[k] = row;
				row = moved;
				if (!row)
					break;
			}
		}
		fprintf(ctl->style.out,
			"%s%-6s%s %s of the blocks, %s of the bytes:", tint(&ctl->style, TINT_BOLD),
			population_names[p], tint_end(&ctl->style, TINT_BOLD),
			units_share(UNITS_BUF, (double)l->total.population[p],
				    (double)l->total.blocks),
			units_share(UNITS_BUF, (double)l->total.population_bytes[p],
				    (double)l->total.bytes));
		for (unsigned k = 0; k < NAMED && top[k] && top[k]->population[p]; k++) {
			char name[256];

			text_fit(name, sizeof(name), top[k]->name, 48, TEXT_CUT_MIDDLE);
			fprintf(ctl->style.out, "%s %s %s", k ? "," : "", name,
				units_share(UNITS_BUF, (double)top[k]->population[p],
					    (double)l->total.population[p]));
		}
		fputc('\n', ctl->style.out);
	}
}

static void print_rows(struct ctl *ctl, const struct lifetimes *l, enum group_by by, size_t limit)
{
	struct table_column titled[COLUMNS];
	struct table table;

	memcpy(titled, columns, sizeof(titled));
	titled[NAME].title = group_names[by];
	table_init(&table, titled, COLUMNS);
	table_total(&table, SHARE, l->total.blocks);
	table_total(&table, BAR, l->total.blocks);
	for (size_t i = 0; i < limit; i++) {
		const struct lifetime_row *row = &l->rows[i];
		uint64_t half = distribution_survival_quantile(&row->ages, 0.5);

		table_row(&table);
		table_text(&table, NAME, row->name);
		table_number(&table, SHARE, row->blocks);
		table_number(&table, BAR, row->blocks);
		table_number(&table, BLOCKS, row->blocks);
		table_number(&table, BYTES, row->bytes);
		table_number(&table, DESTROYED, row->destroyed);
		table_number(&table, REUSED, row->reused);
		table_number(&table, PERSISTENT, row->persistent);
		table_number(&table, TEMPORARY, row->temporary);
		table_number(&table, ELSEWHERE, row->elsewhere);
		if (row->ages.ended) {
			table_number(&table, P50, distribution_quantile(&row->ages, 0.5));
			table_number(&table, P90, distribution_quantile(&row->ages, 0.9));
			table_number(&table, P99, distribution_quantile(&row->ages, 0.99));
			table_number(&table, GEOMETRIC,
				     (uint64_t)distribution_geometric_mean(&row->ages));
		}
		if (half != UINT64_MAX)
			table_number(&table, SURVIVE, half);
	}
	fputc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, l->count);
	table_deinit(&table);
}

static void json_row(struct json *json, const struct lifetime_row *row)
{
	uint64_t half = distribution_survival_quantile(&row->ages, 0.5);

	json_number(json, "blocks", row->blocks);
	json_number(json, "bytes", row->bytes);
	json_number(json, "destroyed", row->destroyed);
	json_number(json, "reused", row->reused);
	json_number(json, "persistent", row->persistent);
	json_number(json, "temporary", row->temporary);
	json_number(json, "elsewhere", row->elsewhere);
	for (unsigned p = 0; p < POPULATIONS; p++)
		json_number(json, population_names[p], row->population[p]);
	json_number(json, "ended", row->ages.ended);
	if (row->ages.ended) {
		json_real(json, "mean_ns", distribution_mean(&row->ages));
		json_real(json, "geometric_mean_ns", distribution_geometric_mean(&row->ages));
	} else {
		json_null(json, "mean_ns");
		json_null(json, "geometric_mean_ns");
	}
	json_number_or_null(json, "p50_ns", distribution_quantile(&row->ages, 0.5),
			    row->ages.ended);
	json_number_or_null(json, "p90_ns", distribution_quantile(&row->ages, 0.9),
			    row->ages.ended);
	json_number_or_null(json, "p99_ns", distribution_quantile(&row->ages, 0.99),
			    row->ages.ended);
	json_number_or_null(json, "max_ns", row->ages.most, row->ages.ended);
	if (half == UINT64_MAX)
		json_null(json, "half_life_ns");
	else
		json_number(json, "half_life_ns", half);
}

void json_ages(struct json *json, const char *key, const struct distribution *ages)
{
	struct distribution_octave octaves[DISTRIBUTION_OCTAVES];

	json_array(json, key);
	distribution_octaves(ages, octaves);
	for (unsigned i = 0; i < DISTRIBUTION_OCTAVES; i++) {
		if (!octaves[i].ended && !octaves[i].censored)
			continue;
		json_object_line(json, NULL);
		json_number(json, "from_ns", i ? UINT64_C(1) << i : 0);
		json_number(json, "ended", octaves[i].ended);
		json_number(json, "censored", octaves[i].censored);
		json_real(json, "survival", distribution_survival(ages, (UINT64_C(2) << i) - 1));
		json_end(json);
	}
	json_end(json);
}

/* Puts the zombies of a row's group; null: unknown. `c` NULL: its rows are of other groups. */
static void json_zombies(struct json *json, const struct cold *c, const char *name)
{
	const struct cold_row *r = c ? cold_find(c, name) : NULL;

	if (!r || !(r->blocks[c->within].watches > 0)) {
		json_null(json, "zombies");
		return;
	}
	json_object_line(json, "zombies");
	json_real(json, "about", r->zombies);
	json_real(json, "low", r->zombies_low);
	json_real(json, "high", r->zombies_high);
	json_end(json);
}

static void json_lifetimes(struct ctl *ctl, const struct lifetimes *l, const struct cold *cold,
			   size_t limit)
{
	struct json *json = &ctl->json;

	json_number(json, "duration_ns", l->duration);
	json_object_line(json, "total");
	json_row(json, &l->total);
	json_end(json);
	json_ages(json, "histogram", &l->total.ages);
	json_array(json, "rows");
	for (size_t i = 0; i < limit; i++) {
		json_object_line(json, NULL);
		json_text(json, "name", l->rows[i].name);
		json_text(json, "full_name",
			  l->rows[i].full_name ? l->rows[i].full_name : l->rows[i].name);
		json_row(json, &l->rows[i]);
		json_zombies(json, cold, l->rows[i].name);
		json_end(json);
	}
	json_end(json);
}

/* Components and tags have no watched blocks of their own: their total is that of their types. */
static struct shiny_err *load(struct ctl *ctl, struct store *store, const struct filter *filter,
			      enum group_by by, struct lifetimes *out, struct cold *cold)
{
	enum lifetimes_order order = (enum lifetimes_order)ctl->options.number[OPT_LIFETIMES_SORT];
	enum group_by drawn = by == GROUP_SITE ? GROUP_SITE : GROUP_TYPE;
	bool full = ctl->options.given[OPT_FULL_NAMES];
	const char *match = ctl->options.text[OPT_MATCH];
	struct shiny_err *err =
		lifetimes_load(store, filter, by, match, order, full, true, out);

	if (err)
		return err;
	err = cold_load(store, filter, drawn, by == drawn ? match : NULL, full, COLD_TIMES, cold);
	if (err) {
		lifetimes_deinit(out);
		return err;
	}
	cold_sort_by_name(cold);
	return NULL;
}

struct shiny_err *cmd_lifetimes(struct ctl *ctl)
{
	/* options.def lists both in the order of their enums */
	enum group_by by = (enum group_by)ctl->options.number[OPT_LIFETIMES_BY];
	struct lifetimes lifetimes;
	struct cold cold;
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);
	size_t limit;

	if (!err)
		err = ctl_loaded(store, &filter,
				 load(ctl, store, &filter, by, &lifetimes, &cold));
	if (err)
		return err;
	limit = ctl_limit(ctl, lifetimes.count, 30);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_lifetimes(ctl, &lifetimes,
			       by == GROUP_TYPE || by == GROUP_SITE ? &cold : NULL, limit);
	} else {
		print_ends(ctl, &lifetimes);
		print_zombies(ctl, &cold);
		print_histogram(ctl, &lifetimes);
		print_populations(ctl, &lifetimes);
		print_rows(ctl, &lifetimes, by, limit);
	}
	lifetimes_deinit(&lifetimes);
	cold_deinit(&cold);
	return ctl_end(ctl, store, by == GROUP_TYPE ? "lifetimes --by site" : "types");
}
