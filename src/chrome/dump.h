/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump.h: takes a browser's dumps: memory-infra's of all processes, V8's heap snapshot of each
 * page.
 *
 * Runs: CLI, on the thread of client.c. Signals: no. Allocates: the counts (counts.h). Threads:
 * one.
 *
 * A dump that cannot be read whole is dropped; the connection's trouble says why.
 */
#ifndef SHINY_DUMP_H
#define SHINY_DUMP_H

#include "connection.h"

/* Takes one memory-infra dump of all processes; true if it succeeded. */
bool dump_memory(struct connection *c, struct counts *counts);

/* Takes a heap snapshot of each page; returns how many succeeded. */
size_t dump_pages(struct connection *c, struct counts *counts);

/* True if some page has been loaded. */
bool dump_page_ready(struct connection *c);

#endif
