/* SPDX-License-Identifier: Apache-2.0 */
/* help_schema.c: the JSON Schema of the document that a verb prints with --json. */
#include "../../analysis/totals/losses.h"
#include "../../answer/answer_schema.h"
#include "help.h"
#include "../verb_table.h"

/* clang-format off */
static const struct field document_fields[] = {
	{ .key = "verb", .kind = FIELD_KIND_TEXT, .help = "the verb that printed it" },
	{ .key = "version", .kind = FIELD_KIND_TEXT, .help = "of shinyctl" },
	FIELD_LAST
};
/* clang-format on */

static void put_document(struct json *json, const struct verb_body *body)
{
	const struct field *const arrays[] = { document_fields, body->fields, losses_fields, NULL };

	json_text(json, "type", "object");
	answer_schema(json, arrays);
}

bool help_schema(FILE *out, enum verb_id verb)
{
	const struct verb_body *body = verb_table[verb];
	struct json json;

	if (!body->fields)
		return false;
	json_init(&json, out);
	json_object(&json, NULL);
	json_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_text(&json, "title", verbs[verb].name);
	if (!body->other) {
		put_document(&json, body);
	} else {
		json_array(&json, "oneOf");
		for (; body; body = body->other) {
			json_object(&json, NULL);
			put_document(&json, body);
			json_end(&json);
		}
		json_end(&json);
	}
	json_end(&json);
	return true;
}
