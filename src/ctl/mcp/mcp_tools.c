/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_tools.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../help/help_option.h"

#define BUDGET   "--budget=8000" /* of a call that names none */
#define OPERANDS "operands"

enum { SUMMARY = 200 };

/* A call prints JSON, and writes no file. */
static const enum option_id hidden[] = { OPT_CSV,  OPT_FORCE,	 OPT_HTML_PAGE, OPT_JSON, OPT_JUNIT,
					 OPT_MAP,  OPT_MARKDOWN, OPT_OUTPUT,	OPT_SCHEMA,
					 OPT_STRICT, OPT_WIDE };

static bool has_option(enum verb_id verb, enum option_id option)
{
	return option_specs[option].verbs & options_questions(verb);
}

static bool is_offered(enum verb_id verb, enum option_id option)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (hidden[i] == option)
			return false;
	return has_option(verb, option);
}

/* True if the verb reads sessions and writes nothing. */
static bool is_tool(enum verb_id verb)
{
	return verbs[verb].input == VERB_READS_SESSION && has_option(verb, OPT_JSON) &&
	       !has_option(verb, OPT_OUTPUT);
}

enum verb_id mcp_tools_find(const char *name)
{
	enum verb_id verb = 0;

	while (verb < VERB_COUNT && (!is_tool(verb) || strcmp(verbs[verb].name, name) != 0))
		verb++;
	return verb;
}

/* ---- the list ---- */

/* Returns the first sentence of a text on one line, without its full stop; free it. */
static char *first_sentence(const struct help_part *part)
{
	char *out = mem_alloc(part->text_bytes + 1);
	size_t at = 0;

	for (size_t i = 0; i < part->text_bytes; i++) {
		char c = part->text[i];
		bool last = i + 1 == part->text_bytes;

		if (c == '.' && (last || isspace((unsigned char)part->text[i + 1])))
			break;
		if (!isspace((unsigned char)c))
			out[at++] = c;
		else if (at && out[at - 1] != ' ')
			out[at++] = ' ';
	}
	out[at] = 0;
	return out;
}

static void put_option(struct json *json, enum verb_id verb, enum option_id option)
{
	static const char *const types[] = {
		[VALUE_FLAG] = "boolean", [VALUE_TEXT] = "string",  [VALUE_CHOICE] = "string",
		[VALUE_COUNT] = "integer", [VALUE_BYTES] = "integer", [VALUE_SHARE] = "string",
		[VALUE_BUDGET] = "string",  [VALUE_TIME] = "string",
	};
	const struct option_spec *spec = &option_specs[option];
	AUTO_FREE char *sentence = NULL, *text = NULL;
	struct help_part part = { 0 };
	char takes[HELP_TAKES];

	help_option(verb, spec, &part);
	help_option_takes(verb, spec, takes);
	sentence = first_sentence(&part);
	text = mem_format("%s%s%s%s", sentence, *takes ? " (" : "", takes, *takes ? ")" : "");
	json_object(json, spec->name);
	json_text(json, "type", types[spec->kind]);
	json_text(json, "description", text);
	json_end(json);
}

static void put_operands(struct json *json, const struct verb *verb)
{
	json_object(json, OPERANDS);
	json_text(json, "type", "array");
	json_object(json, "items");
	json_text(json, "type", "string");
	json_end(json);
	json_number(json, "minItems", verb->least);
	json_number(json, "maxItems", verb->most);
	json_text(json, "description", verb->operands);
	json_end(json);
}

static void put_tool(struct json *json, enum verb_id verb)
{
	char summary[SUMMARY];

	help_summary(help_text("verbs", verbs[verb].name), summary, sizeof(summary));
	json_object(json, NULL);
	json_text(json, "name", verbs[verb].name);
	json_text(json, "description", summary);
	json_object(json, "inputSchema");
	json_text(json, "type", "object");
	json_object(json, "properties");
	put_operands(json, &verbs[verb]);
	for (enum option_id i = 0; i < OPT_COUNT; i++)
		if (is_offered(verb, i))
			put_option(json, verb, i);
	json_end(json);
	json_array(json, "required");
	json_text(json, NULL, OPERANDS);
	json_end(json);
	json_bool(json, "additionalProperties", false);
	json_end(json);
	json_object(json, "annotations");
	json_bool(json, "readOnlyHint", true);
	json_end(json);
	json_end(json);
}

void mcp_tools_put(struct json *json)
{
	json_array(json, "tools");
	for (enum verb_id v = 0; v < VERB_COUNT; v++)
		if (is_tool(v))
			put_tool(json, v);
	json_end(json);
}

/* ---- a call ---- */

/* Returns the option of an argument; OPT_COUNT: the verb has none of that name. */
static enum option_id option_of(enum verb_id verb, const char *name)
{
	enum option_id option = 0;

	while (option < OPT_COUNT &&
	       (!is_offered(verb, option) || strcmp(option_specs[option].name, name) != 0))
		option++;
	return option;
}

struct words {
	VEC(char *) list;
};

static struct shiny_err *add_option(struct words *words, enum verb_id verb,
				    const struct mcp_argument *a)
{
	enum option_id option = option_of(verb, a->name);
	bool flag = a->kind == JSON_TRUE || a->kind == JSON_FALSE;

	if (option == OPT_COUNT)
		return shiny_err(SHINY_ERR_USAGE, "%s has no argument '%s'", verbs[verb].name,
				 a->name);
	if (a->kind == JSON_NULL)
		return NULL;
	if (flag != (option_specs[option].kind == VALUE_FLAG))
		return shiny_err(SHINY_ERR_USAGE, "%s: %s takes %s", verbs[verb].name, a->name,
				 flag ? "a value" : "true or false");
	if (a->kind == JSON_TRUE)
		*vec_push(&words->list) = mem_format("--%s", a->name);
	else if (!flag)
		*vec_push(&words->list) = mem_format("--%s=%s", a->name, a->text);
	return NULL;
}

/* Adds the options first, then what is no option, whatever it begins with. */
static struct shiny_err *add_arguments(struct words *words, enum verb_id verb,
				       const struct mcp_message *call)
{
	for (size_t i = 0; i < call->arguments.count; i++)
		if (strcmp(call->arguments.at[i].name, OPERANDS) != 0)
			SHINY_TRY(add_option(words, verb, &call->arguments.at[i]));
	*vec_push(&words->list) = mem_text("--");
	for (size_t i = 0; i < call->arguments.count; i++)
		if (strcmp(call->arguments.at[i].name, OPERANDS) == 0)
			*vec_push(&words->list) = mem_text(call->arguments.at[i].text);
	return NULL;
}

struct shiny_err *mcp_tools_command(enum verb_id verb, const struct mcp_message *call,
				    char ***out)
{
	struct words words = { 0 };
	struct shiny_err *err;

	*vec_push(&words.list) = mem_text("shinyctl");
	*vec_push(&words.list) = mem_text(verbs[verb].name);
	*vec_push(&words.list) = mem_text("--json");
	*vec_push(&words.list) = mem_text(BUDGET);
	err = call->wrong ? shiny_err(SHINY_ERR_USAGE, "%s: arguments: %s", verbs[verb].name,
				      call->wrong)
			  : add_arguments(&words, verb, call);
	*vec_push(&words.list) = NULL;
	*out = words.list.at;
	if (err) {
		mcp_tools_free(words.list.at);
		*out = NULL;
	}
	return err;
}

void mcp_tools_free(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}
