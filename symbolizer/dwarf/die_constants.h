/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_constants.h: writes the numbers in a type's name: value arguments of templates, bounds of
 * arrays.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the text. Threads: one at a time.
 */
#ifndef SHINY_SYM_DIE_CONSTANTS_H
#define SHINY_SYM_DIE_CONSTANTS_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "name_text.h"

/*
 * Writes the value of a template parameter: a number, a truth value, or an enumerator's number;
 * then `enumeration` is the enumeration, otherwise its addr is NULL. False: DWARF has no number, or
 * one of another type.
 */
bool die_constant_value(Dwarf_Die *parameter, struct name_text *number, Dwarf_Die *enumeration);

/* Appends "[3][4]". */
void die_constant_bounds(Dwarf_Die *array, struct name_text *out);

#endif
