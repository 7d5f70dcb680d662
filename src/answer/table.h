/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h: prints rows of cells as an aligned table.
 *
 * Runs: CLI. Signals: no. Allocates: yes (mem.h). Threads: one a table.
 *
 * On a terminal a table that is too wide first loses the columns with the highest `drop`, then its
 * flexible columns are cut. In a pipe or a file all columns stay; a cell with a name is cut to
 * `longest` columns. --wide cuts nothing.
 */
#ifndef SHINY_TABLE_H
#define SHINY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../base/text.h"

/* The style of output: set once, from the terminal, NO_COLOR and --wide. */
struct style {
	FILE *out;
	bool colour;
	size_t width;   /* columns; 0: no limit */
	size_t longest; /* most columns of a cell with a name, if width is no limit: pipes and
			 * files; 0: no limit */
};
/* `file`: the descriptor that `out` writes to at last. */
void style_init(struct style *style, FILE *out, int file, bool wide);

enum tint { TINT_NONE, TINT_BOLD, TINT_DIM, TINT_GOOD, TINT_WARN, TINT_BAD, TINT_NAME };
/* Return the sequences that begin and end a tint; empty without colour. */
const char *tint(const struct style *style, enum tint which);
const char *tint_end(const struct style *style, enum tint which);

enum cell_kind {
	CELL_TEXT,    /* left */
	CELL_RIGHT,   /* text, right */
	CELL_COUNT,   /* 1,234 */
	CELL_BYTES,   /* 1.23 MiB */
	CELL_TIME,    /* 45.6 ms */
	CELL_SHARE,   /* of `total`, as a percentage */
	CELL_BAR,     /* the same, as a bar */
};
struct table_column {
	const char *title;
	enum cell_kind kind;
	bool flexible;      /* text that may be cut */
	enum text_cut cut;
	int drop;           /* 0: always shown */
	enum tint tint;
};

struct cell {
	char *text; /* CELL_TEXT, CELL_RIGHT */
	uint64_t number;
	bool empty;
};

struct table {
	const struct table_column *columns;
	size_t column_count;
	uint64_t *totals; /* one for each column, for shares */
	struct cell *cells;
	char **below; /* text under a row, printed line by line; NULL: none */
	size_t rows, room;
};

void table_init(struct table *table, const struct table_column *columns, size_t count);
void table_deinit(struct table *table);
void table_row(struct table *table); /* starts a row; all its cells are empty */
void table_text(struct table *table, size_t column, const char *text);
void table_number(struct table *table, size_t column, uint64_t number);
void table_below(struct table *table, char *text); /* takes ownership */
void table_total(struct table *table, size_t column, uint64_t total); /* of shares */
void table_print(const struct table *table, const struct style *style);

#endif
