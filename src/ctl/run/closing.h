/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closing.h: prints the summary of a recording at its end, on standard error, or as JSON in a file.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_CLOSING_H
#define SHINY_CLOSING_H

#include "../../sidecar/sidecar.h"
#include "../ctl.h"

/* Prints to standard error; `quiet`: only losses. */
void closing_print(const struct sidecar_summary *summary, bool quiet);
/* Puts the members into the open object. */
void closing_json(struct json *json, const struct sidecar_summary *summary);
/* Writes the JSON document to `path`. */
SHINY_MUST_CHECK struct shiny_err *closing_write(const struct sidecar_summary *summary,
						 const char *path);

#endif
