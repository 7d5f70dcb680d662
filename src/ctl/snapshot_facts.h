/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_facts.h: names the heap snapshot of a result, for all verbs on snapshots.
 *
 * Runs: CLI. Signals: no. Allocates: no. Threads: one.
 */
#ifndef SHINY_SNAPSHOT_FACTS_H
#define SHINY_SNAPSHOT_FACTS_H

#include <stdio.h>

#include "../base/json.h"
#include "../graph/heap_graph.h"

/* Prints "snapshot 1 of process 4711, at 2.5 s", the beginning of a line. */
void snapshot_facts_print(FILE *out, const struct graph_facts *facts);
/* Puts the members snapshot, process, pid, at_ns. */
void snapshot_facts_json(struct json *json, const struct graph_facts *facts);

#endif
