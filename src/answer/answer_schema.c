/* SPDX-License-Identifier: Apache-2.0 */
#include "answer_schema.h"

#include <stdio.h>

enum { PATH = 128 };

const char *answer_unit(const struct field *field)
{
	switch (field->kind) {
	case FIELD_KIND_BYTES:
	case FIELD_KIND_BYTES_CHANGE:
		return "bytes";
	case FIELD_KIND_TIME:
		return "ns";
	default:
		return "";
	}
}

/* ---- schema ---- */

static const char *type_of(const struct field *field)
{
	switch (field->kind) {
	case FIELD_KIND_TEXT:
	case FIELD_KIND_ADDRESS:
		return "string";
	case FIELD_KIND_REAL:
		return "number";
	case FIELD_KIND_FLAG:
		return "boolean";
	default:
		return field->get || field->stored == STORED_REAL ? "number" : "integer";
	}
}

/* True if the value may be null: a text, a number that is not finite, what is worked out, and what
 * can be left out. */
static bool may_be_null(const struct field *field)
{
	return field->get || field->skip || field->stored == STORED_TEXT ||
	       field->stored == STORED_REAL;
}

static void put_type(struct json *json, const char *type, bool or_null)
{
	if (!or_null) {
		json_text(json, "type", type);
		return;
	}
	json_array_line(json, "type");
	json_text(json, NULL, type);
	json_text(json, NULL, "null");
	json_end(json);
}

static void put_value_schema(struct json *json, const struct field *field, bool or_null)
{
	put_type(json, type_of(field), or_null || may_be_null(field));
	if (*answer_unit(field))
		json_text(json, "unit", answer_unit(field));
}

static void put_object_schema(struct json *json, const struct field *fields, bool or_null)
{
	const struct field *const arrays[] = { fields, NULL };

	put_type(json, "object", or_null);
	answer_schema(json, arrays);
}

static void put_field_schema(struct json *json, const struct field *field, bool or_null)
{
	json_object(json, field->key);
	switch (field->kind) {
	case FIELD_KIND_OBJECT:
		put_object_schema(json, field->fields, or_null || field->skip);
		break;
	case FIELD_KIND_ROWS:
		put_type(json, "array", or_null);
		json_object(json, "items");
		if (field->bare)
			put_value_schema(json, field->fields, false);
		else if (field->again)
			put_type(json, "object", false);
		else
			put_object_schema(json, field->fields, false);
		json_end(json);
		break;
	case FIELD_KIND_NUMBERS:
		put_type(json, "array", or_null);
		json_object_line(json, "items");
		json_text(json, "type", type_of(field));
		json_end(json);
		break;
	case FIELD_KIND_PUT:
		break;
	default:
		put_value_schema(json, field, or_null);
	}
	if (field->help)
		json_text(json, "description", field->help);
	json_end(json);
}

/* `or_null`: the members may be null. */
static void put_properties(struct json *json, const struct field *fields, bool or_null)
{
	for (const struct field *f = fields; f->kind != FIELD_KIND_END; f++)
		if (f->kind == FIELD_KIND_GROUP)
			put_properties(json, f->fields, or_null || f->nulls);
		else if (field_in_json(f))
			put_field_schema(json, f, or_null);
}

/* A value that is worked out, or optional, may be left out, and so may a group without nulls. */
static void put_required(struct json *json, const struct field *fields)
{
	for (const struct field *f = fields; f->kind != FIELD_KIND_END; f++)
		if (f->kind == FIELD_KIND_GROUP && (!f->skip || f->nulls))
			put_required(json, f->fields);
		else if (f->kind == FIELD_KIND_GROUP)
			continue;
		else if (field_in_json(f) && !f->get && !f->optional && f->kind != FIELD_KIND_PUT)
			json_text(json, NULL, f->key);
}

void answer_schema(struct json *json, const struct field *const *arrays)
{
	json_object(json, "properties");
	for (size_t i = 0; arrays[i]; i++)
		put_properties(json, arrays[i], false);
	json_end(json);
	json_array_line(json, "required");
	for (size_t i = 0; arrays[i]; i++)
		put_required(json, arrays[i]);
	json_end(json);
	json_bool(json, "additionalProperties", false);
}

/* ---- members ---- */

static void put_members(const char *prefix, const struct field *fields, answer_member_fn *put,
			void *context)
{
	for (const struct field *f = fields; f->kind != FIELD_KIND_END; f++) {
		char path[PATH];

		if (f->kind == FIELD_KIND_GROUP) {
			put_members(prefix, f->fields, put, context);
			continue;
		}
		if (!field_in_json(f))
			continue;
		snprintf(path, sizeof(path), "%s%s%s", prefix, f->key,
			 f->kind == FIELD_KIND_ROWS ? "[]" : "");
		put(context, path, f);
		if (!f->fields || f->bare || f->again)
			continue;
		snprintf(path, sizeof(path), "%s%s%s.", prefix, f->key,
			 f->kind == FIELD_KIND_ROWS ? "[]" : "");
		put_members(path, f->fields, put, context);
	}
}

void answer_members(const struct field *fields, answer_member_fn *put, void *context)
{
	put_members("", fields, put, context);
}
