/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.h: makes the end of a session file whose recording has not come to its own: its sidecar
 * died, or still writes it.
 *
 * Runs: CLI. Signals: no. Allocates: yes, as the sidecar itself. Threads: one; between calls there
 * is no other, and no file is open: a process may fork then, and one of the two may finish.
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

/* The same in steps, for who follows a recording. `options` without events, which are not kept;
 * they and `file` stay as they are until it is destroyed. */
struct recovery;
struct recovery *recovery_create(const struct sidecar_options *options, const char *file);
/*
 * Takes what has been committed since the last time. *behind: a fork became known whose moment lies
 * behind what had been read; only a new one can go on. After an error, too, it is of no use.
 */
SHINY_MUST_CHECK struct shiny_err *recovery_read(struct recovery *recovery, bool *behind);
/* Makes the end of what was read, once: then it can only be destroyed. */
SHINY_MUST_CHECK struct shiny_err *recovery_finish(struct recovery *recovery,
						   struct sidecar_summary *out);
void recovery_destroy(struct recovery *recovery);

#endif
