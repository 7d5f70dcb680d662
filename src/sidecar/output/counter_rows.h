/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_rows.h: writes the counters of the library and the sidecar, losses among them, to the
 * session file.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: by the store only. Threads: one.
 *
 * They are written with each commit: if the sidecar is killed, only the file has the losses until
 * then.
 */
#ifndef SHINY_COUNTER_ROWS_H
#define SHINY_COUNTER_ROWS_H

#include "../state/output.h"
#include "../state/people.h"
#include "../state/rings.h"

/* Writes the counters that have changed since the last call. */
void counter_rows_write(const struct rings *rings, const struct people *people,
			struct output *output);
/* Writes all counters, at the end; adds losses to out->lost. */
void counter_rows_finish(const struct rings *rings, const struct people *people,
			 struct output *output, struct sidecar_summary *out);

#endif
