/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retainer_text.h: formats the way from a root to blocks, for all verbs.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_RETAINER_TEXT_H
#define SHINY_RETAINER_TEXT_H

#include "../base/json.h"
#include "../graph/retainers.h"
#include "../answer/table.h"

/* Returns "g_service (server) → Service::cache_ (std::map) → Entry… → char[]+0x18 → Name"; … for
 * several in a row, +0x18 if the word has no name. The caller frees it. */
char *retainer_text(const struct retainer_row *row);
/* Puts the array `steps`. */
void retainer_json(struct json *json, const struct retainer_row *row);

/* Print the table "Kept by", or put the array `kept_by`; without rows no table, and an empty
 * array. */
void keepers_print(const struct style *style, const struct keepers *keepers, const char *what);
void keepers_json(struct json *json, const struct keepers *keepers);

#endif
