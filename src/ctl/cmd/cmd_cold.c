/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_cold.c: `shinyctl cold`: lists types and call sites whose live blocks the program does not
 * use. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/access/cold.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../ctl.h"

static const char *const time_keys[COLD_TIMES] = { "100ms", "1s", "10s" };

/* ---- text ---- */

/* Prints the times of watching; nothing if it was always on. */
static void print_times(const struct ctl *ctl, const struct access_times *on)
{
	if (!on->at.count || (on->at.at[0].until == UINT64_MAX && !on->at.at[0].from))
		return;
	fprintf(ctl->style.out, "watching was on for %s, in %s; of other times nothing is known\n",
		units_time(UNITS_BUF, on->sum),
		units_noun(UNITS_NOUN_BUF, on->at.count, "interval"));
}

static void print_total(const struct ctl *ctl, const struct cold *c)
{
	fprintf(ctl->style.out,
		"%s watched for their next use; cold: not used within %s of any moment\n",
		units_noun(UNITS_NOUN_BUF, c->watched, "block"),
		units_time(UNITS_BUF, cold_times[c->within]));
	print_times(ctl, &c->on);
	fprintf(ctl->style.out, "%s live at the end, %s of them in rows without a watched block\n",
		units_bytes(UNITS_BUF, c->live_bytes), units_bytes(UNITS_BUF, c->unknown_bytes));
}

static char *interval_text(const struct cold_row *r, const struct use_share *used)
{
	if (!(used->watches > 0))
		return mem_text("unknown");
	return mem_format("%s (%s\xe2\x80\x93%s)", units_bytes(UNITS_BUF, (uint64_t)r->cold),
			  units_bytes(UNITS_BUF, (uint64_t)r->cold_low),
			  units_bytes(UNITS_BUF, (uint64_t)r->cold_high));
}

static void print_rows(struct ctl *ctl, const struct cold *c, enum group_by by, size_t limit)
{
	enum { COLD, LIVE, BLOCKS, WATCHED, READS, WRITES, UNTOUCHED, NAME, COLUMNS };
	const struct table_column columns[COLUMNS] = {
		[COLD] = { .title = "cold (95 %)", .kind = CELL_TEXT },
		[LIVE] = { .title = "live", .kind = CELL_BYTES },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT, .drop = 2 },
		[WATCHED] = { .title = "watched", .kind = CELL_COUNT },
		[READS] = { .title = "read", .kind = CELL_COUNT, .drop = 3 },
		[WRITES] = { .title = "written", .kind = CELL_COUNT, .drop = 3 },
		[UNTOUCHED] = { .title = "untouched for", .kind = CELL_TIME, .drop = 1 },
		[NAME] = { group_names[by], CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	};
	struct table table;

	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < limit; i++) {
		const struct cold_row *r = &c->rows[i];
		char *interval = interval_text(r, &r->bytes[c->within]);

		table_row(&table);
		table_text(&table, COLD, interval);
		table_number(&table, LIVE, r->live_bytes);
		table_number(&table, BLOCKS, r->live);
		table_number(&table, WATCHED, r->watched);
		table_number(&table, READS, r->reads);
		table_number(&table, WRITES, r->writes);
		table_number(&table, UNTOUCHED, r->untouched);
		table_text(&table, NAME, r->name);
		free(interval);
	}
	fputc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, c->count);
	table_deinit(&table);
}

/* ---- JSON ---- */

static void json_shares(struct json *json, const char *key, const struct use_share *shares)
{
	json_object_line(json, key);
	for (unsigned t = 0; t < COLD_TIMES; t++) {
		const struct use_share *s = &shares[t];

		if (!(s->watches > 0)) {
			json_null(json, time_keys[t]);
			continue;
		}
		json_object_line(json, time_keys[t]);
		json_real(json, "share", s->share);
		json_real(json, "low", s->low);
		json_real(json, "high", s->high);
		json_real(json, "watches", s->watches);
		json_end(json);
	}
	json_end(json);
}

static void json_cold(struct ctl *ctl, const struct cold *c, size_t limit)
{
	struct json *json = &ctl->json;

	json_bool(json, "recorded", c->recorded);
	json_number_or_null(json, "watched", c->watched, c->recorded);
	json_array(json, "on");
	for (size_t i = 0; i < c->on.at.count; i++) {
		const struct access_time *time = &c->on.at.at[i];

		json_object_line(json, NULL);
		json_number(json, "from_ns", time->from);
		json_number_or_null(json, "until_ns", time->until, time->until != UINT64_MAX);
		json_end(json);
	}
	json_end(json);
	json_text(json, "within", time_keys[c->within]);
	json_number(json, "live_bytes", c->live_bytes);
	json_number(json, "unknown_bytes", c->unknown_bytes);
	json_array(json, "rows");
	for (size_t i = 0; i < limit; i++) {
		const struct cold_row *r = &c->rows[i];
		bool known = r->bytes[c->within].watches > 0;

		json_object_line(json, NULL);
		json_text(json, "name", r->name);
		json_text(json, "full_name", r->full_name ? r->full_name : r->name);
		json_number(json, "live", r->live);
		json_number(json, "live_bytes", r->live_bytes);
		json_number(json, "watched", r->watched);
		json_number(json, "reads", r->reads);
		json_number(json, "writes", r->writes);
		json_number(json, "untouched_ns", r->untouched);
		json_number_or_null(json, "cold_bytes", (uint64_t)r->cold, known);
		json_number_or_null(json, "cold_low", (uint64_t)r->cold_low, known);
		json_number_or_null(json, "cold_high", (uint64_t)r->cold_high, known);
		json_shares(json, "blocks_used", r->blocks);
		json_shares(json, "bytes_used", r->bytes);
		json_end(json);
	}
	json_end(json);
}

struct shiny_err *cmd_cold(struct ctl *ctl)
{
	/* in options.def's order */
	static const enum group_by groups[] = { GROUP_TYPE, GROUP_SITE };
	static const unsigned withins[] = { COLD_TIMES, 0, 1, 2 };
	enum group_by by = groups[ctl->options.number[OPT_COLD_BY]];
	struct cold cold;
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);
	size_t limit;

	if (!err)
		err = ctl_loaded(store, &filter,
				 cold_load(store, &filter, by, ctl->options.text[OPT_MATCH],
					   ctl->options.given[OPT_FULL_NAMES],
					   withins[ctl->options.number[OPT_WITHIN]], &cold));
	if (err)
		return err;
	limit = ctl_limit(ctl, cold.count, 30);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_cold(ctl, &cold, limit);
	} else if (!cold.recorded) {
		fputs("unknown: accesses were not recorded (SHINY_ACCESS=watch records them; "
		      "`shinyctl doctor FILE` says what was in the way)\n",
		      ctl->style.out);
	} else {
		print_total(ctl, &cold);
		print_rows(ctl, &cold, by, limit);
	}
	cold_deinit(&cold);
	return ctl_end(ctl, store, by == GROUP_TYPE ? "cold --by site" : "leaks");
}
