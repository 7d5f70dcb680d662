/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_leaks.c: `shinyctl leaks`: lists blocks live at the end, and the rows that grow. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/access/cold.h"
#include "../../analysis/time/leaks.h"
#include "../../base/bars.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../answers_json.h"
#include "../ctl.h"
#include "../retainer_text.h"

enum { BYTES, BLOCKS, SHARE, MADE, RATE, TREND, YOUNGEST, NAME, COLUMNS };
static const struct table_column columns[COLUMNS] = {
	[NAME] = { "site", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[BYTES] = { .title = "bytes", .kind = CELL_BYTES },
	[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
	[SHARE] = { .title = "share", .kind = CELL_SHARE },
	[MADE] = { .title = "of", .kind = CELL_COUNT, .drop = 3 },
	[RATE] = { .title = "grows a second", .kind = CELL_TEXT, .drop = 1, .tint = TINT_WARN },
	[TREND] = { .title = "live blocks over time", .kind = CELL_TEXT, .drop = 2 },
	[YOUNGEST] = { .title = "newest after", .kind = CELL_TIME, .drop = 4 },
};

enum { TREND_COLUMNS = LEAK_MOMENTS / 2, KEPT_ROWS = 5 };

static char *trend_text(const struct leak_row *row)
{
	uint64_t counts[LEAK_MOMENTS];

	for (unsigned i = 0; i < LEAK_MOMENTS; i++)
		counts[i] = row->counts[i];
	return bars_text(counts, LEAK_MOMENTS, TREND_COLUMNS);
}

static void print(struct ctl *ctl, const struct leaks *l, enum group_by by, size_t limit)
{
	struct table_column titled[COLUMNS];
	struct table table;
	FILE *out = ctl->style.out;
	size_t growing = 0;

	for (size_t i = 0; i < l->count; i++)
		growing += l->rows[i].grows;
	fprintf(out, "%s, %s, live at the end",
		units_noun(UNITS_NOUN_BUF, l->blocks - l->abandoned, "block"),
		units_bytes(UNITS_BUF, l->bytes - l->abandoned_bytes));
	if (l->abandoned)
		fprintf(out, "; %s, %s, abandoned by processes that ended before",
			units_count(UNITS_BUF, l->abandoned),
			units_bytes(UNITS_BUF, l->abandoned_bytes));
	if (l->suppressed)
		fprintf(out, "; %s, %s, suppressed", units_count(UNITS_BUF, l->suppressed),
			units_bytes(UNITS_BUF, l->suppressed_bytes));
	fprintf(out, "\n%s %s to the end\n\n",
		units_noun(UNITS_NOUN_BUF, growing, group_names[by]),
		units_form(growing, "grows", "grow"));
	memcpy(titled, columns, sizeof(titled));
	titled[NAME].title = group_names[by];
	table_init(&table, titled, COLUMNS);
	table_total(&table, SHARE, l->bytes);
	for (size_t i = 0; i < limit; i++) {
		const struct leak_row *row = &l->rows[i];
		char *trend = trend_text(row);

		table_row(&table);
		table_text(&table, NAME, row->name);
		table_number(&table, BYTES, row->bytes);
		table_number(&table, BLOCKS, row->blocks);
		table_number(&table, SHARE, row->bytes);
		table_number(&table, MADE, row->made);
		table_text(&table, TREND, trend);
		free(trend);
		table_number(&table, YOUNGEST, row->youngest_ns);
		if (row->grows) {
			char *rate = mem_format("%s (\xc2\xb1 %s), %s",
						units_short(UNITS_BUF, row->slope),
						units_short(UNITS_BUF, row->slope_error),
						units_bytes(UNITS_BUF, (uint64_t)row->bytes_slope));

			table_text(&table, RATE, rate);
			free(rate);
		}
	}
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, l->count);
	table_deinit(&table);
}

/* ---- untouched ---- */

/* True if blocks of the row were watched, and none was used. */
static bool is_untouched(void *context, const struct leak_row *row)
{
	const struct cold_row *found = cold_find(context, row->name);

	return found && !found->reads && !found->writes;
}

static struct shiny_err *keep_untouched(struct ctl *ctl, struct store *store,
					const struct filter *filter, enum group_by by,
					struct leaks *leaks)
{
	struct cold cold;
	struct shiny_err *err = NULL;

	if (by != GROUP_SITE && by != GROUP_TYPE)
		return shiny_err(SHINY_ERR_USAGE, "leaks: --untouched needs --by site or type");
	err = cold_load(store, filter, by, NULL, ctl->options.given[OPT_FULL_NAMES], COLD_TIMES,
			&cold);
	if (err)
		return err;
	if (cold.recorded) {
		cold_sort_by_name(&cold);
		leaks_keep(leaks, is_untouched, &cold);
	} else {
		err = shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER,
				  "leaks: --untouched: accesses were not recorded"),
			"record with SHINY_ACCESS=watch");
	}
	cold_deinit(&cold);
	return err;
}

/* Loads the rows; with --untouched only the untouched ones. */
static struct shiny_err *load_rows(struct ctl *ctl, struct store *store,
				   const struct filter *filter, enum group_by by,
				   struct leaks *out)
{
	struct shiny_err *err = leaks_load(store, filter, by, ctl->options.text[OPT_MATCH],
					   ctl->options.text[OPT_SUPPRESSIONS],
					   ctl->options.given[OPT_FULL_NAMES], true, out);

	if (err || !ctl->options.given[OPT_UNTOUCHED])
		return err;
	err = keep_untouched(ctl, store, filter, by, out);
	if (err) {
		leaks_deinit(out);
		*out = (struct leaks){ 0 };
	}
	return err;
}

/* ---- keepers ---- */

/* Finds what keeps the blocks of the first rows; snapshots have no tags. */
static struct shiny_err *find_keepers(struct ctl *ctl, struct store *store,
				      const struct filter *filter, enum group_by by,
				      const struct leaks *leaks, struct keepers *out)
{
	const char *names[KEPT_ROWS];
	size_t count = leaks->count < KEPT_ROWS ? leaks->count : KEPT_ROWS;

	for (size_t i = 0; i < count; i++)
		names[i] = leaks->rows[i].name;
	*out = (struct keepers){ 0 };
	return by == GROUP_TAG || !count
		       ? NULL
		       : keepers_load(store, filter, by, names, count,
				      ctl->options.given[OPT_FULL_NAMES], out);
}

static struct shiny_err *load(struct ctl *ctl, struct store *store, const struct filter *filter,
			      enum group_by by, struct leaks *leaks, struct keepers *keepers)
{
	struct shiny_err *err = load_rows(ctl, store, filter, by, leaks);

	return err ? err : find_keepers(ctl, store, filter, by, leaks, keepers);
}

struct shiny_err *cmd_leaks(struct ctl *ctl)
{
	/* in options.def's order */
	static const enum group_by groups[] = { GROUP_SITE, GROUP_TYPE, GROUP_COMPONENT,
						GROUP_TAG };
	enum group_by by = groups[ctl->options.number[OPT_LEAKS_BY]];
	struct leaks leaks = { 0 };
	struct keepers keepers = { 0 };
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);
	size_t limit;

	if (!err)
		err = ctl_loaded(store, &filter,
				 load(ctl, store, &filter, by, &leaks, &keepers));
	if (err) {
		leaks_deinit(&leaks);
		return err;
	}
	limit = ctl_limit(ctl, leaks.count, 30);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_leaks(&ctl->json, &leaks, limit);
		keepers_json(&ctl->json, &keepers);
	} else {
		print(ctl, &leaks, by, limit);
		keepers_print(&ctl->style, &keepers, group_names[by]);
	}
	keepers_deinit(&keepers);
	leaks_deinit(&leaks);
	return ctl_end(ctl, store, by == GROUP_SITE ? "leaks --by type" : "leaks");
}
