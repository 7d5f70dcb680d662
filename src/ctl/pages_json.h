/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_json.h: what `shinyctl pages --json` prints; help/verbs/pages.txt names the members.
 *
 * Runs: CLI. Signals: no. Allocates: a list of runs of pages. Threads: one.
 */
#ifndef SHINY_PAGES_JSON_H
#define SHINY_PAGES_JSON_H

#include "../analysis/space/pages.h"
#include "../base/json.h"

/* Into the object that is open. `under`: --under, in bytes; `limit`: types and call sites at most;
 * `map`: with each process's pages. */
void json_pages(struct json *json, const struct pages *p, uint64_t under, size_t limit, bool map);

#endif
