/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_browser.c: `shinyctl browser`: compares Chromium's own memory figures with the recording. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../analysis/totals/browser.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../ctl.h"

enum { USUAL_ROWS = 20 };
enum { NAME, THEIR_BYTES, OUR_BYTES, BYTES_OFF, THEIR_OBJECTS, OUR_OBJECTS, OBJECTS_OFF, COLUMNS };
static const struct table_column columns[COLUMNS] = {
	[NAME] = { "", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[THEIR_BYTES] = { .title = "browser", .kind = CELL_BYTES },
	[OUR_BYTES] = { .title = "shiny", .kind = CELL_BYTES },
	[BYTES_OFF] = { .title = "off", .kind = CELL_TEXT, .drop = 2, .tint = TINT_DIM },
	[THEIR_OBJECTS] = { .title = "objects", .kind = CELL_COUNT },
	[OUR_OBJECTS] = { .title = "shiny", .kind = CELL_COUNT },
	[OBJECTS_OFF] = { .title = "off", .kind = CELL_TEXT, .drop = 1, .tint = TINT_DIM },
};

static void print_off(struct table *table, size_t column, uint64_t theirs, uint64_t ours)
{
	char text[32];

	if (!theirs)
		return;
	snprintf(text, sizeof(text), "%+.1f %%",
		 100 * ((double)ours - (double)theirs) / (double)theirs);
	table_text(table, column, theirs == ours ? "=" : text);
}

static void print_row(struct table *table, const struct browser_row *row)
{
	char *name = mem_format("  %s", *row->name ? row->name : row->kind);

	table_row(table);
	table_text(table, NAME, name);
	if (row->is_theirs) {
		table_number(table, THEIR_BYTES, row->theirs.bytes);
		if (row->theirs.objects)
			table_number(table, THEIR_OBJECTS, row->theirs.objects);
	}
	if (row->is_ours) {
		table_number(table, OUR_BYTES, row->ours.bytes);
		table_number(table, OUR_OBJECTS, row->ours.objects);
	}
	if (row->is_ours && row->is_theirs) {
		print_off(table, BYTES_OFF, row->theirs.bytes, row->ours.bytes);
		print_off(table, OBJECTS_OFF, row->theirs.objects, row->ours.objects);
	}
	free(name);
}

static void print_dump(struct ctl *ctl, const struct browser_sample *sample)
{
	struct table table;

	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < sample->count; i++)
		print_row(&table, &sample->rows[i]);
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

/* Prints the rows of a snapshot that are collected C++ objects (`native`), or the others. */
static void print_objects(struct ctl *ctl, const struct browser_sample *sample, bool native)
{
	size_t count = 0, shown = 0, limit;
	struct table table;

	for (size_t i = 0; i < sample->count; i++)
		count += (strcmp(sample->rows[i].kind, "native") == 0) == native;
	if (!count)
		return;
	limit = ctl_limit(ctl, count, USUAL_ROWS);
	fprintf(ctl->style.out, "%s%s%s\n", tint(&ctl->style, TINT_BOLD),
		native ? "garbage-collected C++ objects (Oilpan)" : "V8's objects",
		tint_end(&ctl->style, TINT_BOLD));
	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < sample->count && shown < limit; i++) {
		const struct browser_row *row = &sample->rows[i];

		if ((strcmp(row->kind, "native") == 0) != native)
			continue;
		if (native || !*row->name) {
			print_row(&table, row);
		} else {
			struct browser_row with_kind = *row;

			with_kind.name = mem_format("%s %s", row->kind, row->name);
			print_row(&table, &with_kind);
			free(with_kind.name);
		}
		shown++;
	}
	table_print(&table, &ctl->style);
	table_deinit(&table);
	ctl_more(ctl, shown, count);
}

/* Prints how many types and objects both sides have, and for how many types their numbers agree. */
static void print_agreement(struct ctl *ctl, const struct browser_sample *sample)
{
	uint64_t types = 0, equal = 0, theirs = 0, ours = 0;

	for (size_t i = 0; i < sample->count; i++) {
		const struct browser_row *row = &sample->rows[i];

		if (!row->is_ours || !row->is_theirs)
			continue;
		types++;
		equal += row->ours.objects == row->theirs.objects;
		theirs += row->theirs.objects;
		ours += row->ours.objects;
	}
	if (types)
		fprintf(ctl->style.out,
			"%s%s %s known to both: %s in the browser, %s here; of %s the number is "
			"the same%s\n",
			tint(&ctl->style, TINT_DIM), units_noun(UNITS_NOUN_BUF, types, "type"),
			units_form(types, "is", "are"),
			units_noun(UNITS_NOUN_BUF, theirs, "object"), units_count(UNITS_BUF, ours),
			units_noun(UNITS_NOUN_BUF, equal, "type"), tint_end(&ctl->style, TINT_DIM));
}

static void print(struct ctl *ctl, const struct browser *browser)
{
	struct style *style = &ctl->style;

	for (size_t i = 0; i < browser->count; i++) {
		const struct browser_sample *sample = &browser->samples[i];

		fprintf(style->out, "%s%s, %s%s, pid %u%s: %s %.2f s after the start\n",
			tint(style, TINT_BOLD), sample->title,
			sample->snapshot ? "heap snapshot" : "memory dump",
			tint_end(style, TINT_BOLD), sample->pid,
			sample->process ? "" : " (not in the session)",
			sample->snapshot ? "taken" : "counted", (double)sample->time / 1e9);
		if (sample->snapshot) {
			print_objects(ctl, sample, true);
			print_agreement(ctl, sample);
			print_objects(ctl, sample, false);
		} else {
			print_dump(ctl, sample);
		}
		putc('\n', style->out);
	}
	if (!browser->count)
		fputs("the browser was not asked: record with shinyctl run --devtools\n",
		      style->out);
	else
		fprintf(style->out,
			"%s%s in memory dumps and %s in all; --at shows earlier ones%s%s\n",
			tint(style, TINT_DIM),
			units_noun(UNITS_NOUN_BUF, browser->dumps, "process count"),
			units_noun(UNITS_NOUN_BUF, browser->snapshots, "heap snapshot"),
			browser->compared ? "" : "; the session has no events to compare them with",
			tint_end(style, TINT_DIM));
}

static void json_side(struct json *json, bool known, const char *objects, const char *bytes,
		      const struct browser_side *side)
{
	if (known) {
		json_number(json, objects, side->objects);
		json_number(json, bytes, side->bytes);
	} else {
		json_null(json, objects);
		json_null(json, bytes);
	}
}

static void json_sample(struct json *json, const struct browser_sample *sample)
{
	json_object(json, NULL);
	json_number(json, "id", sample->id);
	json_number(json, "process", sample->process);
	json_number(json, "pid", sample->pid);
	json_bool(json, "snapshot", sample->snapshot);
	json_number(json, "at_ns", sample->time);
	json_text(json, "title", sample->title);
	json_array(json, "rows");
	for (size_t i = 0; i < sample->count; i++) {
		const struct browser_row *row = &sample->rows[i];

		json_object_line(json, NULL);
		json_text(json, "name", row->name);
		json_text(json, "kind", row->kind);
		json_side(json, row->is_theirs, "browser_objects", "browser_bytes", &row->theirs);
		json_side(json, row->is_ours, "objects", "bytes", &row->ours);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

struct shiny_err *cmd_browser(struct ctl *ctl)
{
	const char *at = ctl->options.text[OPT_BROWSER_AT];
	struct browser browser = { 0 };
	struct filter filter = { 0 };
	uint64_t until = UINT64_MAX;
	struct store *store;
	struct shiny_err *err;

	if (strcmp(at, "last") != 0 && !units_parse_time(at, &until))
		return shiny_err(
			SHINY_ERR_USAGE,
			"browser: --at %s: not last or a time such as 2.5s since the start", at);
	err = ctl_begin(ctl, &store, &filter);
	if (!err)
		err = ctl_loaded(store, &filter,
				 browser_load(store, &filter, until, ctl->options.text[OPT_MATCH],
					      &browser));
	if (err)
		return err;
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_number(&ctl->json, "dumps", browser.dumps);
		json_number(&ctl->json, "snapshots", browser.snapshots);
		json_bool(&ctl->json, "compared", browser.compared);
		json_array(&ctl->json, "samples");
		for (size_t i = 0; i < browser.count; i++)
			json_sample(&ctl->json, &browser.samples[i]);
		json_end(&ctl->json);
	} else {
		print(ctl, &browser);
	}
	browser_deinit(&browser);
	return ctl_end(ctl, store, "types");
}
