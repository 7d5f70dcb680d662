/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.h: finishes the session file of a sidecar that died.
 *
 * Runs: CLI. Signals: no. Allocates: yes, as the sidecar itself. Threads: one.
 */
#ifndef SHINY_RECOVER_H
#define SHINY_RECOVER_H

#include "../base/err.h"
#include "state/sidecar_options.h"

/*
 * Writes a new file: options->out, or NAME.recovered.shiny. `file` is kept. Only the options for
 * names and types count.
 */
SHINY_MUST_CHECK struct shiny_err *sidecar_recover(const struct sidecar_options *options,
						   const char *file, struct sidecar_summary *out);

#endif
