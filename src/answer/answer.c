/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/json_budget.h"
#include "../base/mem.h"
#include "../base/text.h"
#include "../base/units.h"
#include "row_export.h"

/* Finds a list, also in a group at the beginning of the result; NULL: there is none. */
static const struct field *find_list(const struct field *fields, const char *key)
{
	const struct field *found = NULL;

	for (const struct field *f = fields; f->kind != FIELD_KIND_END && !found; f++)
		if (f->kind == FIELD_KIND_GROUP && !f->offset)
			found = find_list(f->fields, key);
		else if (f->kind == FIELD_KIND_ROWS && strcmp(f->key, key) == 0)
			found = f;
	return found;
}

static const struct field *list_of(const struct answer *answer, const char *key)
{
	return find_list(answer->fields, key);
}

bool answer_has(const struct answer *answer, const char *key)
{
	return list_of(answer, key);
}

/* Finds the field with this key; NULL: there is none. */
static const struct field *name_of(const struct field *fields)
{
	const struct field *f = fields;

	while (f->kind != FIELD_KIND_END && (!f->key || strcmp(f->key, "name") != 0))
		f++;
	return f->kind == FIELD_KIND_END ? NULL : f;
}

/* True if the row is one that the answer has. */
static bool has_row(const struct answer *answer, const struct field *list, const void *row)
{
	const struct field *name = list->limited && answer->match ? name_of(list->fields) : NULL;
	struct field_value v;
	bool matches;

	if (list->skip && list->skip(row))
		return false;
	if (!name)
		return true;
	v = field_value(name, row);
	matches = v.stored == STORED_TEXT && text_matches(answer->match, v.text);
	field_value_free(&v);
	return matches;
}

/* The rows of a list that an answer has, up to its limit. */
struct rows_walk {
	const struct answer *answer;
	const struct field *list;
	struct field_rows rows;
	size_t at, left;
};

static struct rows_walk walk_begin(const struct answer *answer, const struct field *list,
				   const void *result)
{
	return (struct rows_walk){ answer, list, field_rows(list, result), 0,
				   list->limited ? answer->limit : SIZE_MAX };
}

/* Returns the next row; NULL: no more, or none below the limit. */
static const void *walk_next(struct rows_walk *walk)
{
	while (walk->at < walk->rows.count && walk->left) {
		const void *row = field_row(walk->list, walk->rows, walk->at++);

		if (has_row(walk->answer, walk->list, row)) {
			walk->left--;
			return row;
		}
	}
	return NULL;
}

/* Returns the number of rows that the limit leaves out. */
static size_t walk_rest(struct rows_walk *walk)
{
	size_t count = 0;

	for (walk->left = SIZE_MAX; walk_next(walk);)
		count++;
	return count;
}

size_t answer_count(const struct answer *answer, const char *key)
{
	const struct field *list = list_of(answer, key);
	struct field_rows rows = { 0 };
	size_t count = 0;

	if (list)
		rows = field_rows(list, answer->result);
	for (size_t i = 0; i < rows.count; i++)
		count += has_row(answer, list, field_row(list, rows, i));
	return count;
}

/* ---- JSON ---- */

static void put_value(const struct field *field, const void *row, struct json *json)
{
	struct field_value v = field_value(field, row);

	if (v.absent) {
		field_value_free(&v);
		return;
	}
	switch (v.stored) {
	case STORED_TEXT:
		json_text(json, field->key, v.text);
		break;
	case STORED_I64:
		json_signed(json, field->key, v.change);
		break;
	case STORED_REAL:
		if (field->kind == FIELD_KIND_COUNT || field->kind == FIELD_KIND_BYTES)
			json_signed(json, field->key, (int64_t)v.real);
		else
			json_real(json, field->key, v.real);
		break;
	case STORED_BOOL:
		json_bool(json, field->key, v.flag);
		break;
	case STORED_NONE:
		json_null(json, field->key);
		break;
	default:
		if (field->kind == FIELD_KIND_ADDRESS)
			json_address(json, field->key, v.number);
		else
			json_number(json, field->key, v.number);
	}
	field_value_free(&v);
}

static void put_numbers(const struct field *field, const char *numbers, struct json *json)
{
	const struct field number = { .kind = FIELD_KIND_COUNT, .stored = field->stored };

	json_array_line(json, field->key);
	for (size_t i = 0; i < field->count; i++)
		put_value(&number, numbers + i * field->size, json);
	json_end(json);
}

static struct shiny_err *put_fields(const struct answer *answer, const struct field *fields,
				    const void *row, struct json *json);

/* Begins an object; it has a line for each member if its field or a group that it has says so. */
static void begin(const struct field *field, const void *part, struct json *json, const char *key)
{
	bool spread = field->spread;

	for (const struct field *f = field->fields; f->kind != FIELD_KIND_END && !spread; f++)
		spread = f->kind == FIELD_KIND_GROUP && f->spread &&
			 !(f->skip && f->skip((const char *)part + f->offset));
	if (spread)
		json_object(json, key);
	else
		json_object_line(json, key);
}

static struct shiny_err *put_rows(const struct answer *answer, const struct field *list,
				  const char *name, const void *result, struct json *json)
{
	struct rows_walk walk = walk_begin(answer, list, result);
	const void *row;

	json_array(json, name);
	while ((row = walk_next(&walk))) {
		if (list->bare) {
			put_value(list->fields, row, json);
			continue;
		}
		begin(list, row, json, NULL);
		SHINY_TRY(put_fields(answer, list->fields, row, json));
		json_end(json);
	}
	json_left_out(json, walk_rest(&walk));
	json_end(json);
	return NULL;
}

/* Puts null for each member of a group that is left out. */
static void put_nulls(const struct field *fields, struct json *json)
{
	for (const struct field *f = fields; f->kind != FIELD_KIND_END; f++)
		if (f->kind == FIELD_KIND_GROUP)
			put_nulls(f->fields, json);
		else if (field_in_json(f))
			json_null(json, f->key);
}

static struct shiny_err *put_fields(const struct answer *answer, const struct field *fields,
				    const void *row, struct json *json)
{
	for (const struct field *f = fields; f->kind != FIELD_KIND_END; f++) {
		const void *part = (const char *)row + f->offset;

		if (f->kind == FIELD_KIND_GROUP) {
			if (!f->skip || !f->skip(part))
				SHINY_TRY(put_fields(answer, f->fields, part, json));
			else if (f->nulls)
				put_nulls(f->fields, json);
		} else if (!field_in_json(f)) {
			continue;
		} else if (f->kind == FIELD_KIND_OBJECT && f->skip && f->skip(part)) {
			json_null(json, f->key);
		} else if (f->kind == FIELD_KIND_OBJECT) {
			begin(f, part, json, f->key);
			SHINY_TRY(put_fields(answer, f->fields, part, json));
			json_end(json);
		} else if (f->kind == FIELD_KIND_ROWS) {
			SHINY_TRY(put_rows(answer, f, f->key, row, json));
		} else if (f->kind == FIELD_KIND_NUMBERS) {
			put_numbers(f, part, json);
		} else if (f->kind == FIELD_KIND_PUT) {
			SHINY_TRY(f->put(part, json, f->key, answer->context));
		} else {
			put_value(f, row, json);
		}
	}
	return NULL;
}

struct shiny_err *answer_json(const struct answer *answer, struct json *json)
{
	return put_fields(answer, answer->fields, answer->result, json);
}

struct shiny_err *answer_json_list(const struct answer *answer, const char *key, struct json *json,
				   const char *name)
{
	return put_rows(answer, list_of(answer, key), name, answer->result, json);
}

/* ---- columns ---- */

/* A field of a row, and the innermost group that it is in. */
struct column {
	const struct field *field;
	const struct field *group; /* NULL: none */
	size_t offset;		   /* of the group */
	unsigned drop;
};

static struct field_value column_value(const struct column *column, const void *row)
{
	const void *part = (const char *)row + column->offset;

	if (column->group && column->group->skip && column->group->skip(part))
		return (struct field_value){ .absent = true };
	return field_value(column->field, part);
}

/* Finds the field with this key in `fields`, which are those of `group`, or of an object
 * "object.key"; false: there is none. */
static bool find_column(const struct field *fields, const struct field *group, size_t offset,
			const char *key, size_t length, struct column *out)
{
	for (const struct field *f = fields; f->kind != FIELD_KIND_END; f++) {
		if (f->kind == FIELD_KIND_GROUP) {
			if (find_column(f->fields, f, offset + f->offset, key, length, out))
				return true;
		} else if (f->kind == FIELD_KIND_OBJECT) {
			size_t name = strlen(f->key);

			if (length > name && strncmp(f->key, key, name) == 0 && key[name] == '.')
				return find_column(f->fields, f, offset + f->offset, key + name + 1,
						   length - name - 1, out);
		} else if (strlen(f->key) == length && strncmp(f->key, key, length) == 0) {
			*out = (struct column){ f, group, offset, 0 };
			return true;
		}
	}
	return false;
}

const char *answer_unknown_column(const struct field *list)
{
	struct column column;

	for (const char *word = list->shows; *word;) {
		size_t length = strcspn(word, "/ ");

		if (!find_column(list->fields, NULL, 0, word, length, &column))
			return word;
		word += length + strcspn(word + length, " ");
		word += strspn(word, " ");
	}
	return NULL;
}

/* Reads the columns that a list shows; a word without a field is left out. */
static struct column *shown_columns(const struct field *list, size_t *count)
{
	struct column *columns = mem_zero(strlen(list->shows) / 2 + 1, sizeof(*columns));
	const char *word = list->shows;

	*count = 0;
	while (*word) {
		size_t length = strcspn(word, "/ ");
		struct column *column = &columns[*count];

		*count += find_column(list->fields, NULL, 0, word, length, column);
		word += length;
		if (*word == '/')
			column->drop = (unsigned)strtoul(word + 1, NULL, 10);
		word += strcspn(word, " ");
		word += strspn(word, " ");
	}
	return columns;
}

/* ---- table ---- */

static enum cell_kind cell_kind_of(const struct field *field)
{
	switch (field->kind) {
	case FIELD_KIND_COUNT:
		return CELL_COUNT;
	case FIELD_KIND_BYTES:
		return CELL_BYTES;
	case FIELD_KIND_TIME:
		return CELL_TIME;
	case FIELD_KIND_SHARE:
		return CELL_SHARE;
	case FIELD_KIND_BAR:
		return CELL_BAR;
	case FIELD_KIND_TEXT:
	case FIELD_KIND_FLAG:
		return CELL_TEXT;
	default:
		return CELL_RIGHT;
	}
}

/* Returns the title of a column: its own, that of the rows, or the key with spaces. */
static char *title_of(const struct answer *answer, const struct field *list,
		      const struct field *field)
{
	const char *title = field->title;
	char *made;

	if (field->by)
		title = list->title ? list->title : answer->by;
	if (field->title_at)
		title = *(const char *const *)((const char *)answer->result + field->title_at);
	if (title)
		return mem_text(title);
	made = mem_text(field->key);
	for (char *at = made; (at = strchr(at, '_')); at++)
		*at = ' ';
	return made;
}

/* Sets the text of a cell whose kind is not a number with a unit. */
static void set_text(struct table *table, size_t column, const struct field *field,
		     const struct field_value *v)
{
	char text[UNITS_TEXT + 1];
	uint64_t size = v->change < 0 ? -(uint64_t)v->change : (uint64_t)v->change;

	switch (v->stored) {
	case STORED_TEXT:
		table_text(table, column, v->text);
		return;
	case STORED_BOOL:
		table_text(table, column, v->flag ? "yes" : "no");
		return;
	case STORED_REAL:
		snprintf(text, sizeof(text), "%.2f", v->real);
		break;
	case STORED_I64:
		snprintf(text, sizeof(text), "%s%s",
			 v->change > 0 ? "+"
			 : size	       ? "-"
				       : "",
			 field->kind == FIELD_KIND_BYTES_CHANGE ? units_bytes(UNITS_BUF, size)
								: units_count(UNITS_BUF, size));
		break;
	default:
		snprintf(text, sizeof(text),
			 field->kind == FIELD_KIND_ADDRESS ? "0x%" PRIx64 : "%" PRIu64, v->number);
	}
	table_text(table, column, text);
}

static void set_cell(struct table *table, size_t at, const struct column *column, const void *row)
{
	struct field_value v = column_value(column, row);
	enum cell_kind kind = table->columns[at].kind;

	if (v.stored == STORED_NONE || v.absent || v.blank)
		;
	else if (kind == CELL_TEXT || kind == CELL_RIGHT)
		set_text(table, at, column->field, &v);
	else
		table_number(table, at, v.stored == STORED_REAL ? (uint64_t)v.real : v.number);
	field_value_free(&v);
}

static struct table_column *table_columns(const struct answer *answer, const struct field *list,
					  const struct column *columns, size_t count)
{
	struct table_column *out = mem_zero(count, sizeof(*out));

	for (size_t i = 0; i < count; i++) {
		const struct field *field = columns[i].field;

		out[i] = (struct table_column){ .title = title_of(answer, list, field),
						.kind = cell_kind_of(field),
						.flexible = field->flexible,
						.cut = field->cut,
						.drop = (int)columns[i].drop,
						.tint = field->tint };
	}
	return out;
}

static void fill(struct table *table, const struct answer *answer, const struct field *list,
		 const struct column *columns)
{
	struct rows_walk walk = walk_begin(answer, list, answer->result);
	const void *row;

	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].kind == CELL_SHARE || table->columns[i].kind == CELL_BAR)
			table_total(table, i,
				    *(const uint64_t *)((const char *)answer->result +
							columns[i].field->whole));
	while ((row = walk_next(&walk))) {
		table_row(table);
		for (size_t i = 0; i < table->column_count; i++)
			set_cell(table, i, &columns[i], row);
		if (answer->below)
			table_below(table, answer->below(row, answer->context));
	}
}

static bool is_empty(const struct answer *answer, const struct field *list,
		     const struct column *column)
{
	struct rows_walk walk = walk_begin(answer, list, answer->result);
	const void *row;
	bool empty = true;

	while (empty && (row = walk_next(&walk))) {
		struct field_value v = column_value(column, row);

		empty = v.stored == STORED_NONE || v.absent || v.blank;
		field_value_free(&v);
	}
	return empty;
}

void answer_table(const struct answer *answer, const char *key, const struct style *style)
{
	const struct field *list = list_of(answer, key);
	size_t count, left = 0;
	AUTO_FREE struct column *columns = shown_columns(list, &count);

	for (size_t i = 0; i < count; i++)
		if (!columns[i].field->sparse || !is_empty(answer, list, &columns[i]))
			columns[left++] = columns[i];
	count = left;
	struct table_column *titled = table_columns(answer, list, columns, count);
	struct table table;

	table_init(&table, titled, count);
	fill(&table, answer, list, columns);
	table_print(&table, style);
	table_deinit(&table);
	for (size_t i = 0; i < count; i++)
		free((char *)titled[i].title);
	free(titled);
}

/* ---- CSV ---- */

static void export_value(struct row_export *writer, const struct column *column, const void *row)
{
	struct field_value v = column_value(column, row);
	char text[32];

	switch (v.absent ? STORED_NONE : v.stored) {
	case STORED_NONE:
	case STORED_TEXT:
		row_export_text(writer, v.stored == STORED_TEXT ? v.text : NULL);
		break;
	case STORED_REAL:
		snprintf(text, sizeof(text), "%.17g", v.real);
		row_export_real(writer, text);
		break;
	case STORED_BOOL:
		row_export_number(writer, v.flag);
		break;
	default:
		snprintf(text, sizeof(text), "0x%" PRIx64, v.number);
		if (column->field->kind == FIELD_KIND_ADDRESS)
			row_export_text(writer, text);
		else
			row_export_number(writer, (int64_t)v.number);
	}
	field_value_free(&v);
}

/* Adds the fields that are one value; out NULL: counts them. */
static size_t value_columns(const struct field *fields, const struct field *group, size_t offset,
			    struct column *out, size_t count)
{
	for (const struct field *f = fields; f->kind != FIELD_KIND_END; f++) {
		if (f->kind == FIELD_KIND_GROUP) {
			count = value_columns(f->fields, f, offset + f->offset, out, count);
		} else if (f->kind < FIELD_KIND_SHARE && !f->column_only) {
			if (out)
				out[count] = (struct column){ f, group, offset, 0 };
			count++;
		}
	}
	return count;
}

void answer_csv(const struct answer *answer, const char *key, FILE *out)
{
	const struct field *list = list_of(answer, key);
	struct rows_walk walk = walk_begin(answer, list, answer->result);
	size_t count = value_columns(list->fields, NULL, 0, NULL, 0);
	AUTO_FREE struct column *columns = mem_zero(count, sizeof(*columns));
	AUTO_FREE const char **names = mem_zero(count, sizeof(*names));
	struct row_export writer;
	const void *row;

	value_columns(list->fields, NULL, 0, columns, 0);
	for (size_t i = 0; i < count; i++)
		names[i] = columns[i].field->key;
	row_export_init(&writer, out, true, names, count);
	while ((row = walk_next(&walk)))
		for (size_t i = 0; i < count; i++)
			export_value(&writer, &columns[i], row);
}
