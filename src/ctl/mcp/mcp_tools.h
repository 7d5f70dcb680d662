/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tools.h: the verbs that read sessions as tools: their description, and the command line of a
 * call. Both come from verbs.def, options.def and the texts of the help.
 *
 * Runs: CLI. Signals: no. Allocates: the command line. Threads: any.
 */
#ifndef SHINY_MCP_TOOLS_H
#define SHINY_MCP_TOOLS_H

#include "../verbs.h"
#include "mcp_message.h"

/* Puts the list "tools" into the open object. */
void mcp_tools_put(struct json *json);

/* Returns the verb of a tool; VERB_COUNT: there is none of that name. */
enum verb_id mcp_tools_find(const char *name);

/* Makes the words of a call, which end with NULL; mcp_tools_free() frees them. */
SHINY_MUST_CHECK struct shiny_err *mcp_tools_command(enum verb_id verb,
						     const struct mcp_message *call, char ***words);
void mcp_tools_free(char **words);

#endif
