/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_json.h: the rows that `diff` prints with --json, for this verb and for the page of
 * `html BASE NEW`; help/verbs names the members.
 *
 * Runs: CLI. Signals: no. Allocates: no. Threads: one.
 */
#ifndef SHINY_DIFF_JSON_H
#define SHINY_DIFF_JSON_H

#include "../analysis/compare/diff.h"
#include "../base/json.h"

/* The array "rows" into the object that is open; `limit`: at most as many as there are. */
void json_diff_rows(struct json *json, const struct diff *diff, size_t limit);

#endif
