/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_map.h: draws an address space in characters: a cell for a page or a range of 2 MiB, ▁ to █
 * by its live share.
 *
 * Runs: CLI. Signals: no. Allocates: 24 bytes a cell drawn. Threads: one.
 *
 * Colours (on a terminal) show what keeps a cell: red: pinned pages less than half live, and ranges
 * less than a tenth live; green: all blocks end later; yellow: some do. Blank: no live blocks.
 * Lines have 64 cells; empty ones are left out.
 */
#ifndef SHINY_PAGE_MAP_H
#define SHINY_PAGE_MAP_H

#include "../../analysis/space/pages.h"
#include "../../answer/table.h"

/* AUTO: pages if they fit a few screens */
enum page_cell { PAGE_CELL_AUTO, PAGE_CELL_PAGE, PAGE_CELL_RANGE };

void page_map_print(const struct style *style, const struct pages_process *process,
		    enum page_cell cell);
/* Prints the meaning of characters and colours; `fates`: live blocks end in different ways. */
void page_map_legend(const struct style *style, bool fates);

#endif
