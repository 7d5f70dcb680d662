/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_ask.h: how `shinyctl tell` asks the sidecar of a session for sources of accesses while
 * its programs run.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: any.
 *
 * The asking process puts a file ACCESS_ASK_PREFIX N into the session directory, where N is its
 * pid. The file names the sources that shall be on, as in SHINY_ACCESS. It is created under another
 * name and renamed. The sidecar switches the sources, then removes the file.
 */
#ifndef SHINY_ACCESS_ASK_H
#define SHINY_ACCESS_ASK_H

#include <stdbool.h>

#define ACCESS_ASK_PREFIX "access-ask."

struct access_sources {
	bool watch, pages; /* watches.h, page_uses.h */
};

/* Reads "off", or sources between commas. False: a word is unknown; `out` is untouched. */
bool access_sources_read(const char *text, struct access_sources *out);

#endif
