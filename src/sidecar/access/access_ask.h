/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_ask.h: how `shinyctl access` asks the sidecar of a session for sources of accesses while
 * its programs run.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: any.
 *
 * Who asks puts a file ACCESS_ASK_PREFIX N into the session directory, N its own pid, which holds
 * the sources from then on, as in SHINY_ACCESS. It is made under another name and renamed. The
 * sidecar removes it when it has done what it says.
 */
#ifndef SHINY_ACCESS_ASK_H
#define SHINY_ACCESS_ASK_H

#include <stdbool.h>

#define ACCESS_ASK_PREFIX "access-ask."

struct access_sources {
	bool watch, pages; /* watches.h, page_uses.h */
};

/* "off", or sources between commas. False: a word means nothing; `out` is untouched. */
bool access_sources_read(const char *text, struct access_sources *out);

#endif
