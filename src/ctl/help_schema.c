/* SPDX-License-Identifier: Apache-2.0 */
/* help_schema.c: the JSON Schema of the document that a verb prints with --json. */
#include "../analysis/totals/losses.h"
#include "../answer/answer_schema.h"
#include "help.h"
#include "rows_verb.h"

/* clang-format off */
static const struct field document_fields[] = {
	{ .key = "verb", .kind = FIELD_KIND_TEXT, .help = "the verb that printed it" },
	{ .key = "version", .kind = FIELD_KIND_TEXT, .help = "of shinyctl" },
	FIELD_LAST
};
/* clang-format on */

static void put_document(struct json *json, const struct rows_verb *rows)
{
	const struct field *const arrays[] = { document_fields, rows->fields, losses_fields, NULL };

	json_text(json, "type", "object");
	answer_schema(json, arrays);
}

bool help_schema(FILE *out, enum verb_id verb)
{
	const struct rows_verb *rows = verbs[verb].rows;
	struct json json;

	if (!rows)
		return false;
	json_init(&json, out);
	json_object(&json, NULL);
	json_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_text(&json, "title", verbs[verb].name);
	if (!rows->other) {
		put_document(&json, rows);
	} else {
		json_array(&json, "oneOf");
		for (; rows; rows = rows->other) {
			json_object(&json, NULL);
			put_document(&json, rows);
			json_end(&json);
		}
		json_end(&json);
	}
	json_end(&json);
	return true;
}
