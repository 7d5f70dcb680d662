/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_help.c: `shinyctl help` and `shinyctl version`. */
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../base/nearest.h"
#include "../ctl.h"
#include "../help.h"

struct shiny_err *cmd_help(struct ctl *ctl)
{
	const char *names[VERB_COUNT + 1], *word = ctl->options.operands[0], *near;

	if (ctl->options.given[OPT_MAN]) {
		help_man(stdout);
	} else if (ctl->options.given[OPT_COMPLETION]) {
		help_completion(stdout);
	} else if (ctl->options.given[OPT_TABLE]) {
		help_markdown(stdout);
	} else if (!word) {
		help_all(&ctl->style);
	} else if (strcmp(word, HELP_DEFINITIONS) == 0) {
		help_definitions(&ctl->style);
	} else {
		for (size_t v = 0; v < VERB_COUNT; v++) {
			names[v] = verbs[v].name;
			if (strcmp(word, names[v]) == 0) {
				help_verb(&ctl->style, (enum verb_id)v);
				return NULL;
			}
		}
		names[VERB_COUNT] = HELP_DEFINITIONS;
		near = nearest_name(word, names, VERB_COUNT + 1);
		return shiny_err(SHINY_ERR_USAGE, "help: unknown verb '%s'%s%s%s", word,
				 near ? "; the nearest is '" : "", near ? near : "",
				 near ? "'" : "");
	}
	return NULL;
}

struct shiny_err *cmd_version(struct ctl *ctl)
{
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_number(&ctl->json, "wire_version", SHINY_VERSION);
		json_number(&ctl->json, "schema_version", STORE_SCHEMA_VERSION);
		json_end(&ctl->json);
	} else {
		fprintf(stdout, "shinyctl %s (ring format %u, session format %d)\n",
			SHINY_VERSION_TEXT, SHINY_VERSION, STORE_SCHEMA_VERSION);
	}
	return NULL;
}
