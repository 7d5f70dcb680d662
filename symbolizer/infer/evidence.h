/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.h: writes a line of evidence of how a type was found.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SYM_EVIDENCE_H
#define SHINY_SYM_EVIDENCE_H

#include "../sym.h"

/* Does nothing if `evidence` is NULL. Cuts lines at 1200 bytes. */
void evidence_say(struct sym_evidence *evidence, unsigned depth, const char *format, ...)
	SHINY_PRINTF(3, 4);

#endif
