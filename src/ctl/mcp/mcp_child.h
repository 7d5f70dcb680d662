/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_child.h: runs shinyctl once more and takes what it prints.
 *
 * Runs: CLI. Signals: no. Allocates: what it prints. Threads: one.
 *
 * The server reads no session and is not confined, since a confined process may start none. Its
 * child is shinyctl with a verb, which confines itself before it reads a session.
 */
#ifndef SHINY_MCP_CHILD_H
#define SHINY_MCP_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "../../base/err.h"

enum { MCP_CHILD_MOST = 1 << 20 /* bytes that it may print */, MCP_CHILD_LINES = 4096 };

struct mcp_child {
	char *out; /* what it printed, as a text */
	char err[MCP_CHILD_LINES];
	bool failed;
	bool ended_early; /* by `poll` */
};

/* Runs it to its end. Meanwhile `poll(context, fd)` waits until `fd` can be read or ends; returning
 * false kills the child. Free `out`. */
SHINY_MUST_CHECK struct shiny_err *mcp_child_run(char *const *words,
						 bool (*poll)(void *context, int fd), void *context,
						 struct mcp_child *result);

#endif
