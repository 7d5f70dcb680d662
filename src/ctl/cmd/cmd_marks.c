/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_marks.c: `shinyctl marks` and `shinyctl mark`: print and set named moments. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../analysis/time/marks.h"
#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../ctl.h"
#include "../sessions.h"

enum { AT, LENGTH, LIVE_BYTES, LIVE, PEAK, ALLOCS, BYTES, FREES, BY, NAME, COLUMNS };
static const struct table_column columns[COLUMNS] = {
	[AT] = { .title = "at", .kind = CELL_TIME },
	[LENGTH] = { .title = "then for", .kind = CELL_TIME, .drop = 2 },
	[LIVE_BYTES] = { .title = "live then", .kind = CELL_BYTES },
	[LIVE] = { .title = "blocks", .kind = CELL_COUNT, .drop = 4 },
	[PEAK] = { .title = "peak since", .kind = CELL_BYTES },
	[ALLOCS] = { .title = "allocs", .kind = CELL_COUNT },
	[BYTES] = { .title = "bytes", .kind = CELL_BYTES, .drop = 1 },
	[FREES] = { .title = "frees", .kind = CELL_COUNT, .drop = 3 },
	[BY] = { .title = "pid", .kind = CELL_RIGHT, .drop = 5 },
	[NAME] = { .title = "mark",
		   .kind = CELL_TEXT,
		   .flexible = true,
		   .cut = TEXT_CUT_END,
		   .tint = TINT_NAME },
};

/* Returns a mark's name for --between, with its number if several marks have the name. */
static char *name_of(const struct marks *marks, size_t at)
{
	size_t before = 0, all = 0;

	for (size_t i = 1; i < marks->count; i++)
		if (strcmp(marks->rows[i].name, marks->rows[at].name) == 0) {
			all++;
			before += i <= at;
		}
	return all > 1 ? mem_format("%s#%zu", marks->rows[at].name, before)
		       : mem_text(marks->rows[at].name);
}

static void print(struct ctl *ctl, const struct marks *marks, size_t limit)
{
	struct table table;

	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < limit; i++) {
		const struct mark_row *row = &marks->rows[i];
		char *name = row->name ? name_of(marks, i) : mem_text("(start)"), pid[16];

		table_row(&table);
		table_number(&table, AT, row->time);
		table_number(&table, LENGTH, row->length);
		if (marks->counted) {
			table_number(&table, LIVE_BYTES, row->live_bytes);
			table_number(&table, LIVE, row->live);
			table_number(&table, PEAK, row->peak_bytes);
			table_number(&table, ALLOCS, row->allocs);
			table_number(&table, BYTES, row->bytes);
			table_number(&table, FREES, row->frees);
		}
		snprintf(pid, sizeof(pid), "%" PRIu32, row->pid);
		if (row->pid)
			table_text(&table, BY, pid);
		table_text(&table, NAME, name);
		free(name);
	}
	table_print(&table, &ctl->style);
	ctl_more(ctl, limit, marks->count);
	table_deinit(&table);
	if (marks->counted)
		fprintf(ctl->style.out, "\nat the end %s live in %s\n",
			units_bytes(UNITS_BUF, marks->live_bytes),
			units_noun(UNITS_NOUN_BUF, marks->live, "block"));
	if (marks->count == 1)
		fprintf(ctl->style.out,
			"no mark was set: a program sets them with shiny.h, `shinyctl "
			"mark` from outside\n");
}

static void json_rows(struct json *json, const struct marks *marks, size_t limit)
{
	json_array(json, "rows");
	for (size_t i = 0; i < limit; i++) {
		const struct mark_row *row = &marks->rows[i];

		json_object_line(json, NULL);
		json_text(json, "name", row->name);
		json_number(json, "process", row->process);
		json_number(json, "pid", row->pid);
		json_number(json, "tid", row->tid);
		json_number(json, "at_ns", row->time);
		json_number(json, "length_ns", row->length);
		if (marks->counted) {
			json_number(json, "live", row->live);
			json_number(json, "live_bytes", row->live_bytes);
			json_number(json, "peak_bytes", row->peak_bytes);
			json_number(json, "allocs", row->allocs);
			json_number(json, "bytes", row->bytes);
			json_number(json, "frees", row->frees);
		}
		json_end(json);
	}
	json_end(json);
	if (marks->counted) {
		json_number(json, "live", marks->live);
		json_number(json, "live_bytes", marks->live_bytes);
	}
}

struct shiny_err *cmd_marks(struct ctl *ctl)
{
	struct marks marks;
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = ctl_begin(ctl, &store, &filter);
	size_t limit;

	if (!err)
		err = ctl_loaded(store, &filter, marks_load(store, &filter, true, &marks));
	if (err)
		return err;
	limit = ctl_limit(ctl, marks.count, 0);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_rows(&ctl->json, &marks, limit);
	} else {
		print(ctl, &marks, limit);
	}
	marks_deinit(&marks);
	return ctl_end(ctl, store, "lifetimes --between FROM..TO");
}

struct shiny_err *cmd_mark(struct ctl *ctl)
{
	const char *name = ctl->options.operands[1];
	char directory[SESSIONS_PATH];
	bool taken = false;
	struct shiny_err *err =
		sessions_named(ctl->options.operands[0], verbs[ctl->options.verb].name, directory);

	if (!err)
		err = sessions_mark(directory, name, &taken);
	if (!err)
		text_line(ctl->style.out,
			  taken ? "mark '%s' is set in %s"
				: "mark '%s' waits in %s for its sidecar",
			  name, directory);
	return err;
}
