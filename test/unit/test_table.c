/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_table.c: tables of the reports: no line is wider than the terminal, names in pipes are cut
 * at a sane length and with --wide not at all, and a column that says nothing is left out.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/answer/table.h"
#include "check.h"

enum { NAME, COUNT, NOTE, COLUMNS };
static const struct table_column columns[COLUMNS] = {
	[NAME] = {.title = "name", .kind = CELL_TEXT, .flexible = true, .cut = TEXT_CUT_MIDDLE},
	[COUNT] = {.title = "count", .kind = CELL_COUNT},
	[NOTE] = {.title = "note", .kind = CELL_TEXT, .drop = 1},
};

/* The table with one long and one short name, printed. */
static char *print(size_t width, size_t longest, const char *note)
{
	struct style style = {.width = width, .longest = longest};
	struct table table;
	char name[601], *text = NULL;
	size_t size;

	memset(name, 'x', 600);
	name[600] = '\0';
	style.out = open_memstream(&text, &size);
	if (!style.out)
		exit(1);
	table_init(&table, columns, COLUMNS);
	for (int i = 0; i < 2; i++) {
		table_row(&table);
		table_text(&table, NAME, i ? "short" : name);
		table_number(&table, COUNT, 1234);
		if (note && i)
			table_text(&table, NOTE, note);
	}
	table_print(&table, &style);
	table_deinit(&table);
	fclose(style.out);
	return text;
}

/* A C++ name that had to be cut is as wide as what is left of it. */
static void cut_name(void)
{
	struct style style = {.longest = 120};
	struct table table;
	char name[300] = "Backing<", *text = NULL;
	size_t size;

	memset(name + 8, 'x', 280);
	name[288] = '>';
	style.out = open_memstream(&text, &size);
	if (!style.out)
		exit(1);
	table_init(&table, columns, COLUMNS);
	table_row(&table);
	table_text(&table, NAME, name);
	table_number(&table, COUNT, 1);
	table_print(&table, &style);
	table_deinit(&table);
	fclose(style.out);
	check("no room is kept for what was cut",
	      strcmp(text, "name        count\nBacking<…>      1\n") == 0, text);
	free(text);
}

/* A share of more than all, as damaged files have them: the bar is full, and not longer than it has
 * room for. */
static void wild_share(void)
{
	static const struct table_column bar = {.title = "", .kind = CELL_BAR};
	struct style style = { 0 };
	struct table table;
	char *text = NULL;
	size_t size;

	style.out = open_memstream(&text, &size);
	if (!style.out)
		exit(1);
	table_init(&table, &bar, 1);
	table_total(&table, 0, 1);
	table_row(&table);
	table_number(&table, 0, UINT64_MAX);
	table_print(&table, &style);
	table_deinit(&table);
	fclose(style.out);
	check("a share of more than all", text && strstr(text, "\xe2\x96\x88") && size < 100,
	      text ? text : "nothing");
	free(text);
}

static size_t longest_line(const char *text)
{
	size_t longest = 0;

	for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
		char *line = strndup(text, (size_t)(end - text));
		size_t columns_of_line = text_columns(line);

		longest = columns_of_line > longest ? columns_of_line : longest;
		free(line);
	}
	return longest;
}

int main(void)
{
	char *text = print(80, 0, "note");

	check("no line is wider than the terminal", longest_line(text) <= 80, text);
	free(text);
	text = print(0, 120, "note");
	check("in a pipe a name has at most 120 columns", longest_line(text) == 120 + 2 + 5 + 2 + 4,
	      text);
	free(text);
	text = print(0, 0, "note");
	check("with --wide it has all", longest_line(text) == 600 + 2 + 5 + 2 + 4, text);
	check("a column with one cell is shown", strstr(text, "note") != NULL, text);
	check("a line has no spaces at its end", !strstr(text, " \n"), text);
	free(text);
	text = print(0, 0, NULL);
	check("a column without any is not", strstr(text, "note") == NULL, text);
	free(text);
	cut_name();
	wild_share();
	return failures != 0;
}
