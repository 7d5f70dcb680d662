/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.h: completes a session file whose recording has not finished: its sidecar died, or still
 * writes it.
 *
 * Runs: CLI. Signals: no. Allocates: yes, as the sidecar itself. Threads: one. Between calls there
 * is no other thread and no open file, so a process may fork then, and one of the two may finish.
 */
#ifndef SHINY_RECOVER_H
#define SHINY_RECOVER_H

#include "../base/err.h"
#include "state/sidecar_options.h"

/*
 * Writes a new file: options->out, or NAME.recovered.shiny. `file` is not changed. Only the options
 * for output, names and types count.
 */
SHINY_MUST_CHECK struct shiny_err *sidecar_recover(const struct sidecar_options *options,
						   const char *file, struct sidecar_summary *out);

/* The same in steps, for commands that follow a recording. `options` without events, as these are
 * not copied then; `options` and `file` must stay unchanged until recovery_destroy. */
struct recovery;
struct recovery *recovery_create(const struct sidecar_options *options, const char *file);
/*
 * Reads everything committed since the last call. *behind: a fork became known that is earlier than
 * events already read. Then, and after an error, the recovery can only be destroyed, and a new one
 * must read everything.
 */
SHINY_MUST_CHECK struct shiny_err *recovery_read(struct recovery *recovery, bool *behind);
/* Writes the end of the data read so far. Call once; then the recovery can only be destroyed. */
SHINY_MUST_CHECK struct shiny_err *recovery_finish(struct recovery *recovery,
						   struct sidecar_summary *out);
void recovery_destroy(struct recovery *recovery);

#endif
