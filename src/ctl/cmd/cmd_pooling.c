/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_pooling.c: `shinyctl pooling`: prints the savings of pools by size and lifetime, marked as a
 * model. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../analysis/space/pooling.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../ctl.h"

/* ---- text ---- */

static void print_model(const struct ctl *ctl, const struct pooling *p)
{
	fprintf(ctl->style.out,
		"%sa model%s: what if blocks of one size class and one lifetime shared a "
		"pool?\n%sconstants:",
		tint(&ctl->style, TINT_BOLD), tint_end(&ctl->style, TINT_BOLD),
		tint(&ctl->style, TINT_DIM));
	for (size_t i = 0; i < POOLING_CONSTANTS; i++)
		fprintf(ctl->style.out, " %s=%" PRIu64, pooling_constant_list[i].name,
			pooling_constant_value(&pooling_constant_list[i], &p->constants));
	fprintf(ctl->style.out, " (--constants)%s\n\n", tint_end(&ctl->style, TINT_DIM));
}

static void print_summary(struct ctl *ctl, const struct pooling *p)
{
	enum {
		WHAT,
		CALLS,
		SLOW,
		DESTRUCTORS,
		CYCLES,
		SHARE,
		PEAK,
		END,
		RECLAIMABLE,
		SUMMARY_COLUMNS
	};
	static const struct table_column summary[SUMMARY_COLUMNS] = {
		[WHAT] = { .title = "", .kind = CELL_TEXT, .tint = TINT_BOLD },
		[CALLS] = { .title = "calls", .kind = CELL_COUNT },
		[SLOW] = { .title = "slow", .kind = CELL_COUNT, .drop = 2 },
		[DESTRUCTORS] = { .title = "destructors", .kind = CELL_COUNT, .drop = 3 },
		[CYCLES] = { .title = "cycles", .kind = CELL_COUNT },
		[SHARE] = { .title = "", .kind = CELL_SHARE },
		[PEAK] = { .title = "pages at peak", .kind = CELL_COUNT },
		[END] = { .title = "at end", .kind = CELL_COUNT },
		[RECLAIMABLE] = { .title = "reclaimable", .kind = CELL_COUNT, .drop = 1 },
	};
	const struct pooling_row *t = &p->total;
	const struct {
		const char *text;
		const struct pooling_side *side;
		uint64_t destructors;
	} lines[] = {
		{"as it was", &t->without, t->destroyed},
		{"pools", &t->with, t->destroyed},
		{"pools, destructors deferred", &t->with, t->deferred},
	};
	struct table table;

	table_init(&table, summary, SUMMARY_COLUMNS);
	table_total(&table, SHARE, pooling_cycles(p, &t->without, t->destroyed));
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const struct pooling_side *side = lines[i].side;

		table_row(&table);
		table_text(&table, WHAT, lines[i].text);
		table_number(&table, CALLS, side->calls);
		table_number(&table, SLOW, side->slow);
		table_number(&table, DESTRUCTORS, lines[i].destructors);
		table_number(&table, CYCLES, pooling_cycles(p, side, lines[i].destructors));
		table_number(&table, SHARE, pooling_cycles(p, side, lines[i].destructors));
		table_number(&table, PEAK, side->peak_pages);
		table_number(&table, END, side->end_pages);
		table_number(&table, RECLAIMABLE, pooling_reclaimable(t, side));
	}
	table_print(&table, &ctl->style);
	table_deinit(&table);
	fprintf(ctl->style.out, "%s%s, %s, of them %s; %s with %s\nmost bytes were live at %s",
		tint(&ctl->style, TINT_DIM), units_noun(UNITS_NOUN_BUF, t->blocks, "block"),
		units_bytes(UNITS_BUF, t->bytes), units_noun(UNITS_NOUN_BUF, t->objects, "object"),
		units_noun(UNITS_NOUN_BUF, t->pools, "pool"),
		units_noun(UNITS_NOUN_BUF, t->most, "slot"), units_time(UNITS_BUF, p->peak_time));
	if (p->collected)
		fprintf(ctl->style.out, "; left out: %s",
			units_noun(UNITS_NOUN_BUF, p->collected, "garbage-collected object"));
	fprintf(ctl->style.out, "%s\n", tint_end(&ctl->style, TINT_DIM));
}

static int64_t pages_freed(const struct pooling_row *row)
{
	return (int64_t)(row->without.peak_pages - row->with.peak_pages);
}

/* Prints the size and lifetime with most to gain, in cycles and in pages. */
static void print_best(const struct ctl *ctl, const struct pooling *p)
{
	const struct pooling_row *cycles = NULL, *pages = NULL;
	char *names[2] = { NULL, NULL };

	for (unsigned b = 0; b < PAGES_BUCKETS; b++)
		for (unsigned l = 0; l < POPULATIONS; l++) {
			const struct pooling_row *row = &p->groups[b][l];
			char *name =
				mem_format("%s, %s", pages_bucket_names[b], population_names[l]);

			if (pooling_saved(row) > (cycles ? pooling_saved(cycles) : 0)) {
				cycles = row;
				free(names[0]);
				names[0] = mem_text(name);
			}
			if (pages_freed(row) > (pages ? pages_freed(pages) : 0)) {
				pages = row;
				free(names[1]);
				names[1] = mem_text(name);
			}
			free(name);
		}
	if (cycles)
		fprintf(ctl->style.out,
			"most cycles to gain: %s%s%s: %s, of all that calls cost %s\n",
			tint(&ctl->style, TINT_NAME), names[0], tint_end(&ctl->style, TINT_NAME),
			units_count(UNITS_BUF, (uint64_t)pooling_saved(cycles)),
			units_share(UNITS_BUF, (double)pooling_saved(cycles),
				    (double)p->total.without.cycles));
	if (pages)
		fprintf(ctl->style.out,
			"most pages to gain: %s%s%s: its blocks lay on %s at the peak, and would "
			"on %s\n",
			tint(&ctl->style, TINT_NAME), names[1], tint_end(&ctl->style, TINT_NAME),
			units_count(UNITS_BUF, pages->without.peak_pages),
			units_count(UNITS_BUF, pages->with.peak_pages));
	free(names[0]);
	free(names[1]);
}

enum {
	SAVED,
	BLOCKS,
	MOST,
	CALLS,
	POOLED,
	CYCLES,
	POOLED_CYCLES,
	PEAK,
	POOLED_PEAK,
	END,
	POOLED_END,
	NAME,
	COLUMNS
};

/* Sets the columns of the two tables, whose rows have different names. */
static void columns_of(struct table_column columns[COLUMNS], struct table_column name)
{
	static const struct table_column common[COLUMNS] = {
		[SAVED] = { .title = "cycles saved", .kind = CELL_TEXT },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT, .drop = 5 },
		[MOST] = { .title = "most at once", .kind = CELL_COUNT, .drop = 4 },
		[CALLS] = { .title = "calls", .kind = CELL_COUNT },
		[POOLED] = { .title = "pooled", .kind = CELL_COUNT },
		[CYCLES] = { .title = "cycles", .kind = CELL_COUNT, .drop = 3 },
		[POOLED_CYCLES] = { .title = "pooled", .kind = CELL_COUNT, .drop = 3 },
		[PEAK] = { .title = "pages at peak", .kind = CELL_COUNT },
		[POOLED_PEAK] = { .title = "pooled", .kind = CELL_COUNT },
		[END] = { .title = "at end", .kind = CELL_COUNT, .drop = 2 },
		[POOLED_END] = { .title = "pooled", .kind = CELL_COUNT, .drop = 2 },
	};

	memcpy(columns, common, sizeof(common));
	columns[NAME] = name;
}

static void row_of(struct table *table, const struct pooling_row *row, const char *name)
{
	int64_t saved = pooling_saved(row);
	char text[UNITS_TEXT + 1];

	snprintf(text, sizeof(text), "%s%s", saved < 0 ? "-" : "",
		 units_count(UNITS_BUF, (uint64_t)(saved < 0 ? -saved : saved)));
	table_row(table);
	table_text(table, SAVED, text);
	table_number(table, BLOCKS, row->blocks);
	table_number(table, MOST, row->most);
	table_number(table, CALLS, row->without.calls);
	table_number(table, POOLED, row->with.calls);
	table_number(table, CYCLES, row->without.cycles);
	table_number(table, POOLED_CYCLES, row->with.cycles);
	table_number(table, PEAK, row->without.peak_pages);
	table_number(table, POOLED_PEAK, row->with.peak_pages);
	table_number(table, END, row->without.end_pages);
	table_number(table, POOLED_END, row->with.end_pages);
	table_text(table, NAME, name);
}

/* Prints F10. */
static void print_groups(struct ctl *ctl, const struct pooling *p)
{
	struct table_column columns[COLUMNS];
	struct table table;

	columns_of(columns, (struct table_column){ .title = "size and lifetime",
						   .kind = CELL_TEXT,
						   .tint = TINT_NAME });
	table_init(&table, columns, COLUMNS);
	for (unsigned b = 0; b < PAGES_BUCKETS; b++) {
		const char *bucket = pages_bucket_names[b];

		if (p->buckets[b].blocks)
			row_of(&table, &p->buckets[b], bucket);
		for (unsigned l = 0; l < POPULATIONS; l++) {
			char *name = mem_format("  %s, %s", bucket, population_names[l]);

			if (p->groups[b][l].blocks)
				row_of(&table, &p->groups[b][l], name);
			free(name);
		}
	}
	fputc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

static void print_type_rows(struct ctl *ctl, const struct pooling *p, size_t limit)
{
	struct table_column columns[COLUMNS];
	struct table table;

	columns_of(columns, (struct table_column){ "a pool of each type's own", CELL_TEXT, true,
						   TEXT_CUT_MIDDLE, 0, TINT_NAME });
	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < limit; i++)
		row_of(&table, &p->types[i], p->types[i].name);
	fputc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, p->type_count);
	table_deinit(&table);
}

/* ---- JSON ---- */

static void json_side(struct json *json, const char *key, const struct pooling_row *row,
		      const struct pooling_side *side)
{
	json_object(json, key);
	json_number(json, "calls", side->calls);
	json_number(json, "slow", side->slow);
	json_number(json, "cycles", side->cycles);
	json_number(json, "peak_pages", side->peak_pages);
	json_number(json, "end_pages", side->end_pages);
	if (row->used_pages)
		json_number(json, "reclaimable_pages", pooling_reclaimable(row, side));
	json_end(json);
}

static void json_row(struct json *json, const struct pooling_row *row)
{
	json_number(json, "blocks", row->blocks);
	json_number(json, "bytes", row->bytes);
	json_number(json, "most", row->most);
	json_number(json, "pools", row->pools);
	json_number(json, "objects", row->objects);
	json_number(json, "destroyed", row->destroyed);
	json_number(json, "deferred", row->deferred);
	if (row->used_pages)
		json_number(json, "used_pages", row->used_pages);
	json_signed(json, "saved", pooling_saved(row));
	json_side(json, "without", row, &row->without);
	json_side(json, "with", row, &row->with);
}

static void json_pooling(struct ctl *ctl, const struct pooling *p, size_t limit)
{
	const struct pooling_row *t = &p->total;
	struct json *json = &ctl->json;

	json_object_line(json, "constants");
	for (size_t i = 0; i < POOLING_CONSTANTS; i++)
		json_number(json, pooling_constant_list[i].name,
			    pooling_constant_value(&pooling_constant_list[i], &p->constants));
	json_end(json);
	json_number(json, "duration_ns", p->duration);
	json_number(json, "peak_ns", p->peak_time);
	json_number(json, "collected", p->collected);
	json_object_line(json, "cycles");
	json_number(json, "without", pooling_cycles(p, &t->without, t->destroyed));
	json_number(json, "with", pooling_cycles(p, &t->with, t->destroyed));
	json_number(json, "deferred", pooling_cycles(p, &t->with, t->deferred));
	json_end(json);
	json_object_line(json, "total");
	json_row(json, t);
	json_end(json);
	json_array(json, "sizes");
	for (unsigned b = 0; b < PAGES_BUCKETS; b++) {
		json_object_line(json, NULL);
		if (pages_bucket_up_to[b] == UINT64_MAX)
			json_null(json, "up_to");
		else
			json_number(json, "up_to", pages_bucket_up_to[b]);
		json_row(json, &p->buckets[b]);
		json_array(json, "lifetimes");
		for (unsigned l = 0; l < POPULATIONS; l++) {
			json_object(json, NULL);
			json_text(json, "lifetime", population_names[l]);
			json_row(json, &p->groups[b][l]);
			json_end(json);
		}
		json_end(json);
		json_end(json);
	}
	json_end(json);
	json_array(json, "rows");
	for (size_t i = 0; i < limit; i++) {
		json_object_line(json, NULL);
		json_text(json, "type", p->types[i].name);
		json_row(json, &p->types[i]);
		json_end(json);
	}
	json_end(json);
}

struct shiny_err *cmd_pooling(struct ctl *ctl)
{
	struct pooling_constants constants;
	struct pooling pooling;
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = pooling_parse(ctl->options.text[OPT_CONSTANTS], &constants);
	size_t limit;

	if (!err)
		err = ctl_begin(ctl, &store, &filter);
	if (!err)
		err = ctl_loaded(store, &filter,
				 pooling_load(store, &filter, &constants,
					      ctl->options.text[OPT_MATCH],
					      POOLING_TYPES | POOLING_PROGRESS |
						      (ctl->options.given[OPT_FULL_NAMES]
							       ? POOLING_FULL_NAMES
							       : 0),
					      &pooling));
	if (err)
		return err;
	limit = ctl_limit(ctl, pooling.type_count, 30);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_pooling(ctl, &pooling, limit);
	} else {
		print_model(ctl, &pooling);
		print_summary(ctl, &pooling);
		print_best(ctl, &pooling);
		print_groups(ctl, &pooling);
		print_type_rows(ctl, &pooling, limit);
	}
	pooling_deinit(&pooling);
	return ctl_end(ctl, store, "lifetimes --by site");
}
