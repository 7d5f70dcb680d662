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

struct info {
	struct session_facts facts;
	bool modules, schema; /* the options; with `schema` nothing else is printed */
};

/* ---- JSON ---- */

/* True if the value of a row of FACT_KEYS is a number. */
static bool is_number(const struct fact_row *key)
{
	return strcmp(key->texts[2], "integer") == 0;
}

static struct shiny_err *put_session(const void *part, struct json *json, const char *key,
				     void *context)
{
	const struct fact_rows *keys = part;

	(void)context;
	json_object(json, key);
	for (size_t i = 0; i < keys->count; i++)
		if (is_number(&keys->at[i]))
			json_signed(json, keys->at[i].texts[0], keys->at[i].numbers[1]);
		else
			json_text(json, keys->at[i].texts[0], keys->at[i].texts[1]);
	json_end(json);
	return NULL;
}

FIELD_SKIP(has_schema, struct info, r->schema)
FIELD_SKIP(has_no_schema, struct info, !r->schema)
FIELD_SKIP(has_no_modules, struct info, !r->modules)

/* clang-format off */
#define ROW struct fact_row
#define FACTS_OF(name, FACT, row) \
	FIELD_ROWS(name, struct info, facts.of[FACT_##FACT].at, facts.of[FACT_##FACT].count, row)
static const struct field table_fields[] = {
	{ FIELD_TEXT("name", ROW, texts[0]), .help = "processes, threads, modules, …" },
	{ FIELD_COUNT("rows", ROW, numbers[1]), .help = "how many there are" },
	FIELD_LAST
};
static const struct field module_fields[] = {
	{ FIELD_TEXT("path", ROW, texts[0]), .title = "module", .flexible = true,
	  .cut = TEXT_CUT_START, .tint = TINT_NAME, .help = "its file" },
	{ FIELD_TEXT("build_id", ROW, texts[1]), .help = "its build-id; null: none" },
	{ FIELD_TEXT("symbols", ROW, texts[2]), .title = "names",
	  .help = "dwarf, symtab, dynsym or none, or why its file could not be read" },
	{ FIELD_TEXT("debug_file", ROW, texts[3]), .title = "from", .flexible = true,
	  .cut = TEXT_CUT_MIDDLE, .help = "the file with its debug information; null: none" },
	{ FIELD_TEXT("note", ROW, texts[4]), .flexible = true, .cut = TEXT_CUT_END,
	  .tint = TINT_WARN, .help = "what is wrong with its names; null: nothing" },
	FIELD_LAST
};
static const struct field unrecorded_row_fields[] = {
	{ FIELD_TEXT("name", ROW, texts[0]), .help = "the program" },
	{ FIELD_COUNT("count", ROW, numbers[1]), .help = "how many times it was started" },
	{ FIELD_TEXT("text", ROW, texts[2]), .help = "why it is not recorded" },
	FIELD_LAST
};
static const struct field note_fields[] = {
	{ FIELD_ID("process", ROW, numbers[0]), .help = "the id of its process" },
	{ FIELD_TEXT("text", ROW, texts[2]), .help = "the note" },
	FIELD_LAST
};
static const struct field statement_fields[] = {
	{ FIELD_TEXT(NULL, ROW, texts[0]), .help = "an SQL statement" },
	FIELD_LAST
};
static const struct field modules_fields[] = {
	{ FACTS_OF("modules", MODULES, module_fields), .help = "with --modules: a module",
	  .shows = "symbols path debug_file/2 note/1" },
	FIELD_LAST
};
static const struct field facts_fields[] = {
	{ FIELD_PUT("session", struct info, facts.of[FACT_KEYS], put_session),
	  .help = "every key of the table session" },
	{ FACTS_OF("tables", CONTENTS, table_fields), .help = "what is in the session" },
	{ FIELD_SAME(modules_fields), .skip = has_no_modules },
	{ FACTS_OF("not_recorded", UNRECORDED, unrecorded_row_fields),
	  .help = "a program that was started and is not recorded" },
	{ FACTS_OF("notes", NOTES, note_fields), .help = "a note of a process" },
	FIELD_LAST
};
static const struct field schema_fields[] = {
	{ FACTS_OF("schema", SCHEMA, statement_fields), .bare = true,
	  .help = "with --schema, instead of all but the losses: SQL statements" },
	FIELD_LAST
};
static const struct field fields[] = {
	{ FIELD_SAME(facts_fields), .skip = has_schema },
	{ FIELD_SAME(schema_fields), .skip = has_no_schema },
	FIELD_LAST
};
/* clang-format on */

/* ---- text ---- */

static void print_key(struct ctl *ctl, const struct fact_row *row)
{
	const char *key = row->texts[0], *text = row->texts[1];
	bool number = is_number(row);
	int64_t value = row->numbers[1];
	size_t length = strlen(key);
	time_t seconds = (time_t)(value / 1000000000);
	char when[64];
	struct tm tm;

	if (strcmp(key, "started_ns") == 0 && number && localtime_r(&seconds, &tm) &&
	    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %z", &tm))
		text = when;
	else if (number && length > 3 && strcmp(key + length - 3, "_ns") == 0 &&
		 value < INT64_C(1000000000000000))
		text = units_time(UNITS_BUF, (uint64_t)value);
	else if (number && length > 5 && strcmp(key + length - 5, "bytes") == 0)
		text = units_bytes(UNITS_BUF, (uint64_t)value);
	fprintf(ctl->style.out, "  %-24s%s\n", key, text);
}

static void print_note(struct ctl *ctl, const struct fact_row *row)
{
	if (*row->texts[1])
		fprintf(ctl->style.out, "  %s (id:%" PRId64 "): %s\n", row->texts[1],
			row->numbers[0], row->texts[2]);
	else
		fprintf(ctl->style.out, "  %s\n", row->texts[2]);
}

static void print_count(struct ctl *ctl, const struct fact_row *row)
{
	fprintf(ctl->style.out, "  %15s  %s%s%s\n",
		units_count(UNITS_BUF, (uint64_t)row->numbers[1]), row->texts[0],
		row->texts[2] ? ": " : "", row->texts[2] ? row->texts[2] : "");
}

static void print_statement(struct ctl *ctl, const struct fact_row *row)
{
	fprintf(ctl->style.out, "%s;\n\n", row->texts[0]);
}

/* Prints the rows of a fact below a title; NULL: without one. */
typedef void print_fact_fn(struct ctl *ctl, const struct fact_row *row);
static void print_fact(struct ctl *ctl, const struct info *info, enum session_fact fact,
		       const char *title, print_fact_fn *print)
{
	const struct fact_rows *rows = &info->facts.of[fact];

	if (title)
		fprintf(ctl->style.out, "%s%s%s\n", tint(&ctl->style, TINT_BOLD), title,
			tint_end(&ctl->style, TINT_BOLD));
	for (size_t i = 0; i < rows->count; i++)
		print(ctl, &rows->at[i]);
}

static void print_info(struct ctl *ctl, const struct answer *answer)
{
	const struct info *info = answer->result;
	const char *file = ctl->options.operands[0];
	AUTO_FREE char *shown = text_shell(file);
	struct stat st;

	if (info->schema) {
		print_fact(ctl, info, FACT_SCHEMA, NULL, print_statement);
		return;
	}
	if (stat(file, &st) == 0)
		fprintf(ctl->style.out, "%s%s%s: %s\n", tint(&ctl->style, TINT_BOLD), shown,
			tint_end(&ctl->style, TINT_BOLD),
			units_bytes(UNITS_BUF, (uint64_t)st.st_size));
	print_fact(ctl, info, FACT_KEYS, "session", print_key);
	print_fact(ctl, info, FACT_CONTENTS, "contents", print_count);
	print_fact(ctl, info, FACT_NAMES, "names", print_count);
	if (info->modules)
		answer_table(answer, "modules", &ctl->style);
	print_fact(ctl, info, FACT_UNRECORDED, "not recorded", print_count);
	print_fact(ctl, info, FACT_NOTES, "notes", print_note);
	print_fact(ctl, info, FACT_COUNTED, "counted", print_count);
}

/* Loads what the options ask for, after the references that are astray, for the losses. */
static struct shiny_err *load_info(struct store *store, struct info *info)
{
	uint64_t astray;

	SHINY_TRY(store_astray(store, true, &astray));
	for (int fact = 0; fact < FACTS; fact++)
		if (info->schema == (fact == FACT_SCHEMA) &&
		    (info->modules || fact != FACT_MODULES))
			SHINY_TRY(session_fact_load(store, (enum session_fact)fact, &info->facts));
	return NULL;
}

static struct shiny_err *cmd_info(struct ctl *ctl)
{
	struct info info = { .modules = ctl->options.given[OPT_MODULES],
			     .schema = ctl->options.given[OPT_SCHEMA] };
	const struct answer answer = { .fields = fields, .result = &info };
	struct shiny_err *err;
	struct store *store;

	SHINY_TRY(store_open(ctl->options.operands[0], &store));
	err = load_info(store, &info);
	if (!err && CTL_JSON(ctl)) {
		ctl_document(ctl);
		err = answer_json(&answer, &ctl->json);
	} else if (!err) {
		print_info(ctl, &answer);
	}
	session_facts_deinit(&info.facts);
	if (err || (info.schema && !CTL_JSON(ctl))) {
		store_close(store);
		return err;
	}
	return ctl_end(ctl, store, info.modules ? "doctor" : "info --modules");
}

const struct verb_body verb_info = { .run = cmd_info, .fields = fields };
