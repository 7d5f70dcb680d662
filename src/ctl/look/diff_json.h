/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_json.h: puts the rows of `diff` as JSON, for this verb and for the page of `html BASE NEW`;
 * help/verbs documents the members.
 *
 * Runs: CLI. Signals: no. Allocates: no. Threads: one.
 */
#ifndef SHINY_DIFF_JSON_H
#define SHINY_DIFF_JSON_H

#include "../../analysis/compare/diff.h"
#include "../../base/json.h"

/* Puts the array "rows" into the open object; `limit`: most rows. */
void json_diff_rows(struct json *json, const struct diff *diff, size_t limit);

#endif
