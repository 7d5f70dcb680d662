/* SPDX-License-Identifier: Apache-2.0 */
/* help_schema.c: the JSON Schema of the document that a verb prints with --json. */
#include "../../analysis/totals/losses.h"
#include "../../answer/answer_schema.h"
#include "help.h"
#include "../verb_table.h"

/* clang-format off */
static const struct field left_out_list_fields[] = {
	{ .key = "list", .kind = FIELD_KIND_TEXT, .help = "the key of a list" },
	{ .key = "rows", .kind = FIELD_KIND_COUNT, .help = "rows that it does not have" },
	FIELD_LAST
};
static const struct field left_out_fields[] = {
	{ .key = "rows", .kind = FIELD_KIND_COUNT, .help = "rows that the document does not have" },
	{ .key = "lists", .kind = FIELD_KIND_ROWS, .fields = left_out_list_fields,
	  .help = "where they are not" },
	{ .key = "see", .kind = FIELD_KIND_TEXT, .help = "how to see them" },
	FIELD_LAST
};
static const struct field document_fields[] = {
	{ .key = "verb", .kind = FIELD_KIND_TEXT, .help = "the verb that printed it" },
	{ .key = "version", .kind = FIELD_KIND_TEXT, .help = "of shinyctl" },
	{ .key = "left_out", .kind = FIELD_KIND_OBJECT, .fields = left_out_fields,
	  .optional = true, .help = "what --limit or --budget leaves out, at the document's end" },
	FIELD_LAST
};
/* clang-format on */

static void put_document(struct json *json, const struct verb_body *body, const char *name)
{
	const struct field *const arrays[] = { document_fields, body->fields,
					       body->no_session || body->has_losses ? NULL
										    : losses_fields,
					       NULL };

	json_text(json, "type", "object");
	if (arrays[1]) {
		answer_schema(json, arrays);
		return;
	}
	json_object(json, "properties"); /* of this document only its name is told */
	json_object_line(json, "verb");
	json_text(json, "const", name);
	json_end(json);
	json_end(json);
}

bool help_schema(FILE *out, enum verb_id verb)
{
	size_t count = 0, with_fields = 0;
	struct json json;

	for (size_t q = 0; q < QUESTION_COUNT; q++) {
		const struct verb_body *other = verb_table[q]->instead;

		if (questions[q].verb != verb)
			continue;
		count += other && other->fields ? 2 : 1;
		with_fields += !!verb_table[q]->fields;
	}
	if (!with_fields)
		return false;
	json_init(&json, out);
	json_object(&json, NULL);
	json_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_text(&json, "title", verbs[verb].name);
	if (count == 1) {
		put_document(&json, verb_table[verb], verbs[verb].name);
	} else {
		json_array(&json, "oneOf");
		for (size_t q = 0; q < QUESTION_COUNT; q++) {
			if (questions[q].verb != verb)
				continue;
			for (const struct verb_body *b = verb_table[q]; b; b = b->instead) {
				if (!b->fields && b != verb_table[q])
					continue;
				json_object(&json, NULL);
				put_document(&json, b, questions[q].document);
				json_end(&json);
			}
		}
		json_end(&json);
	}
	json_end(&json);
	return true;
}
