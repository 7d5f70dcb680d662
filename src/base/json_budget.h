/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_budget.h: keeps a JSON document within a number of bytes, by leaving rows out at the ends of
 * its lists, and says in its last member, "left_out", which rows it leaves out.
 *
 * Runs: CLI. Signals: no. Allocates: the document, as far as it may be printed. Threads: one a
 * document.
 *
 * A list is what json_array() begins; the elements of json_array_line() are one value, and stay
 * together. The document is built in memory, where each row of a list has a rank: its place in its
 * list, or the rank of the row that it is inside, if that is greater. Rows are taken by their rank
 * while they fit. So each list, however deep, has its first rows, and the lists share the room.
 *
 * Rows in front of a row that lie beyond the budget by themselves can be in no document: they are
 * forgotten at once, so the memory is bounded by the budget and the longest row.
 *
 * A writer that itself stops before the end of a list says so: json_left_out().
 */
#ifndef SHINY_JSON_BUDGET_H
#define SHINY_JSON_BUDGET_H

#include <stddef.h>

#include "json.h"

/* Begins it, before the document's outermost object. `bytes`: of the document; `rows`: most of a
 * list, but for "losses". 0: any number. */
void json_budget_begin(struct json *json, size_t bytes, size_t rows);
/* Counts rows that the open list does not have, without a budget none. */
void json_left_out(struct json *json, size_t rows);
/* Returns the bytes that the smallest document takes, if those are more than the budget; then what
 * is printed is no document. 0: it is one. */
size_t json_budget_short(const struct json *json);
void json_budget_free(struct json *json); /* accepts a writer without one */

#endif
