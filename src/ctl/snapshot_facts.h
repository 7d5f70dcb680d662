/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_facts.h: names the heap snapshot of a result, and what keeps blocks in it, for all
 * verbs.
 *
 * Runs: CLI. Signals: no. Allocates: cells of a table. Threads: one.
 */
#ifndef SHINY_SNAPSHOT_FACTS_H
#define SHINY_SNAPSHOT_FACTS_H

#include <stdio.h>

#include "../answer/table.h"
#include "../graph/retainers.h"

/* Prints "snapshot 1 of process 4711, at 2.5 s", the beginning of a line. */
void snapshot_facts_print(FILE *out, const struct graph_facts *facts);
/* Prints the table "Kept by", if it has rows; `what`: what its rows are. */
void keepers_print(const struct style *style, const struct keepers *keepers, const char *what);

#endif
