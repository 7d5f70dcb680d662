/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_leaks.c: `shinyctl leaks`: lists blocks live at the end, and the rows that grow. */
#include "../../analysis/access/cold.h"
#include "../../analysis/time/leaks.h"
#include "../../base/cleanup.h"
#include "../../base/units.h"
#include "../dimension.h"
#include "../verb_body.h"
#include "../snapshot_facts.h"

enum { KEPT_ROWS = 5 };

struct leaks_answer {
	struct leaks leaks;
	struct keepers keepers; /* what keeps the blocks of the first rows */
};

/* ---- loading ---- */

/* True if blocks of the row were watched, and none was used. */
static bool is_untouched(void *context, const struct leak_row *row)
{
	const struct cold_row *found = cold_find(context, row->name);

	return found && !found->reads && !found->writes;
}

static struct shiny_err *keep_untouched(struct ctl *ctl, struct store *store,
					const struct filter *filter, struct leaks *leaks)
{
	enum group_by by = dimension_group(ctl->options.by);
	struct cold cold;
	struct shiny_err *err = NULL;

	if (by != GROUP_SITE && by != GROUP_TYPE)
		return shiny_err(SHINY_ERR_USAGE, "leaks: --untouched needs --by site or type");
	SHINY_TRY(cold_load(store, filter, by, NULL, ctl->options.given[OPT_FULL_NAMES], COLD_TIMES,
			    &cold));
	if (cold.recorded) {
		cold_sort_by_name(&cold);
		leaks_keep(leaks, is_untouched, &cold);
	} else {
		err = shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
						 "leaks: --untouched: accesses were not recorded"),
				       "record with SHINY_ACCESS=watch");
	}
	cold_deinit(&cold);
	return err;
}

/* Finds what keeps the blocks of the first rows; snapshots have no tags. */
static struct shiny_err *find_keepers(struct ctl *ctl, struct store *store,
				      const struct filter *filter, struct leaks_answer *out)
{
	const char *names[KEPT_ROWS];
	size_t count = out->leaks.count < KEPT_ROWS ? out->leaks.count : KEPT_ROWS;

	for (size_t i = 0; i < count; i++)
		names[i] = out->leaks.rows[i].name;
	return ctl->options.by == BY_TAG || !count
		       ? NULL
		       : keepers_load(store, filter, dimension_group(ctl->options.by), names, count,
				      ctl->options.given[OPT_FULL_NAMES], &out->keepers);
}

static struct shiny_err *load_leaks(struct ctl *ctl, struct store *store,
				    const struct filter *filter, void *result)
{
	struct leaks_answer *out = result;
	struct shiny_err *err =
		leaks_load(store, filter, dimension_group(ctl->options.by),
			   ctl->options.text[OPT_MATCH], ctl->options.text[OPT_SUPPRESSIONS],
			   ctl->options.given[OPT_FULL_NAMES], true, &out->leaks);

	if (!err && ctl->options.given[OPT_UNTOUCHED])
		err = keep_untouched(ctl, store, filter, &out->leaks);
	if (!err)
		err = find_keepers(ctl, store, filter, out);
	if (err)
		leaks_deinit(&out->leaks);
	return err;
}

static void deinit(void *result)
{
	struct leaks_answer *out = result;

	keepers_deinit(&out->keepers);
	leaks_deinit(&out->leaks);
}

/* ---- text ---- */

static void print_leaks_totals(struct ctl *ctl, const void *result)
{
	const struct leaks *l = &((const struct leaks_answer *)result)->leaks;
	FILE *out = ctl->style.out;
	size_t growing = 0;

	for (size_t i = 0; i < l->count; i++)
		growing += l->rows[i].grows;
	fprintf(out, "%s, %s%s, live at the end",
		units_noun(UNITS_NOUN_BUF, l->left.blocks - l->abandoned, "block"),
		units_bytes(UNITS_BUF, l->left.bytes - l->abandoned_bytes),
		l->abandoned ? ""
			     : estimated_margin(ESTIMATED_MARGIN_BUF, l->left.bytes,
						l->left.bytes_variance));
	if (l->abandoned)
		fprintf(out, "; %s, %s, abandoned by processes that ended before",
			units_count(UNITS_BUF, l->abandoned),
			units_bytes(UNITS_BUF, l->abandoned_bytes));
	if (l->suppressed)
		fprintf(out, "; %s, %s, suppressed", units_count(UNITS_BUF, l->suppressed),
			units_bytes(UNITS_BUF, l->suppressed_bytes));
	fprintf(out, "\n%s %s to the end\n\n",
		units_noun(UNITS_NOUN_BUF, growing, dimension_names[ctl->options.by].title),
		units_form(growing, "grows", "grow"));
}

static void print_leaks_below(struct ctl *ctl, const void *result)
{
	const struct leaks_answer *answer = result;

	if (answer->leaks.count && (ctl->options.by == BY_SITE || ctl->options.by == BY_TYPE))
		ctl_why(ctl, ctl->options.by == BY_SITE, answer->leaks.rows[0].name);
	keepers_print(&ctl->style, &answer->keepers, dimension_names[ctl->options.by].title);
}

static const char *next_of_leaks(const struct ctl *ctl)
{
	return ctl->options.by == BY_SITE ? "leaks --by type" : "leaks";
}

/* clang-format off */
static const struct field fields[] = {
	{ FIELD_GROUP(struct leaks_answer, leaks, leaks_fields) },
	{ FIELD_GROUP(struct leaks_answer, keepers, keepers_fields) },
	FIELD_LAST
};
/* clang-format on */

const struct verb_body verb_leaks = {
	.fields = fields,
	.size = sizeof(struct leaks_answer),
	.load = load_leaks,
	.deinit = deinit,
	.usual = 30,
	.above = print_leaks_totals,
	.below = print_leaks_below,
	.next_of = next_of_leaks,
};
