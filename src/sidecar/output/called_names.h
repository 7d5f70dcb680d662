/* SPDX-License-Identifier: Apache-2.0 */
/*
 * called_names.h: finds names for functions without one in the calls that led to them.
 *
 * Runs: sidecar. Signals: no. Allocates: yes, 2 bytes a frame. Threads: one.
 *
 * An exported function that ends in a jump to another one is in no stack: only the call in its
 * caller's frame says its name. Stripped libraries have many: cairo calls pixman_image_create_bits,
 * and the frame is one of a function that has no name.
 */
#ifndef SHINY_CALLED_NAMES_H
#define SHINY_CALLED_NAMES_H

#include "../../../symbolizer/sym.h"
#include "../state/output.h"

/* Writes what the frames call that lie above a frame without a function's name. `modules`: by
 * module id. */
void called_names_find(struct output *output, struct sym_module *const *modules);

#endif
