/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.h: a line of evidence, for whoever asks how a type was found.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SYM_EVIDENCE_H
#define SHINY_SYM_EVIDENCE_H

#include "../sym.h"

/* Does nothing where nobody asks: `evidence` is NULL. A longer line is cut at 1200 bytes. */
void evidence_say(struct sym_evidence *evidence, unsigned depth, const char *format, ...)
	SHINY_PRINTF(3, 4);

#endif
