/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_uses.h: finds mappings with live blocks that are not touched for a time, and the touched
 * pages of the others (SHINY_ACCESS=pages).
 *
 * Runs: sidecar. Signals: no. Allocates: readings until they are written. Threads: the loop's; the
 * thread of referenced.h reads. Its header says what a reading proves.
 *
 * Rounds. The marks of a process are cleared, and read several times later: after 0.1 and 1 s, and
 * in every third round also after 3 and 10 s, so that short programs and short uses are seen as
 * well. A row per mapping and reading has its resident pages, and an upper bound of the pages
 * touched since the clearing. With none touched, every block that lived on the mapping throughout
 * is unused: a fact, not an estimate. Only mappings with live blocks have rows.
 *
 * The cost. A process has its next round when the rounds so far have cost less than
 * 1/REFERENCED_SHARE, 3 %, of the time since its first one (clearing, reading, and an allowance for
 * each page that is touched again). The session records the cost of all rounds.
 *
 * Each process has one note per reason for missing readings.
 */
#ifndef SHINY_PAGE_USES_H
#define SHINY_PAGE_USES_H

#include "../state/output.h"
#include "../state/people.h"

struct page_uses;

/* False: it is not available here; page_uses_end writes a note that says why. */
bool page_uses_on(struct page_uses **uses);
/* Requires that it is on. Rounds under way end with a last reading. */
void page_uses_off(struct page_uses *u, struct output *output);
void page_uses_serve(struct page_uses *u, struct output *output,
		     const struct people *people); /* once a round */
void page_uses_end(struct page_uses *u,
		   struct output *output);	/* all records are applied, and it is off */
void page_uses_destroy(struct page_uses *uses); /* accepts NULL */

#endif
