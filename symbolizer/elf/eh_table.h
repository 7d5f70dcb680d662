/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eh_table.h: finds where functions start in a file without symbols, from .eh_frame_hdr's sorted
 * table.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: any.
 *
 * A stripped file keeps that table, as exceptions need it. A function that the compiler has split
 * has an entry for each part.
 */
#ifndef SHINY_SYM_EH_TABLE_H
#define SHINY_SYM_EH_TABLE_H

#include "binary.h"

/* Finds the function, or part of one, that holds `vaddr`: up to the next entry. False: unknown. */
bool eh_table_find(const struct binary *file, uint64_t vaddr, uint64_t *low, uint64_t *high);

#endif
