/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_objects.c: `shinyctl objects`: counts objects by class from constructors and destructors,
 * with places and ends. */
#include <inttypes.h>
#include <stdlib.h>

#include "../../analysis/attribute/constructed.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../ctl.h"

enum {
	SHARE,
	BUILT,
	ENDED,
	START,
	INSIDE,
	STACK,
	STATIC,
	ELSEWHERE,
	DESTROYED,
	REUSED,
	FREED,
	PERSISTENT,
	BYTES,
	UNSEEN,
	NAME,
	COLUMNS
};
static const struct table_column columns[COLUMNS] = {
	[NAME] = { "class", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[SHARE] = { .title = "share", .kind = CELL_SHARE, .drop = 8 },
	[BUILT] = { .title = "constructed", .kind = CELL_COUNT },
	[ENDED] = { .title = "destructed", .kind = CELL_COUNT },
	[START] = { .title = "blocks", .kind = CELL_COUNT, .drop = 4 },
	[INSIDE] = { .title = "inside", .kind = CELL_COUNT, .drop = 4 },
	[STACK] = { .title = "stack", .kind = CELL_COUNT, .drop = 4 },
	[STATIC] = { .title = "static", .kind = CELL_COUNT, .drop = 6 },
	[ELSEWHERE] = { .title = "elsewhere", .kind = CELL_COUNT, .drop = 7 },
	[DESTROYED] = { .title = "D", .kind = CELL_COUNT, .drop = 2 },
	[REUSED] = { .title = "R", .kind = CELL_COUNT, .drop = 2 },
	[FREED] = { .title = "freed", .kind = CELL_COUNT, .drop = 3 },
	[PERSISTENT] = { .title = "P", .kind = CELL_COUNT, .drop = 2 },
	[BYTES] = { .title = "size", .kind = CELL_BYTES, .drop = 5 },
	[UNSEEN] = { .title = "unseen", .kind = CELL_TEXT, .drop = 1, .tint = TINT_WARN },
};

/* Returns the parts of the class that are not recorded, as text. */
static char *unseen_text(const struct constructed_row *r)
{
	const char *none = r->constructors ? "" : ", no constructor";

	if (r->inlined > 0 && r->unpatched)
		return mem_format("%" PRId64 " inlined, %" PRIu64 " unpatched%s", r->inlined,
				  r->unpatched, none);
	if (r->inlined > 0)
		return mem_format("%" PRId64 " inlined%s", r->inlined, none);
	if (r->unpatched)
		return mem_format("%" PRIu64 " unpatched%s", r->unpatched, none);
	return mem_text(!r->constructors ? "no constructor" : r->inlined < 0 ? "?" : "");
}

static void print(struct ctl *ctl, const struct constructed *c, size_t limit)
{
	const struct constructed_row *t = &c->total;
	struct table table;

	fprintf(ctl->style.out, "%s, %s, %s, %s\n",
		units_noun(UNITS_NOUN_BUF, c->allocations, "allocation"),
		units_noun(UNITS_NOUN_BUF, c->deallocations, "deallocation"),
		units_noun(UNITS_NOUN_BUF, t->constructions, "construction"),
		units_noun(UNITS_NOUN_BUF, t->destructions, "destruction"));
	fprintf(ctl->style.out,
		"  of the objects constructed, %s began a block, %s lay inside one, %s on the "
		"stack, %s in static data, %s elsewhere\n",
		units_count(UNITS_BUF, t->places[PLACE_START]),
		units_count(UNITS_BUF, t->places[PLACE_INSIDE]),
		units_count(UNITS_BUF, t->places[PLACE_STACK]),
		units_count(UNITS_BUF, t->places[PLACE_STATIC]),
		units_count(UNITS_BUF, t->places[PLACE_ELSEWHERE]));
	fprintf(ctl->style.out,
		"  destroyed (D) %s, constructed over (R) %s, freed with their block %s, "
		"persistent (P) %s\n",
		units_count(UNITS_BUF, t->destroyed), units_count(UNITS_BUF, t->reused),
		units_count(UNITS_BUF, t->freed), units_count(UNITS_BUF, t->persistent));
	table_init(&table, columns, COLUMNS);
	table_total(&table, SHARE, t->constructions);
	for (size_t i = 0; i < limit; i++) {
		const struct constructed_row *r = &c->rows[i];
		char *unseen = unseen_text(r);

		table_row(&table);
		table_text(&table, NAME, r->name);
		table_number(&table, SHARE, r->constructions);
		table_number(&table, BUILT, r->constructions);
		table_number(&table, ENDED, r->destructions);
		table_number(&table, START, r->places[PLACE_START]);
		table_number(&table, INSIDE, r->places[PLACE_INSIDE]);
		table_number(&table, STACK, r->places[PLACE_STACK]);
		table_number(&table, STATIC, r->places[PLACE_STATIC]);
		table_number(&table, ELSEWHERE, r->places[PLACE_ELSEWHERE]);
		table_number(&table, DESTROYED, r->destroyed);
		table_number(&table, REUSED, r->reused);
		table_number(&table, FREED, r->freed);
		table_number(&table, PERSISTENT, r->persistent);
		if (r->bytes)
			table_number(&table, BYTES, r->bytes);
		table_text(&table, UNSEEN, unseen);
		free(unseen);
	}
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, c->count);
	table_deinit(&table);
}

static void json_row(struct json *json, const struct constructed_row *r)
{
	json_number(json, "constructions", r->constructions);
	json_number(json, "delegated", r->delegated);
	json_number(json, "destructions", r->destructions);
	for (int i = 0; i < PLACES; i++)
		json_number(json, constructed_place_names[i], r->places[i]);
	json_number(json, "fitting", r->fitting);
	json_number(json, "destroyed", r->destroyed);
	json_number(json, "reused", r->reused);
	json_number(json, "freed", r->freed);
	json_number(json, "persistent", r->persistent);
	json_number(json, "inherited", r->inherited);
	json_number(json, "stray", r->stray);
	json_number(json, "constructors", r->constructors);
	json_number(json, "destructors", r->destructors);
	json_number(json, "unpatched", r->unpatched);
	if (r->inlined >= 0)
		json_number(json, "inlined", (uint64_t)r->inlined);
	else
		json_null(json, "inlined");
}

static void json_all(struct json *json, const struct constructed *c, size_t limit)
{
	json_number(json, "allocations", c->allocations);
	json_number(json, "deallocations", c->deallocations);
	json_object(json, "total");
	json_row(json, &c->total);
	json_end(json);
	json_array(json, "rows");
	for (size_t i = 0; i < limit; i++) {
		json_object_line(json, NULL);
		json_text(json, "name", c->rows[i].name);
		json_number(json, "class_bytes", c->rows[i].bytes);
		json_row(json, &c->rows[i]);
		json_end(json);
	}
	json_end(json);
}

struct shiny_err *cmd_objects(struct ctl *ctl)
{
	struct constructed constructed;
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);
	size_t limit;

	if (!err)
		err = ctl_loaded(store, &filter,
				 constructed_load(store, &filter, ctl->options.text[OPT_MATCH],
						  true, &constructed));
	if (err)
		return err;
	limit = ctl_limit(ctl, constructed.count, 30);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_all(&ctl->json, &constructed, limit);
	} else {
		print(ctl, &constructed, limit);
	}
	constructed_deinit(&constructed);
	return ctl_end(ctl, store, "types");
}
