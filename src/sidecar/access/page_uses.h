/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_uses.h: which mappings with live blocks are not touched for a time, and how many pages of
 * the others are (SHINY_ACCESS=pages).
 *
 * Runs: sidecar. Signals: no. Allocates: one mapping's reading each until it is written. Threads:
 * the loop's; the reading is done in that of referenced.h, which says what is proven and what not.
 *
 * Rounds. The marks of a process are cleared, and read PAGE_USES_TIMES later: every third round
 * lasts ten seconds, the others one, so that short programs and short uses are seen as well. One
 * row a mapping and reading: how many of its pages are there, and how many of them at most were
 * touched since the clearing. With none touched, every block that lived on the mapping throughout
 * is unused: a fact, not an estimate. Only mappings with live blocks have rows.
 *
 * The cost. A process has its next round when the rounds so far have cost less than
 * 1/REFERENCED_SHARE, 3 %, of the time since its first one (clearing, reading, and an allowance for
 * each page that is touched again). A session says what all of them have cost.
 *
 * What is missing is one note a process and reason.
 */
#ifndef SHINY_PAGE_USES_H
#define SHINY_PAGE_USES_H

#include "../state/session.h"

/* False: it cannot be had here; a note at the end says why. */
bool page_uses_on(struct session *session);
/* It is on. Rounds under way end with what is known. */
void page_uses_off(struct session *session);
void page_uses_serve(struct session *session); /* once a round */
void page_uses_end(struct session *session);   /* everything is applied, and it is off */
void page_uses_destroy(struct page_uses *uses); /* accepts NULL */

#endif
