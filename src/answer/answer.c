/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "../base/units.h"
#include "row_export.h"

static size_t rows_shown(const struct answer *answer, const struct field *list, size_t count)
{
	return list->limited && answer->limit < count ? answer->limit : count;
}

static const struct field *list_of(const struct answer *answer, const char *key)
{
	const struct field *field = answer->fields;

	while (field->kind != FIELD_KIND_ROWS || strcmp(field->key, key) != 0)
		field++;
	return field;
}

size_t answer_count(const struct answer *answer, const char *key)
{
	return field_rows(list_of(answer, key), answer->result).count;
}

/* ---- JSON ---- */

static void put_value(const struct field *field, const void *row, struct json *json)
{
	struct field_value v = field_value(field, row);

	switch (v.stored) {
	case STORED_TEXT:
		json_text(json, field->key, v.text);
		break;
	case STORED_I64:
		json_signed(json, field->key, v.change);
		break;
	case STORED_REAL:
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

static struct shiny_err *put_fields(const struct answer *answer, const struct field *fields,
				    const void *row, struct json *json);

static void begin(const struct field *field, struct json *json, const char *key)
{
	if (field->spread)
		json_object(json, key);
	else
		json_object_line(json, key);
}

static struct shiny_err *put_rows(const struct answer *answer, const struct field *list,
				  const void *result, struct json *json)
{
	struct field_rows rows = field_rows(list, result);
	size_t shown = rows_shown(answer, list, rows.count);

	json_array(json, list->key);
	for (size_t i = 0; i < shown; i++) {
		const void *row = field_row(list, rows, i);

		if (list->skip && list->skip(row))
			continue;
		begin(list, json, NULL);
		SHINY_TRY(put_fields(answer, list->fields, row, json));
		json_end(json);
	}
	json_end(json);
	return NULL;
}

static struct shiny_err *put_fields(const struct answer *answer, const struct field *fields,
				    const void *row, struct json *json)
{
	for (const struct field *f = fields; f->kind != FIELD_KIND_END; f++) {
		const void *part = (const char *)row + f->offset;

		if (f->kind == FIELD_KIND_GROUP) {
			SHINY_TRY(put_fields(answer, f->fields, part, json));
		} else if (!f->key) {
			continue;
		} else if (f->kind == FIELD_KIND_OBJECT) {
			begin(f, json, f->key);
			SHINY_TRY(put_fields(answer, f->fields, part, json));
			json_end(json);
		} else if (f->kind == FIELD_KIND_ROWS) {
			SHINY_TRY(put_rows(answer, f, row, json));
		} else if (f->kind == FIELD_KIND_PUT) {
			SHINY_TRY(f->put(row, json, f->key, answer->context));
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

/* ---- a flat list of the fields of a row ---- */

/* A field of a row, with the offset of the groups that it is in. */
struct flat {
	const struct field *field;
	size_t offset;
};

/* Adds the fields for which `wanted` is true; out NULL: counts them. */
static size_t flatten(const struct field *fields, size_t offset,
		      bool (*wanted)(const struct field *), struct flat *out, size_t count)
{
	for (const struct field *f = fields; f->kind != FIELD_KIND_END; f++) {
		if (f->kind == FIELD_KIND_GROUP) {
			count = flatten(f->fields, offset + f->offset, wanted, out, count);
		} else if (wanted(f)) {
			if (out)
				out[count] = (struct flat){ f, offset };
			count++;
		}
	}
	return count;
}

static struct flat *flat_fields(const struct field *list, bool (*wanted)(const struct field *),
				size_t *count)
{
	struct flat *flat;

	*count = flatten(list->fields, 0, wanted, NULL, 0);
	flat = mem_alloc(*count * sizeof(*flat));
	flatten(list->fields, 0, wanted, flat, 0);
	return flat;
}

static struct field_value flat_value(const struct flat *flat, const void *row)
{
	return field_value(flat->field, (const char *)row + flat->offset);
}

/* ---- table ---- */

static bool has_column(const struct field *field)
{
	return field->place;
}

static int compare_places(const void *a, const void *b)
{
	const struct flat *x = a, *y = b;

	return (int)x->field->place - (int)y->field->place;
}

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

static void set_cell(struct table *table, size_t column, const struct flat *flat, const void *row)
{
	struct field_value v = flat_value(flat, row);
	enum cell_kind kind = table->columns[column].kind;

	if (v.stored == STORED_NONE || v.blank)
		;
	else if (kind == CELL_TEXT || kind == CELL_RIGHT)
		set_text(table, column, flat->field, &v);
	else
		table_number(table, column, v.stored == STORED_REAL ? (uint64_t)v.real : v.number);
	field_value_free(&v);
}

size_t answer_table(const struct answer *answer, const char *key, const struct style *style)
{
	const struct field *list = list_of(answer, key);
	struct field_rows rows = field_rows(list, answer->result);
	size_t count, shown = rows_shown(answer, list, rows.count), printed;
	struct flat *flat = flat_fields(list, has_column, &count);
	struct table_column *columns = mem_zero(count, sizeof(*columns));
	struct table table;

	qsort(flat, count, sizeof(*flat), compare_places);
	for (size_t i = 0; i < count; i++) {
		columns[i] = flat[i].field->column;
		columns[i].kind = cell_kind_of(flat[i].field);
		if (flat[i].field->by)
			columns[i].title = answer->by;
	}
	table_init(&table, columns, count);
	for (size_t i = 0; i < count; i++)
		if (columns[i].kind == CELL_SHARE || columns[i].kind == CELL_BAR)
			table_total(&table, i,
				    *(const uint64_t *)((const char *)answer->result +
							flat[i].field->whole));
	for (size_t r = 0; r < shown; r++) {
		const void *row = field_row(list, rows, r);

		if (list->skip && list->skip(row))
			continue;
		table_row(&table);
		for (size_t i = 0; i < count; i++)
			set_cell(&table, i, &flat[i], row);
	}
	printed = table.rows;
	table_print(&table, style);
	table_deinit(&table);
	free(columns);
	free(flat);
	return printed;
}

/* ---- CSV ---- */

static bool has_value(const struct field *field)
{
	return field->key && field->kind < FIELD_KIND_SHARE;
}

static void export_value(struct row_export *writer, const struct flat *flat, const void *row)
{
	struct field_value v = flat_value(flat, row);
	char text[32];

	switch (v.stored) {
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
		if (flat->field->kind == FIELD_KIND_ADDRESS)
			row_export_text(writer, text);
		else
			row_export_number(writer, (int64_t)v.number);
	}
	field_value_free(&v);
}

void answer_csv(const struct answer *answer, const char *key, FILE *out)
{
	const struct field *list = list_of(answer, key);
	struct field_rows rows = field_rows(list, answer->result);
	size_t count, shown = rows_shown(answer, list, rows.count);
	struct flat *flat = flat_fields(list, has_value, &count);
	const char **names = mem_alloc(count * sizeof(*names));
	struct row_export writer;

	for (size_t i = 0; i < count; i++)
		names[i] = flat[i].field->key;
	row_export_init(&writer, out, true, names, count);
	for (size_t r = 0; r < shown; r++) {
		const void *row = field_row(list, rows, r);

		if (list->skip && list->skip(row))
			continue;
		for (size_t i = 0; i < count; i++)
			export_value(&writer, &flat[i], row);
	}
	free(names);
	free(flat);
}
