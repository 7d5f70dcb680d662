/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_json.h: what `shinyctl pages --json` prints; help/verbs/pages.txt names the members.
 *
 * Runs: CLI. Signals: no. Allocates: a list of runs of pages. Threads: one.
 */
#ifndef SHINY_PAGES_JSON_H
#define SHINY_PAGES_JSON_H

#include "../analysis/space/pages.h"
#include "ctl.h"

/* Types and call sites that are shown where --limit says nothing. */
enum { PAGES_USUAL_PINS = 10 };

/* Into the document that is open. `under`: --under, in bytes. */
void json_pages(struct ctl *ctl, const struct pages *p, uint64_t under);

#endif
