/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer_schema.h: describes the JSON of an answer, from its fields: as a JSON Schema (draft
 * 2020-12), and member by member for the manual.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_ANSWER_SCHEMA_H
#define SHINY_ANSWER_SCHEMA_H

#include "field.h"

/* Puts "properties", "required" and "additionalProperties" of an object with all members of these
 * arrays of fields, a list that ends with NULL. */
void answer_schema(struct json *json, const struct field *const *arrays);

/* Calls `put` for each member, with its path: "total.blocks", "rows[].name". A list and an object
 * are members themselves. */
typedef void answer_member_fn(void *context, const char *path, const struct field *field);
void answer_members(const struct field *fields, answer_member_fn *put, void *context);

/* Returns the unit of a field's value in words: "bytes", "ns"; empty: it has none. */
const char *answer_unit(const struct field *field);

#endif
