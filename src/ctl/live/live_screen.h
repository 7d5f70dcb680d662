/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_screen.h: draws samples of a session that is being recorded, in a terminal, with ncurses.
 *
 * Runs: CLI. Signals: SIGINT, SIGTERM and SIGHUP end it. Allocates: a row's place a row. Threads:
 * one.
 *
 * ncurses sends only changes, so nothing flickers, and a slow terminal slows only shinyctl.
 */
#ifndef SHINY_LIVE_SCREEN_H
#define SHINY_LIVE_SCREEN_H

#include "live_sample.h"

enum live_sort { LIVE_BY_BYTES, LIVE_BY_BLOCKS, LIVE_BY_GROWTH, LIVE_BY_RATE, LIVE_SORTS };

struct live_screen {
	const char *name; /* of the session */
	enum live_view view;
	enum live_sort sort;
	char filter[64]; /* text_matches(); "": all */
	bool typing;     /* keys go to the filter */
	bool paused;
	size_t top;        /* first row shown */
	char message[128]; /* in the last line; "": the keys */
	/* NULL: none yet. Growth counts from `base`. */
	const struct live_sample *now, *last, *base;
};

/* The user's request to the caller. */
enum live_wish { LIVE_NOTHING, LIVE_QUIT, LIVE_MARK };

SHINY_MUST_CHECK struct shiny_err *live_screen_open(void);
void live_screen_close(void);
void live_screen_draw(struct live_screen *screen);
/* Handles the pending keys. */
enum live_wish live_screen_keys(struct live_screen *screen);
bool live_screen_ended(void); /* a signal has come */

#endif
