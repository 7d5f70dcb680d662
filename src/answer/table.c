/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../base/mem.h"
#include "../base/terminal.h"
#include "../base/units.h"

enum {
	GAP = 2,	     /* columns between columns */
	FLEXIBLE_LEAST = 30, /* below this other columns are dropped first */
	CUT_LEAST = 12,	     /* least width of a flexible column */
	BAR = 10,
	PIPED_LONGEST = 120, /* a C++ name may have a thousand columns, too many for a log */
};

/* ---- style ---- */

void style_init(struct style *style, FILE *out, int file, bool wide)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM"),
		   *columns = getenv("COLUMNS");
	bool terminal = isatty(file) == 1;
	struct winsize size;

	*style = (struct style){ .out = out };
	style->colour = terminal && !(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0;
	if (!wide && !terminal)
		style->longest = PIPED_LONGEST;
	if (wide || !terminal)
		return;
	if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col)
		style->width = size.ws_col;
	else if (columns && atoi(columns) > 0)
		style->width = (size_t)atoi(columns);
	else
		style->width = 80;
	if (style->width < 40)
		style->width = 40;
}

static const char *code(enum tint which)
{
	static const char *const plain[] = {
		[TINT_NONE] = "\033[0m",  [TINT_BOLD] = "\033[1m",  [TINT_DIM] = "\033[2m",
		[TINT_GOOD] = "\033[32m", [TINT_WARN] = "\033[33m", [TINT_BAD] = "\033[31m",
		[TINT_NAME] = "\033[36m",
	};
	static char codes[sizeof(plain) / sizeof(*plain)][TERMINAL_SEQUENCE];

	return *codes[which] ? codes[which] : terminal_sequence(codes[which], plain[which]);
}

const char *tint(const struct style *style, enum tint which)
{
	return style->colour && which != TINT_NONE ? code(which) : "";
}

const char *tint_end(const struct style *style, enum tint which)
{
	return style->colour && which != TINT_NONE ? code(TINT_NONE) : "";
}

/* ---- filling ---- */

void table_init(struct table *table, const struct table_column *columns, size_t count)
{
	*table = (struct table){ .columns = columns, .column_count = count };
	table->totals = mem_zero(count, sizeof(*table->totals));
}

void table_deinit(struct table *table)
{
	for (size_t i = 0; i < table->rows * table->column_count; i++)
		free(table->cells[i].text);
	for (size_t i = 0; i < table->rows; i++)
		free(table->below[i]);
	free(table->cells);
	free(table->below);
	free(table->totals);
}

void table_row(struct table *table)
{
	size_t n = table->column_count;

	if (table->rows == table->room) {
		table->room = table->room ? table->room * 2 : 64;
		table->cells = mem_resize(table->cells, table->room * n, sizeof(*table->cells));
		table->below = mem_resize(table->below, table->room, sizeof(*table->below));
	}
	for (size_t i = 0; i < n; i++)
		table->cells[table->rows * n + i] = (struct cell){ .empty = true };
	table->below[table->rows++] = NULL;
}

static struct cell *last(struct table *table, size_t column)
{
	struct cell *cell = &table->cells[(table->rows - 1) * table->column_count + column];

	cell->empty = false;
	return cell;
}

void table_text(struct table *table, size_t column, const char *text)
{
	last(table, column)->text = mem_text(text);
}

void table_number(struct table *table, size_t column, uint64_t number)
{
	last(table, column)->number = number;
}

void table_below(struct table *table, char *text)
{
	table->below[table->rows - 1] = text;
}

void table_total(struct table *table, size_t column, uint64_t total)
{
	table->totals[column] = total;
}

/* ---- printing ---- */

static void bar(char *out, size_t room, double share)
{
	static const char *const eighths[] = { "",
					       "\xe2\x96\x8f",
					       "\xe2\x96\x8e",
					       "\xe2\x96\x8d",
					       "\xe2\x96\x8c",
					       "\xe2\x96\x8b",
					       "\xe2\x96\x8a",
					       "\xe2\x96\x89" };
	/* a damaged file may have any number */
	int parts = (int)((share < 1 ? share : 1) * BAR * 8 + 0.5);
	size_t at = 0;

	if (parts == 0 && share > 0)
		parts = 1;
	for (; parts >= 8; parts -= 8)
		at += (size_t)snprintf(out + at, room - at, "\xe2\x96\x88");
	snprintf(out + at, room - at, "%s", eighths[parts]);
}

/* Returns the cell's text, uncut. `room` suffices for all but text, which is returned itself. */
static const char *render(const struct table *table, size_t column, const struct cell *cell,
			  char *out, size_t room)
{
	char text[UNITS_TEXT];
	double total = (double)table->totals[column];

	if (cell->empty)
		return "";
	switch (table->columns[column].kind) {
	case CELL_TEXT:
	case CELL_RIGHT:
		return cell->text;
	case CELL_COUNT:
		snprintf(out, room, "%s", units_count(text, cell->number));
		break;
	case CELL_BYTES:
		snprintf(out, room, "%s", units_bytes(text, cell->number));
		break;
	case CELL_TIME:
		snprintf(out, room, "%s", units_time(text, cell->number));
		break;
	case CELL_SHARE:
		snprintf(out, room, "%s", units_share(text, (double)cell->number, total));
		break;
	case CELL_BAR:
		bar(out, room, total > 0 ? (double)cell->number / total : 0);
		break;
	}
	return out;
}

/* Narrows the columns of cut C++ names, which lose template arguments and may become much shorter
 * than their room: the columns behind move up. */
static void close_up(const struct table *table, size_t *widths)
{
	size_t n = table->column_count;
	char buffer[128];

	for (size_t c = 0; c < n; c++) {
		const struct table_column *column = &table->columns[c];
		size_t room = 4 * widths[c] + 8, most = text_columns(column->title);
		char *fitted;

		if (!widths[c] || !column->flexible)
			continue;
		fitted = mem_alloc(room);
		for (size_t r = 0; r < table->rows; r++) {
			size_t used = text_fit(fitted, room,
					       render(table, c, &table->cells[r * n + c], buffer,
						      sizeof(buffer)),
					       widths[c], column->cut);

			most = used > most ? used : most;
		}
		free(fitted);
		if (most < widths[c])
			widths[c] = most;
	}
}

/* Sets widths[]; 0: a column that is not shown. */
static void lay_out(const struct table *table, const struct style *style, size_t *widths)
{
	size_t n = table->column_count, natural = 0, fixed = 0, flexible = 0, flexible_width = 0;
	char buffer[128];

	for (size_t c = 0; c < n; c++) {
		bool empty = table->rows > 0;

		for (size_t r = 0; r < table->rows && empty; r++)
			empty = table->cells[r * n + c].empty;
		widths[c] = 0;
		if (empty) /* an empty column */
			continue;
		widths[c] = text_columns(table->columns[c].title);
		if (table->columns[c].kind == CELL_BAR && widths[c] < BAR)
			widths[c] = BAR;
		for (size_t r = 0; r < table->rows; r++) {
			size_t w = text_columns(
				render(table, c, &table->cells[r * n + c], buffer, sizeof(buffer)));

			if (w > widths[c])
				widths[c] = w;
		}
	}
	if (!style->width) {
		for (size_t c = 0; c < n && style->longest; c++)
			if (table->columns[c].flexible && widths[c] > style->longest)
				widths[c] = style->longest;
		return;
	}
	for (;;) {
		size_t worst = n;

		natural = fixed = flexible = flexible_width = 0;
		for (size_t c = 0; c < n; c++) {
			if (!widths[c])
				continue;
			natural += widths[c] + GAP;
			if (table->columns[c].flexible) {
				flexible++;
				flexible_width += widths[c];
			} else {
				fixed += widths[c];
			}
			if (table->columns[c].drop &&
			    (worst == n || table->columns[c].drop > table->columns[worst].drop))
				worst = c;
		}
		natural -= natural ? GAP : 0;
		if (natural <= style->width || worst == n)
			break;
		/* dropping only helps if flexible columns would be cut too short */
		if (flexible &&
		    natural - flexible_width + flexible * FLEXIBLE_LEAST <= style->width)
			break;
		widths[worst] = 0;
	}
	if (natural <= style->width || !flexible)
		return;
	/* cut the widest flexible column until the table fits */
	while (natural > style->width) {
		size_t widest = n;

		for (size_t c = 0; c < n; c++)
			if (table->columns[c].flexible && widths[c] > CUT_LEAST &&
			    (widest == n || widths[c] > widths[widest]))
				widest = c;
		if (widest == n)
			break;
		widths[widest]--;
		natural--;
	}
}

static void spaces(FILE *out, size_t n)
{
	for (; n; n--)
		putc(' ', out);
}

/* `gap`: spaces owed since the last text of this line; a line ends without them. */
static void put_cell(const struct style *style, const struct table_column *column, const char *text,
		     size_t width, enum tint which, size_t *gap)
{
	size_t room = 4 * width + 8, used;
	char *fitted = mem_alloc(room);
	bool left = column->kind == CELL_TEXT || column->kind == CELL_BAR;

	used = text_fit(fitted, room, text, width, column->cut);
	if (!left)
		*gap += width - used;
	if (used) {
		spaces(style->out, *gap);
		fprintf(style->out, "%s%s%s", tint(style, which), fitted, tint_end(style, which));
		*gap = 0;
	}
	*gap += GAP + (left ? width - used : 0);
	free(fitted);
}

void table_print(const struct table *table, const struct style *style)
{
	size_t n = table->column_count, *widths = mem_zero(n, sizeof(*widths)), gap = 0;
	char buffer[128];

	lay_out(table, style, widths);
	close_up(table, widths);
	for (size_t c = 0; c < n; c++)
		if (widths[c])
			put_cell(style, &table->columns[c], table->columns[c].title, widths[c],
				 TINT_BOLD, &gap);
	putc('\n', style->out);
	for (size_t r = 0; r < table->rows; r++) {
		gap = 0;
		for (size_t c = 0; c < n; c++)
			if (widths[c])
				put_cell(style, &table->columns[c],
					 render(table, c, &table->cells[r * n + c], buffer,
						sizeof(buffer)),
					 widths[c], table->columns[c].tint, &gap);
		putc('\n', style->out);
		if (table->below[r])
			fputs(table->below[r], style->out);
	}
	free(widths);
}
