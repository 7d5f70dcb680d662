/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torn.h: mapped files that somebody cuts short under us.
 *
 * Runs: sidecar. Signals: SIGBUS. Allocates: a page for each that is missing. Threads: any.
 *
 * Whoever may write to a ring can cut it short while we read it, and a file system that is full
 * cannot give a page that was promised: either is a SIGBUS for us, and the sessions of all other
 * processes would end with it. So the page that is not there becomes one of zeros, which say
 * nothing (a chunk that is FREE, a record that is not published), and the count says that it
 * happened. The same for any other file that we map: an executable that is built anew while its
 * types are read.
 */
#ifndef SHINY_TORN_H
#define SHINY_TORN_H

#include <signal.h>
#include <stdint.h>

void torn_begin(struct sigaction *was);
void torn_end(const struct sigaction *was);
uint64_t torn_pages(void); /* that were not there, so far */

#endif
