/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_json.h: puts the JSON of `shinyctl pages`; help/verbs/pages.txt documents the members.
 *
 * Runs: CLI. Signals: no. Allocates: a list of runs of pages. Threads: one.
 */
#ifndef SHINY_PAGES_JSON_H
#define SHINY_PAGES_JSON_H

#include "../analysis/space/pages.h"
#include "../base/json.h"

/* Puts members into the open object. `under`: --under, in bytes; `limit`: most types and call
 * sites; `map`: with each process's pages. */
void json_pages(struct json *json, const struct pages *p, uint64_t under, size_t limit, bool map);

#endif
