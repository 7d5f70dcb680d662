/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torn.h: survives mapped files that are truncated while they are read.
 *
 * Runs: sidecar. Signals: SIGBUS. Allocates: a page for each missing one. Threads: any.
 *
 * Any writer of a ring can truncate it while the sidecar reads it, and a full file system cannot
 * provide a promised page: either raises SIGBUS, which would end the recording of all other
 * processes, too. So a missing page becomes one of zeros, which mean nothing (a chunk that is FREE,
 * a record that is not published), and is counted. The same holds for any other mapped file, such
 * as an executable that is rebuilt while its types are read.
 */
#ifndef SHINY_TORN_H
#define SHINY_TORN_H

#include <signal.h>
#include <stdint.h>

void torn_begin(struct sigaction *was);
void torn_end(const struct sigaction *was);
uint64_t torn_pages(void); /* number of missing pages so far */

#endif
