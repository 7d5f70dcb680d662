/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump.h: the dumps that are asked of a browser: memory-infra's of all processes, V8's of each
 * page.
 *
 * Runs: CLI, on the thread of client.c. Signals: no. Allocates: what counts.h keeps. Threads: one.
 *
 * What could not be read whole is taken back; the connection's trouble says why.
 */
#ifndef SHINY_DUMP_H
#define SHINY_DUMP_H

#include "connection.h"

/* One memory-infra dump of all processes; whether it was taken. */
bool dump_memory(struct connection *c, struct counts *counts);

/* A heap snapshot of each page; how many were taken. */
size_t dump_pages(struct connection *c, struct counts *counts);

/* Whether some page has been loaded. */
bool dump_page_ready(struct connection *c);

#endif
