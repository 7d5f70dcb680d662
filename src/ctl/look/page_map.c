/* SPDX-License-Identifier: Apache-2.0 */
#include "page_map.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../../base/mem.h"
#include "../../base/units.h"

enum { CELLS = 64 /* a line */, LINES_OF_PAGES = 100, LINES_MOST = 1 << 16, LEVELS = 8 };

struct map_cell {
	uint64_t number; /* of the page or range */
	uint64_t bytes;
	uint8_t fates;
	bool little; /* a pinned page less than half live, or a range less than a tenth live */
};

/* Returns the lines that the pages of a process take. */
static size_t lines_of_pages(const struct pages_process *p)
{
	uint64_t last = UINT64_MAX;
	size_t lines = 0;

	for (size_t i = 0; i < p->run_count; i++) {
		uint64_t from = p->runs[i].page / CELLS,
			 to = (p->runs[i].page + p->runs[i].count - 1) / CELLS;

		lines += (size_t)(to - from) + (from != last);
		last = to;
	}
	return lines;
}

static struct map_cell *cells_of(const struct pages_process *p, uint64_t pages, size_t *out_count)
{
	VEC(struct map_cell) cells = { NULL, 0, 0 };

	for (size_t i = 0; i < p->run_count; i++) {
		const struct page_run *run = &p->runs[i];

		for (uint64_t page = run->page, left = run->count; left;) {
			uint64_t n = pages - page % pages;
			struct map_cell *cell = cells.count ? &cells.at[cells.count - 1] : NULL;

			n = n < left ? n : left;
			if (!cell || cell->number != page / pages) {
				cell = vec_push(&cells);
				*cell = (struct map_cell){ .number = page / pages };
			}
			cell->bytes += n * run->bytes;
			cell->fates |= run->fates;
			cell->little = pages == 1 && run->pinned && run->bytes < PAGE_BYTES / 2;
			page += n;
			left -= n;
		}
	}
	for (size_t i = 0; pages > 1 && i < cells.count; i++)
		cells.at[i].little = cells.at[i].bytes * 10 < pages * PAGE_BYTES;
	*out_count = cells.count;
	return cells.at;
}

static enum tint tint_of(const struct map_cell *cell)
{
	if (!(cell->fates & PAGE_PERSISTENT))
		return TINT_GOOD;
	if (cell->little)
		return TINT_BAD;
	return cell->fates == PAGE_PERSISTENT ? TINT_NONE : TINT_WARN;
}

static void print_cell(const struct style *style, const struct map_cell *cell, uint64_t pages)
{
	unsigned level = (unsigned)(cell->bytes * LEVELS / (pages * PAGE_BYTES));

	level = level < LEVELS ? level : LEVELS - 1;
	/* U+2581 to U+2588 */
	fprintf(style->out, "\xe2\x96%c", (char)(0x81 + level));
}

void page_map_print(const struct style *style, const struct pages_process *p, enum page_cell how)
{
	/* pages on request, as long as they are readable: a block of a tebibyte is four million
	 * lines */
	size_t most = how == PAGE_CELL_PAGE   ? LINES_MOST
		      : how == PAGE_CELL_AUTO ? LINES_OF_PAGES
					      : 0;
	uint64_t pages = lines_of_pages(p) <= most ? 1 : RANGE_PAGES, line = 0;
	size_t count;
	struct map_cell *cells = cells_of(p, pages, &count);

	fprintf(style->out, "%s%s, pid %u%s: %s, %s live; a cell is %s\n", tint(style, TINT_BOLD),
		p->name, p->pid, tint_end(style, TINT_BOLD),
		units_noun(UNITS_NOUN_BUF, p->sums.pages, "page"),
		units_bytes(UNITS_BUF, p->sums.bytes - p->sums.overlap_bytes),
		pages == 1 ? "4 KiB" : "2 MiB");
	for (size_t i = 0; i < count;) {
		uint64_t this_line = cells[i].number / CELLS, at = this_line * CELLS;
		enum tint last = TINT_NONE;

		if (i && this_line != line + 1)
			fprintf(style->out, "%s%16s %s%s\n", tint(style, TINT_DIM),
				"\xe2\x8b\xae", /* three columns of bytes, one on screen */
				units_bytes(UNITS_BUF,
					    (this_line - line - 1) * CELLS * pages * PAGE_BYTES),
				tint_end(style, TINT_DIM));
		line = this_line;
		fprintf(style->out, "%14" PRIx64 " ", at * pages * PAGE_BYTES);
		for (; i < count && cells[i].number / CELLS == this_line; i++) {
			enum tint now = tint_of(&cells[i]);

			if (now != last || at < cells[i].number)
				fputs(tint_end(style, last), style->out);
			for (; at < cells[i].number; at++) {
				putc(' ', style->out);
				last = TINT_NONE;
			}
			if (now != last)
				fputs(tint(style, now), style->out);
			last = now;
			print_cell(style, &cells[i], pages);
			at++;
		}
		fprintf(style->out, "%s\n", tint_end(style, last));
	}
	free(cells);
}

void page_map_legend(const struct style *style, bool fates)
{
	fprintf(style->out,
		"an eighth \xe2\x96\x81 to all of it \xe2\x96\x88 is live, blank: nothing");
	if (style->colour)
		fprintf(style->out, "; %sred%s kept by little%s", tint(style, TINT_BAD),
			tint_end(style, TINT_BAD), fates ? " that stays" : "");
	if (style->colour && fates)
		fprintf(style->out, ", %sgreen%s all of it ends later, %syellow%s some of it",
			tint(style, TINT_GOOD), tint_end(style, TINT_GOOD), tint(style, TINT_WARN),
			tint_end(style, TINT_WARN));
	putc('\n', style->out);
}
