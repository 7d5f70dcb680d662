/* SPDX-License-Identifier: Apache-2.0 */
#include "field.h"

#include <stdlib.h>

static struct field_value read_value(const struct field *field, const void *row)
{
	const void *at = (const char *)row + field->offset;
	struct field_value v = { .stored = field->stored };

	switch (field->stored) {
	case STORED_NONE:
		break;
	case STORED_TEXT:
		v.text = *(const char *const *)at;
		if (!v.text && field->has_other)
			v.text = *(const char *const *)((const char *)row + field->other);
		if (!v.text)
			v.stored = STORED_NONE;
		break;
	case STORED_U64:
		v.number = *(const uint64_t *)at;
		break;
	case STORED_U32:
		field_set_number(&v, *(const uint32_t *)at);
		break;
	case STORED_U16:
		field_set_number(&v, *(const uint16_t *)at);
		break;
	case STORED_I64:
		v.change = *(const int64_t *)at;
		break;
	case STORED_I32:
		v.stored = STORED_I64;
		v.change = *(const int32_t *)at;
		break;
	case STORED_REAL:
		v.real = *(const double *)at;
		break;
	case STORED_BOOL:
		v.flag = *(const bool *)at;
		break;
	}
	return v;
}

struct field_value field_value(const struct field *field, const void *row)
{
	struct field_value v = { .stored = STORED_NONE };

	if (field->skip && field->skip(row))
		return v;
	if (field->get)
		field->get(row, &v);
	else
		v = read_value(field, row);
	if (field->names)
		field_set_text(&v, field->names[v.number]);
	if (field->blank_zero && v.stored == STORED_U64 && !v.number)
		v.blank = true;
	if (field->optional && (v.stored == STORED_NONE || (v.stored == STORED_U64 && !v.number) ||
				(v.stored == STORED_REAL && v.real == 0)))
		v.absent = true;
	return v;
}

bool field_in_json(const struct field *field)
{
	return !field->column_only && field->kind != FIELD_KIND_SHARE &&
	       field->kind != FIELD_KIND_BAR;
}

void field_value_free(struct field_value *value)
{
	free(value->owned);
}

void field_set_number(struct field_value *out, uint64_t number)
{
	out->stored = STORED_U64;
	out->number = number;
}

void field_set_real(struct field_value *out, double real)
{
	out->stored = STORED_REAL;
	out->real = real;
}

void field_set_flag(struct field_value *out, bool flag)
{
	out->stored = STORED_BOOL;
	out->flag = flag;
}

void field_set_text(struct field_value *out, const char *text)
{
	out->stored = text ? STORED_TEXT : STORED_NONE;
	out->text = text;
}

void field_set_owned(struct field_value *out, char *text)
{
	field_set_text(out, text);
	out->owned = text;
}

struct field_rows field_rows(const struct field *field, const void *result)
{
	const char *at = (const char *)result + field->offset;

	return (struct field_rows){
		field->inside ? at : *(const void *const *)at,
		field->count ? field->count
			     : *(const size_t *)((const char *)result + field->count_offset),
	};
}

const void *field_row(const struct field *field, struct field_rows rows, size_t index)
{
	const char *at = (const char *)rows.rows + index * field->size;

	return field->pointers ? *(const void *const *)at : at;
}
