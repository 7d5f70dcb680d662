/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_options.h: what a sidecar is told, from the options of `run` or `collect` and the
 * environment.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_RECORDING_OPTIONS_H
#define SHINY_RECORDING_OPTIONS_H

#include "../../sidecar/sidecar.h"
#include "../options.h"

/* Returns options without a launcher; the texts in them are those of `options`. */
struct sidecar_options recording_options(const struct options *options, const char *directory,
					 const char *out);

#endif
