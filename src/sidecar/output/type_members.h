/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_members.h: finds the words of a type that hold pointers, by debug information, and writes
 * them to table member.
 *
 * Runs: sidecar. Signals: no. Allocates: the words of one type at a time. Threads: one.
 */
#ifndef SHINY_TYPE_MEMBERS_H
#define SHINY_TYPE_MEMBERS_H

#include "../../../symbolizer/sym.h"
#include "../state/output.h"

/* Writes the rows of a class, if a module's debug information defines it. modules[id]. */
void type_members_put(struct output *output, struct sym_module *const *modules,
		      const struct store_type *type);

#endif
