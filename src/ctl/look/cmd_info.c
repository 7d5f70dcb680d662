/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_info.c: `shinyctl info`: prints the facts of a session file itself. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../../analysis/totals/session_facts.h"
#include "../../base/cleanup.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../verb_body.h"

/* Calls `each` with every row of `fact`. */
typedef void row_fn(struct ctl *ctl, const struct query *q);
static struct shiny_err *each_row(struct ctl *ctl, struct store *store, enum session_fact fact,
				  row_fn *each)
{
	struct query *q = NULL;
	struct shiny_err *err = session_fact_rows(store, fact, &q);

	QUERY_EACH (q, err)
		each(ctl, q);
	query_end(q);
	return err;
}

static void key_row(struct ctl *ctl, const struct query *q)
{
	const char *key = query_text(q, 0);
	bool number = strcmp(query_text(q, 2), "integer") == 0;
	size_t length = strlen(key);

	if (CTL_JSON(ctl)) {
		if (number)
			json_signed(&ctl->json, key, query_number(q, 1));
		else
			json_text(&ctl->json, key, query_text(q, 1));
		return;
	}
	fprintf(ctl->style.out, "  %-24s", key);
	if (strcmp(key, "started_ns") == 0 && number) {
		time_t seconds = (time_t)(query_number(q, 1) / 1000000000);
		char when[64];
		struct tm tm;

		if (localtime_r(&seconds, &tm) &&
		    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %z", &tm)) {
			fprintf(ctl->style.out, "%s\n", when);
			return;
		}
	}
	if (number && length > 3 && strcmp(key + length - 3, "_ns") == 0 &&
	    query_number(q, 1) < INT64_C(1000000000000000))
		fprintf(ctl->style.out, "%s\n",
			units_time(UNITS_BUF, (uint64_t)query_number(q, 1)));
	else if (number && length > 5 && strcmp(key + length - 5, "bytes") == 0)
		fprintf(ctl->style.out, "%s\n",
			units_bytes(UNITS_BUF, (uint64_t)query_number(q, 1)));
	else
		fprintf(ctl->style.out, "%s\n", query_text(q, 1));
}

static void note_row(struct ctl *ctl, const struct query *q)
{
	if (CTL_JSON(ctl)) {
		json_object_line(&ctl->json, NULL);
		json_signed(&ctl->json, "process", query_number(q, 0));
		json_text(&ctl->json, "text", query_text(q, 2));
		json_end(&ctl->json);
	} else if (*query_text(q, 1)) {
		fprintf(ctl->style.out, "  %s (id:%" PRId64 "): %s\n", query_text(q, 1),
			query_number(q, 0), query_text(q, 2));
	} else {
		fprintf(ctl->style.out, "  %s\n", query_text(q, 2));
	}
}

static void unrecorded_row(struct ctl *ctl, const struct query *q)
{
	if (CTL_JSON(ctl)) {
		json_object_line(&ctl->json, NULL);
		json_text(&ctl->json, "name", query_text(q, 0));
		json_signed(&ctl->json, "count", query_number(q, 1));
		json_text(&ctl->json, "text", query_text(q, 2));
		json_end(&ctl->json);
	} else {
		fprintf(ctl->style.out, "  %15s  %s: %s\n",
			units_count(UNITS_BUF, (uint64_t)query_number(q, 1)), query_text(q, 0),
			query_text(q, 2));
	}
}

static void json_module(struct ctl *ctl, const struct query *q)
{
	static const char *const keys[] = {"path", "build_id", "symbols", "debug_file", "note"};

	json_object_line(&ctl->json, NULL);
	for (int i = 0; i < 5; i++)
		json_text(&ctl->json, keys[i], query_is_null(q, i) ? NULL : query_text(q, i));
	json_end(&ctl->json);
}

enum { MODULE_SYMBOLS, MODULE_PATH, MODULE_DEBUG, MODULE_NOTE, MODULE_COLUMNS };
static const struct table_column module_columns[MODULE_COLUMNS] = {
	[MODULE_SYMBOLS] = { .title = "names", .kind = CELL_TEXT },
	[MODULE_PATH] = { "module", CELL_TEXT, true, TEXT_CUT_START, 0, TINT_NAME },
	[MODULE_DEBUG] = { .title = "from",
			   .kind = CELL_TEXT,
			   .flexible = true,
			   .cut = TEXT_CUT_MIDDLE,
			   .drop = 2 },
	[MODULE_NOTE] = { .title = "note",
			  .kind = CELL_TEXT,
			  .flexible = true,
			  .cut = TEXT_CUT_END,
			  .drop = 1,
			  .tint = TINT_WARN },
};

static struct shiny_err *print_modules(struct ctl *ctl, struct store *store)
{
	struct table table;
	struct query *q = NULL;
	struct shiny_err *err = session_fact_rows(store, FACT_MODULES, &q);

	table_init(&table, module_columns, MODULE_COLUMNS);
	QUERY_EACH (q, err) {
		table_row(&table);
		table_text(&table, MODULE_SYMBOLS, query_text(q, 2));
		table_text(&table, MODULE_PATH, query_text(q, 0));
		table_text(&table, MODULE_DEBUG, query_text(q, 3));
		table_text(&table, MODULE_NOTE, query_text(q, 4));
	}
	query_end(q);
	if (!err)
		table_print(&table, &ctl->style);
	table_deinit(&table);
	return err;
}

static void counter_row(struct ctl *ctl, const struct query *q)
{
	fprintf(ctl->style.out, "  %15s  %s\n",
		units_count(UNITS_BUF, (uint64_t)query_number(q, 0)), query_text(q, 1));
}

static void table_row_of(struct ctl *ctl, const struct query *q)
{
	if (CTL_JSON(ctl)) {
		json_object_line(&ctl->json, NULL);
		json_text(&ctl->json, "name", query_text(q, 0));
		json_signed(&ctl->json, "rows", query_number(q, 1));
		json_end(&ctl->json);
	} else {
		fprintf(ctl->style.out, "  %15s  %s\n",
			units_count(UNITS_BUF, (uint64_t)query_number(q, 1)), query_text(q, 0));
	}
}

static struct shiny_err *section(struct ctl *ctl, struct store *store, const char *title,
				 const char *key, bool object, enum session_fact fact, row_fn *each)
{
	struct shiny_err *err;

	if (!CTL_JSON(ctl))
		fprintf(ctl->style.out, "%s%s%s\n", tint(&ctl->style, TINT_BOLD), title,
			tint_end(&ctl->style, TINT_BOLD));
	else if (object)
		json_object(&ctl->json, key);
	else
		json_array(&ctl->json, key);
	err = each_row(ctl, store, fact, each);
	if (CTL_JSON(ctl))
		json_end(&ctl->json);
	return err;
}

static void schema_row(struct ctl *ctl, const struct query *q)
{
	if (CTL_JSON(ctl))
		json_text(&ctl->json, NULL, query_text(q, 0));
	else
		fprintf(ctl->style.out, "%s;\n\n", query_text(q, 0));
}

static struct shiny_err *cmd_info(struct ctl *ctl)
{
	const char *file = ctl->options.operands[0];
	AUTO_FREE char *shown = text_shell(file);
	struct store *store;
	uint64_t astray;
	struct shiny_err *err = store_open(file, &store), *closing;
	struct stat st;

	if (err)
		return err;
	err = store_astray(store, true, &astray); /* for the losses below */
	if (err) {
		store_close(store);
		return err;
	}
	if (CTL_JSON(ctl))
		ctl_document(ctl);
	else if (!ctl->options.given[OPT_SCHEMA] && stat(file, &st) == 0)
		fprintf(ctl->style.out, "%s%s%s: %s\n", tint(&ctl->style, TINT_BOLD), shown,
			tint_end(&ctl->style, TINT_BOLD),
			units_bytes(UNITS_BUF, (uint64_t)st.st_size));
	if (ctl->options.given[OPT_SCHEMA]) {
		if (CTL_JSON(ctl))
			json_array(&ctl->json, "schema");
		err = each_row(ctl, store, FACT_SCHEMA, schema_row);
		if (CTL_JSON(ctl))
			json_end(&ctl->json);
	} else {
		err = section(ctl, store, "session", "session", true, FACT_KEYS, key_row);
		if (!err)
			err = section(ctl, store, "contents", "tables", false, FACT_CONTENTS,
				      table_row_of);
		if (!err && !CTL_JSON(ctl))
			err = section(ctl, store, "names", "", false, FACT_NAMES, counter_row);
		if (!err && ctl->options.given[OPT_MODULES])
			err = CTL_JSON(ctl) ? section(ctl, store, "", "modules", false,
						      FACT_MODULES, json_module)
					    : print_modules(ctl, store);
		if (!err)
			err = section(ctl, store, "not recorded", "not_recorded", false,
				      FACT_UNRECORDED, unrecorded_row);
		if (!err)
			err = section(ctl, store, "notes", "notes", false, FACT_NOTES, note_row);
		if (!err && !CTL_JSON(ctl))
			err = section(ctl, store, "counted", "", false, FACT_COUNTED, counter_row);
	}
	if (ctl->options.given[OPT_SCHEMA] && !CTL_JSON(ctl)) {
		store_close(store);
		return err;
	}
	closing =
		ctl_end(ctl, store, ctl->options.given[OPT_MODULES] ? "doctor" : "info --modules");
	if (err) {
		shiny_err_free(closing);
		return err;
	}
	return closing;
}

const struct verb_body verb_info = { .run = cmd_info };
