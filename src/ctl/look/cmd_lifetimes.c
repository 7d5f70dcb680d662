/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_lifetimes.c: `shinyctl lifetimes`: prints the lifetimes of blocks, their ends, and their
 * origins. */
#include <stdlib.h>

#include "../../analysis/access/cold.h"
#include "../../analysis/time/lifetimes.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../dimension.h"
#include "../verb_body.h"

struct lived_row {
	struct lifetime_row life; /* its row in the lifetimes, which own it */
	struct cold_zombies zombies;
	bool known; /* the zombies are */
};
struct lived {
	struct lifetimes lifetimes;
	struct lived_row *rows;
	struct cold cold;
};

/* ---- loading ---- */

/* Joins the rows with the zombies of their groups; `cold` NULL: its rows are of other groups. */
static void join(struct lived *lived, const struct cold *cold)
{
	const struct lifetimes *l = &lived->lifetimes;

	lived->rows = mem_zero(l->count, sizeof(*lived->rows));
	for (size_t i = 0; i < l->count; i++) {
		const struct cold_row *found = cold ? cold_find(cold, l->rows[i].name) : NULL;

		lived->rows[i].life = l->rows[i];
		if (!found || !(found->blocks[cold->within].watches > 0))
			continue;
		lived->rows[i].known = true;
		lived->rows[i].zombies = (struct cold_zombies){ .about = found->zombies,
								.low = found->zombies_low,
								.high = found->zombies_high };
	}
}

/* Components and tags have no watched blocks of their own: their total is that of their types. */
static struct shiny_err *load_lifetimes(struct ctl *ctl, struct store *store,
					const struct filter *filter, void *result)
{
	/* in the order of its enum */
	enum lifetimes_order order = (enum lifetimes_order)ctl->options.number[OPT_SORT];
	enum group_by by = dimension_group(ctl->options.by);
	enum group_by drawn = by == GROUP_SITE ? GROUP_SITE : GROUP_TYPE;
	bool full = ctl->options.given[OPT_FULL_NAMES];
	const char *match = ctl->options.text[OPT_MATCH];
	struct lived *out = result;
	struct shiny_err *err = NULL;

	SHINY_TRY(lifetimes_load(store, filter, by, match, order, full, true, &out->lifetimes));
	err = cold_load(store, filter, drawn, by == drawn ? match : NULL, full, COLD_TIMES,
			&out->cold);
	if (err) {
		lifetimes_deinit(&out->lifetimes);
		return err;
	}
	cold_sort_by_name(&out->cold);
	join(out, by == drawn ? &out->cold : NULL);
	return NULL;
}

static void deinit(void *result)
{
	struct lived *lived = result;

	free(lived->rows);
	lifetimes_deinit(&lived->lifetimes);
	cold_deinit(&lived->cold);
}

/* ---- text ---- */

static void print_ends(const struct ctl *ctl, const struct lifetimes *l)
{
	const struct lifetime_row *t = &l->total;
	uint64_t half = distribution_survival_quantile(&t->ages, 0.5);

	fprintf(ctl->style.out, "%s, %s%s, in %s\n",
		units_noun(UNITS_NOUN_BUF, t->began.blocks, "block"),
		units_bytes(UNITS_BUF, t->began.bytes),
		estimated_margin(ESTIMATED_MARGIN_BUF, t->began.bytes, t->began.bytes_variance),
		units_time(UNITS_BUF, l->length));
	fprintf(ctl->style.out, "  destroyed %s, reused %s, persistent %s",
		units_share(UNITS_BUF, (double)t->destroyed, (double)t->began.blocks),
		units_share(UNITS_BUF, (double)t->reused, (double)t->began.blocks),
		units_share(UNITS_BUF, (double)t->persistent, (double)t->began.blocks));
	fprintf(ctl->style.out, "; temporary %s, freed by another thread %s\n",
		units_share(UNITS_BUF, (double)t->temporary, (double)t->began.blocks),
		units_share(UNITS_BUF, (double)t->elsewhere, (double)t->began.blocks));
	fprintf(ctl->style.out,
		"  %s of %s ended: percentiles and means are theirs; how long the others live is "
		"not known\n",
		units_count(UNITS_BUF, t->ages.ended), units_count(UNITS_BUF, t->began.blocks));
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
				    (double)l->total.began.blocks),
			units_share(UNITS_BUF, (double)l->total.population_bytes[p],
				    (double)l->total.began.bytes));
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

static void print_lifetimes_above(struct ctl *ctl, const void *result)
{
	const struct lived *lived = result;
	const struct answer answer = { .fields = lifetimes_fields, .result = &lived->lifetimes };

	print_ends(ctl, &lived->lifetimes);
	print_zombies(ctl, &lived->cold);
	fputc('\n', ctl->style.out);
	answer_table(&answer, "octaves", &ctl->style);
	print_populations(ctl, &lived->lifetimes);
	fputc('\n', ctl->style.out);
}

static const char *next_of_lifetimes(const struct ctl *ctl)
{
	return ctl->options.by == BY_TYPE ? "lifetimes --by site" : "types";
}

FIELD_SKIP(is_unknown, struct lived_row, !r->known)

/* clang-format off */
static const struct field zombies_fields[] = {
	{ FIELD_REAL("about", struct lived_row, zombies.about), .help = "the estimated number" },
	{ FIELD_REAL("low", struct lived_row, zombies.low),
	  .help = "the lower end of its 95 % interval" },
	{ FIELD_REAL("high", struct lived_row, zombies.high), .help = "the upper end" },
	FIELD_LAST
};
static const struct field row_fields[] = {
	{ FIELD_GROUP(struct lived_row, life, lifetime_fields) },
	{ FIELD_SAME_OBJECT("zombies", zombies_fields), .skip = is_unknown,
	  .help = "persistent blocks that nobody uses; null: unknown" },
	FIELD_LAST
};
static const struct field fields[] = {
	{ FIELD_GROUP(struct lived, lifetimes, lifetimes_fields) },
	{ FIELD_ROWS("rows", struct lived, rows, lifetimes.count, row_fields), .limited = true,
	  .shows = "of_blocks bar/10 blocks bytes/5 destroyed/7 reused/9 persistent/1 temporary/4 "
		   "elsewhere/6 p50_ns p90_ns/3 p99_ns/2 geometric_mean_ns/8 half_life_ns/11 name",
	  .help = "a type, call site, component or tag" },
	FIELD_LAST
};
/* clang-format on */

const struct verb_body verb_lifetimes = {
	.fields = fields,
	.size = sizeof(struct lived),
	.load = load_lifetimes,
	.deinit = deinit,
	.usual = 30,
	.above = print_lifetimes_above,
	.next_of = next_of_lifetimes,
};
