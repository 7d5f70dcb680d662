/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_help.c: `shinyctl help` and `shinyctl --version`. */
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../base/cleanup.h"
#include "../../base/nearest.h"
#include "../verb_body.h"
#include "help.h"
#include "help_text.h"

/* Room for the topics that the advice considers; there are fewer. */
enum { TOPICS = 16 };

static struct shiny_err *unknown(const char *word)
{
	const char *names[VERB_COUNT + TOPICS], *near;
	size_t count = 0;

	for (size_t v = 0; v < VERB_COUNT; v++)
		names[count++] = verbs[v].name;
	for (size_t i = 0; i < TOPICS && help_in("topics", i); i++)
		names[count++] = help_in("topics", i);
	near = nearest_name(word, names, count);
	return shiny_err(SHINY_ERR_USAGE, "help: unknown verb or topic '%s'%s%s%s", word,
			 near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "");
}

static struct shiny_err *no_schema(const char *verb)
{
	return shiny_err(SHINY_ERR_USAGE,
			 "help: there is no schema of what %s prints: its manual page lists the "
			 "members",
			 verb);
}

static struct shiny_err *cmd_help(struct ctl *ctl)
{
	const struct options *o = &ctl->options;
	const char *word = o->operands[0], *topic = word ? help_text("topics", word) : NULL;
	FILE *out = ctl->style.out;
	enum verb_id verb = VERB_COUNT;

	bool all = word && strcmp(word, "verbs") == 0;

	if (word && !all)
		SHINY_TRY(verb_find(word, &verb));
	if (o->given[OPT_COMPLETION])
		help_completion(out, (enum help_shell)o->number[OPT_COMPLETION]);
	else if (o->given[OPT_TABLE])
		help_markdown(out);
	else if (!word && o->given[OPT_MAN])
		help_man(out);
	else if (!word)
		help_first(&ctl->style);
	else if (all)
		help_all(&ctl->style);
	else if (verb < VERB_COUNT && o->given[OPT_SCHEMA])
		return help_schema(out, verb) ? NULL : no_schema(word);
	else if (verb < VERB_COUNT && o->given[OPT_MAN])
		help_man_verb(out, verb);
	else if (verb < VERB_COUNT)
		help_verb(&ctl->style, verb);
	else if (topic && !o->given[OPT_MAN])
		help_topic(&ctl->style, topic);
	else
		return unknown(word);
	return NULL;
}

const struct verb_body verb_help = { .run = cmd_help };

static struct shiny_err *cmd_version(struct ctl *ctl)
{
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_number(&ctl->json, "wire_version", SHINY_VERSION);
		json_number(&ctl->json, "schema_version", STORE_SCHEMA_VERSION);
		json_end(&ctl->json);
	} else {
		fprintf(ctl->style.out, "shinyctl %s (ring format %u, session format %d)\n",
			SHINY_VERSION_TEXT, SHINY_VERSION, STORE_SCHEMA_VERSION);
	}
	return NULL;
}

const struct verb_body verb_version = { .run = cmd_version };
