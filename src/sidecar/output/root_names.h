/* SPDX-License-Identifier: Apache-2.0 */
/*
 * root_names.h: names the variables that are roots of heap snapshots.
 *
 * Runs: sidecar. Signals: no. Allocates: little. Threads: one.
 */
#ifndef SHINY_ROOT_NAMES_H
#define SHINY_ROOT_NAMES_H

#include "../../../symbolizer/sym.h"
#include "../state/output.h"

/* Call at the end, once the modules' files are open: modules[id]. Writes the rows again, with
 * names. */
void root_names_put(struct output *output, struct sym_module **modules);

#endif
