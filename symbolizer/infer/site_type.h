/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_type.h: finds the type of the block that a call returned, from the code and the debug
 * information around the return address.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_SITE_TYPE_H
#define SHINY_SYM_SITE_TYPE_H

#include "site_answer.h"
#include "site_reader.h"

/* Applies the rules to the return address `ret`. `evidence` may be NULL; it receives one line a
 * step. */
void site_type_read(const struct site_reader *reader, uint64_t ret, struct site_answer *out,
		    struct sym_evidence *evidence);

#endif
