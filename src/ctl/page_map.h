/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_map.h: an address space drawn in characters: a cell a page or a range of 2 MiB, ▁ to █ by
 * how much of it is live.
 *
 * Runs: CLI. Signals: no. Allocates: 24 bytes a cell that is drawn. Threads: one.
 *
 * Colours say what keeps a cell (on a terminal): red pinned pages of which less than half is live,
 * and ranges of which less than a tenth is; green where all will end by itself, yellow where some
 * will. Blank: no live blocks. Lines of 64 cells, those with nothing on them are left out.
 */
#ifndef SHINY_PAGE_MAP_H
#define SHINY_PAGE_MAP_H

#include "../analysis/space/pages.h"
#include "table.h"

/* AUTO: pages where that fits a few screens */
enum page_cell { PAGE_CELL_AUTO, PAGE_CELL_PAGE, PAGE_CELL_RANGE };

void page_map_print(const struct style *style, const struct pages_process *process,
		    enum page_cell cell);
/* What the characters and colours mean; `fates`: what is live ends in different ways. */
void page_map_legend(const struct style *style, bool fates);

#endif
