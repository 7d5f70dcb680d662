/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_sizes.c: `shinyctl sizes`: prints block sizes, the room that allocators take for them, and
 * lifetimes by size. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analysis/space/sizes.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../ctl.h"

enum { EXTREMES = 5 };
enum by { BY_CLASS, BY_TYPE, BY_SITE }; /* in the order of options.def */

static const struct sizes_rows *rows_of(const struct sizes *s, enum by by)
{
	return by == BY_CLASS ? &s->classes : by == BY_TYPE ? &s->types : &s->sites;
}

/* ---- text ---- */

static void print_total(const struct ctl *ctl, const struct sizes *s)
{
	const struct size_sums *t = &s->total.sums;

	fprintf(ctl->style.out, "%s, %s asked for, %s usable: slop %s, %s of it\n",
		units_noun(UNITS_NOUN_BUF, t->blocks, "block"), units_bytes(UNITS_BUF, t->bytes),
		units_bytes(UNITS_BUF, t->usable), units_bytes(UNITS_BUF, size_slop(t)),
		units_share(UNITS_BUF, (double)size_slop(t), (double)t->usable));
	fprintf(ctl->style.out,
		"live at the end: %s, %s asked for, slop %s, %s of what is usable\n",
		units_noun(UNITS_NOUN_BUF, t->live, "block"), units_bytes(UNITS_BUF, t->live_bytes),
		units_bytes(UNITS_BUF, size_live_slop(t)),
		units_share(UNITS_BUF, (double)size_live_slop(t), (double)t->live_usable));
	if (s->aligned)
		fprintf(ctl->style.out,
			"%s%s asked for an alignment, which is not recorded: they may take "
			"more%s\n",
			tint(&ctl->style, TINT_DIM),
			units_noun(UNITS_NOUN_BUF, s->aligned, "block"),
			tint_end(&ctl->style, TINT_DIM));
	if (s->allocators[SIZE_UNKNOWN].sums.blocks)
		fprintf(ctl->style.out,
			"%s%s %s from an allocator that is not known: their slop is not "
			"counted%s\n",
			tint(&ctl->style, TINT_DIM),
			units_noun(UNITS_NOUN_BUF, s->allocators[SIZE_UNKNOWN].sums.blocks,
				   "block"),
			units_form(s->allocators[SIZE_UNKNOWN].sums.blocks, "is", "are"),
			tint_end(&ctl->style, TINT_DIM));
}

static void print_allocators(struct ctl *ctl, const struct sizes *s)
{
	enum { BLOCKS, BYTES, USABLE, SLOTS, SLOP, SHARE, LIVE_SLOP, NAME, ALLOCATOR_COLUMNS };
	static const struct table_column allocators[ALLOCATOR_COLUMNS] = {
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
		[BYTES] = { .title = "asked for", .kind = CELL_BYTES },
		[USABLE] = { .title = "usable", .kind = CELL_BYTES },
		[SLOTS] = { .title = "slots", .kind = CELL_BYTES, .drop = 1 },
		[SLOP] = { .title = "slop", .kind = CELL_BYTES },
		[SHARE] = { .title = "share", .kind = CELL_TEXT },
		[LIVE_SLOP] = { .title = "live slop", .kind = CELL_BYTES },
		[NAME] = { .title = "allocator", .kind = CELL_TEXT, .tint = TINT_NAME },
	};
	struct table table;

	table_init(&table, allocators, ALLOCATOR_COLUMNS);
	for (unsigned i = 0; i < SIZE_ALLOCATORS; i++) {
		const struct size_sums *sums = &s->allocators[i].sums;

		if (!sums->blocks && !sums->live)
			continue;
		table_row(&table);
		table_number(&table, BLOCKS, sums->blocks);
		table_number(&table, BYTES, sums->bytes);
		table_number(&table, USABLE, sums->usable);
		table_number(&table, SLOTS, sums->slots);
		table_number(&table, SLOP, size_slop(sums));
		table_text(&table, SHARE,
			   units_share(UNITS_BUF, (double)size_slop(sums), (double)sums->usable));
		table_number(&table, LIVE_SLOP, size_live_slop(sums));
		table_text(&table, NAME, size_allocator_names[i]);
	}
	fputc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

static const char *correlation_text(double r)
{
	return fabs(r) < 0.1 ? "the one says next to nothing about the other"
	       : r > 0.3     ? "larger blocks live longer"
	       : r > 0	     ? "larger blocks live slightly longer"
	       : r > -0.3    ? "larger blocks live slightly shorter"
			     : "larger blocks live shorter";
}

/* Prints F8: lifetime by size. */
static void print_octaves(struct ctl *ctl, const struct sizes *s)
{
	enum {
		UP_TO,
		BLOCKS,
		BAR,
		BYTES,
		SLOP,
		LIVE,
		GEOMETRIC,
		P50,
		P90,
		PERSISTENT,
		OCTAVE_COLUMNS
	};
	static const struct table_column octaves[OCTAVE_COLUMNS] = {
		[UP_TO] = { .title = "size \xe2\x89\xa4", .kind = CELL_BYTES },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
		[BAR] = { .title = "", .kind = CELL_BAR, .drop = 4, .tint = TINT_GOOD },
		[BYTES] = { .title = "asked for", .kind = CELL_BYTES },
		[SLOP] = { .title = "slop", .kind = CELL_BYTES, .drop = 2 },
		[LIVE] = { .title = "live slop", .kind = CELL_BYTES, .drop = 3 },
		[GEOMETRIC] = { .title = "lived, geo mean", .kind = CELL_TIME },
		[P50] = { .title = "p50", .kind = CELL_TIME },
		[P90] = { .title = "p90", .kind = CELL_TIME, .drop = 1 },
		[PERSISTENT] = { .title = "never ended", .kind = CELL_COUNT },
	};
	struct table table;

	table_init(&table, octaves, OCTAVE_COLUMNS);
	table_total(&table, BAR, s->total.sums.blocks);
	for (unsigned i = 0; i < SIZES_OCTAVES; i++) {
		const struct sizes_octave *o = &s->octaves[i];

		if (!o->sums.blocks)
			continue;
		table_row(&table);
		table_number(&table, UP_TO, o->up_to);
		table_number(&table, BLOCKS, o->sums.blocks);
		table_number(&table, BAR, o->sums.blocks);
		table_number(&table, BYTES, o->sums.bytes);
		table_number(&table, SLOP, size_slop(&o->sums));
		table_number(&table, LIVE, size_live_slop(&o->sums));
		if (o->ages.ended) {
			table_number(&table, GEOMETRIC,
				     (uint64_t)distribution_geometric_mean(&o->ages));
			table_number(&table, P50, distribution_quantile(&o->ages, 0.5));
			table_number(&table, P90, distribution_quantile(&o->ages, 0.9));
		}
		table_number(&table, PERSISTENT, o->ages.censored);
	}
	fputc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	table_deinit(&table);
	if (isfinite(s->correlation))
		fprintf(ctl->style.out,
			"%ssize and lifetime, correlation of their logarithms: %+.2f: %s%s\n",
			tint(&ctl->style, TINT_DIM), s->correlation,
			correlation_text(s->correlation), tint_end(&ctl->style, TINT_DIM));
}

/* Prints the types of the smallest blocks; or those of the largest that are not among them. */
static void print_extremes(struct ctl *ctl, const struct sizes *s, bool largest)
{
	enum { MEAN, BLOCKS, BYTES, GEOMETRIC, NAME, EXTREME_COLUMNS };
	const struct table_column extremes[EXTREME_COLUMNS] = {
		[MEAN] = { .title = "mean size", .kind = CELL_BYTES },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
		[BYTES] = { .title = "asked for", .kind = CELL_BYTES },
		[GEOMETRIC] = { .title = "lived, geo mean", .kind = CELL_TIME, .drop = 1 },
		[NAME] = { largest ? "largest types" : "smallest types", CELL_TEXT, true,
			   TEXT_CUT_MIDDLE, 0, TINT_NAME },
	};
	const struct sizes_row *smallest[EXTREMES], *rows[EXTREMES];
	size_t small = sizes_extremes(s, false, EXTREMES, smallest),
	       count = sizes_extremes(s, largest, EXTREMES, rows);
	struct table table;

	table_init(&table, extremes, EXTREME_COLUMNS);
	for (size_t i = 0; i < count; i++) {
		bool shown = false;

		for (size_t k = 0; k < small; k++)
			shown |= largest && rows[i] == smallest[k];
		if (shown)
			continue;
		table_row(&table);
		table_number(&table, MEAN, rows[i]->sums.bytes / rows[i]->sums.blocks);
		table_number(&table, BLOCKS, rows[i]->sums.blocks);
		table_number(&table, BYTES, rows[i]->sums.bytes);
		if (rows[i]->ended)
			table_number(&table, GEOMETRIC, (uint64_t)sizes_geometric_mean(rows[i]));
		table_text(&table, NAME, rows[i]->name);
	}
	if (table.rows) {
		fputc('\n', ctl->style.out);
		table_print(&table, &ctl->style);
	}
	table_deinit(&table);
}

static void print_rows(struct ctl *ctl, const struct sizes *s, enum by by, size_t limit)
{
	enum {
		LIVE_SLOP,
		LIVE,
		SLOP,
		SHARE,
		BLOCKS,
		BYTES,
		LEAST,
		MOST,
		GEOMETRIC,
		PERSISTENT,
		NAME,
		COLUMNS
	};
	static const char *const titles[] = {"size class", "type", "site"};
	const struct table_column columns[COLUMNS] = {
		[LIVE_SLOP] = { .title = "live slop", .kind = CELL_BYTES },
		[LIVE] = { .title = "live", .kind = CELL_COUNT },
		[SLOP] = { .title = "slop", .kind = CELL_BYTES },
		[SHARE] = { .title = "share", .kind = CELL_TEXT, .drop = 1 },
		[BLOCKS] = { .title = "blocks", .kind = CELL_COUNT },
		[BYTES] = { .title = "asked for", .kind = CELL_BYTES, .drop = 2 },
		[LEAST] = { .title = "least", .kind = CELL_BYTES, .drop = 5 },
		[MOST] = { .title = "most", .kind = CELL_BYTES, .drop = 5 },
		[GEOMETRIC] = { .title = "lived, geo mean", .kind = CELL_TIME, .drop = 3 },
		[PERSISTENT] = { .title = "never ended", .kind = CELL_COUNT, .drop = 4 },
		[NAME] = { titles[by], CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	};
	const struct sizes_rows *rows = rows_of(s, by);
	struct table table;

	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < limit; i++) {
		const struct sizes_row *row = &rows->rows[i];

		table_row(&table);
		table_number(&table, LIVE_SLOP, size_live_slop(&row->sums));
		table_number(&table, LIVE, row->sums.live);
		table_number(&table, SLOP, size_slop(&row->sums));
		table_text(&table, SHARE,
			   units_share(UNITS_BUF, (double)size_slop(&row->sums),
				       (double)row->sums.usable));
		table_number(&table, BLOCKS, row->sums.blocks);
		table_number(&table, BYTES, row->sums.bytes);
		if (row->sums.blocks) {
			table_number(&table, LEAST, row->least);
			table_number(&table, MOST, row->most);
		}
		if (row->ended)
			table_number(&table, GEOMETRIC, (uint64_t)sizes_geometric_mean(row));
		table_number(&table, PERSISTENT, row->persistent);
		table_text(&table, NAME, row->name);
	}
	fputc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, rows->count);
	table_deinit(&table);
}

/* ---- JSON ---- */

static void json_sizes_sums(struct json *json, const struct size_sums *sums)
{
	json_number(json, "blocks", sums->blocks);
	json_number(json, "bytes", sums->bytes);
	json_number(json, "usable", sums->usable);
	json_number(json, "slop", size_slop(sums));
	json_number(json, "slots", sums->slots);
	json_number(json, "live", sums->live);
	json_number(json, "live_bytes", sums->live_bytes);
	json_number(json, "live_usable", sums->live_usable);
	json_number(json, "live_slop", size_live_slop(sums));
	json_number(json, "live_slots", sums->live_slots);
}

static void json_row(struct json *json, const struct sizes_row *row)
{
	json_sizes_sums(json, &row->sums);
	json_number(json, "least", row->least);
	json_number(json, "most", row->most);
	json_number(json, "ended", row->ended);
	json_number(json, "persistent", row->persistent);
	json_real(json, "geometric_mean_ns", sizes_geometric_mean(row));
}

static void json_extremes(struct json *json, const struct sizes *s, const char *key, bool largest)
{
	const struct sizes_row *rows[EXTREMES];
	size_t count = sizes_extremes(s, largest, EXTREMES, rows);

	json_array(json, key);
	for (size_t i = 0; i < count; i++) {
		json_object_line(json, NULL);
		json_text(json, "name", rows[i]->name);
		json_row(json, rows[i]);
		json_end(json);
	}
	json_end(json);
}

static void json_sizes(struct ctl *ctl, const struct sizes *s, enum by by, size_t limit)
{
	const struct sizes_rows *rows = rows_of(s, by);
	struct json *json = &ctl->json;

	json_number(json, "duration_ns", s->duration);
	json_number(json, "aligned", s->aligned);
	json_real(json, "correlation", s->correlation);
	json_object_line(json, "total");
	json_row(json, &s->total);
	json_end(json);
	json_array(json, "allocators");
	for (unsigned i = 0; i < SIZE_ALLOCATORS; i++) {
		if (!s->allocators[i].sums.blocks && !s->allocators[i].sums.live)
			continue;
		json_object_line(json, NULL);
		json_text(json, "name", size_allocator_names[i]);
		json_row(json, &s->allocators[i]);
		json_end(json);
	}
	json_end(json);
	json_array(json, "sizes");
	for (unsigned i = 0; i < SIZES_OCTAVES; i++) {
		const struct sizes_octave *o = &s->octaves[i];

		if (!o->sums.blocks)
			continue;
		json_object_line(json, NULL);
		json_number(json, "up_to", o->up_to);
		json_sizes_sums(json, &o->sums);
		json_number(json, "ended", o->ages.ended);
		json_number(json, "persistent", o->ages.censored);
		json_real(json, "geometric_mean_ns", distribution_geometric_mean(&o->ages));
		json_number(json, "p50_ns", distribution_quantile(&o->ages, 0.5));
		json_number(json, "p90_ns", distribution_quantile(&o->ages, 0.9));
		json_end(json);
	}
	json_end(json);
	json_extremes(json, s, "smallest", false);
	json_extremes(json, s, "largest", true);
	json_array(json, "rows");
	for (size_t i = 0; i < limit; i++) {
		json_object_line(json, NULL);
		json_text(json, "name", rows->rows[i].name);
		if (by == BY_CLASS) {
			json_text(json, "allocator", size_allocator_names[rows->rows[i].allocator]);
			json_number(json, "slot", rows->rows[i].slot);
			json_bool(json, "mapped", rows->rows[i].mapped);
		}
		json_row(json, &rows->rows[i]);
		json_end(json);
	}
	json_end(json);
}

struct shiny_err *cmd_sizes(struct ctl *ctl)
{
	enum by by = (enum by)ctl->options.number[OPT_SIZES_BY];
	enum sizes_order order = (enum sizes_order)ctl->options.number[OPT_SIZES_SORT];
	struct sizes sizes;
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);
	size_t limit;

	if (!err)
		err = ctl_loaded(store, &filter,
				 sizes_load(store, &filter, ctl->options.text[OPT_MATCH], order,
					    ctl->options.given[OPT_FULL_NAMES], true, &sizes));
	if (err)
		return err;
	limit = ctl_limit(ctl, rows_of(&sizes, by)->count, 30);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_sizes(ctl, &sizes, by, limit);
	} else {
		print_total(ctl, &sizes);
		print_allocators(ctl, &sizes);
		print_octaves(ctl, &sizes);
		print_extremes(ctl, &sizes, false);
		print_extremes(ctl, &sizes, true);
		print_rows(ctl, &sizes, by, limit);
	}
	sizes_deinit(&sizes);
	return ctl_end(ctl, store, by == BY_SITE ? "pooling" : "sizes --by site");
}
