/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by the ten thousand, as src/store/row_image.c puts them: trees of several levels, numbers of
 * all widths, tables that have rows already, rows that come late. */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/store/row_columns.h"
#include "../../src/store/store.h"
#include "check.h"

enum { ROWS = 40000, EARLY = 1000, LATE = 5, PROCESSES = 2 };

static char directory[] = "/tmp/shiny-image-XXXXXX", path[64];

/* Around every change of width. */
static const uint64_t numbers[] = {
	0, 1, 2, 127, 128, 129, 255, 256, 32767, 32768, 65535, 65536, 8388607, 8388608, 16777216,
	INT32_MAX, UINT64_C(1) << 31, UINT32_MAX, (UINT64_C(1) << 39) - 1, UINT64_C(1) << 39,
	(UINT64_C(1) << 47) - 1, UINT64_C(1) << 47, (UINT64_C(1) << 55) + 3, INT64_MAX
};

static uint64_t number_of(uint64_t i)
{
	return numbers[i % (sizeof(numbers) / sizeof(*numbers))];
}

/* The next one is of the other table, stat_short or stat_long. */
static struct store_stat stat_of(uint32_t process, uint32_t stack)
{
	uint64_t n = number_of(stack), k = number_of(stack / 3);
	struct store_stat row = { .process = process,
				  .stack = stack,
				  .vtable = stack % 4,
				  .reading = stack % 4,
				  .allocs = n / 2 + 1,
				  .bytes = number_of(stack / 5),
				  .max_size = k,
				  .min_size = k / 2,
				  .size_step = number_of(stack / 7),
				  .api = (uint8_t)(stack % 5),
				  .type = (uint32_t)number_of(stack / 11) };

	if (process == 1)
		row.abandoned = row.allocs;
	else
		row.live = row.allocs;
	if ((process + stack) % 2)
		return row;
	row.tag = 1;
	row.reallocs = n;
	row.inherited = k;
	return row;
}

static void put_stats(struct store *store, bool late)
{
	for (uint32_t process = 1; process <= PROCESSES; process++)
		for (uint32_t stack = 1; stack <= ROWS; stack++) {
			struct store_stat row = stat_of(process, stack), untagged = row;

			untagged.vtable = 9;
			must(store_put_stat(store, &untagged)); /* before one of a lower vtable */
			must(store_put_stat(store, &row));
		}
	for (uint32_t stack = late ? LATE : 0; stack > 0; stack--) {
		struct store_stat row = stat_of(PROCESSES, ROWS + stack);

		must(store_put_stat(store, &row));
	}
}

static void put_frames(struct store *store, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		struct store_frame_line line = { .function = "f", .line = i };

		must(store_put_frame(store, i, 1, number_of(i) + i, &line, 1));
		must(store_put_stack(store, i, &i, 1));
	}
}

static sqlite3 *db;

static const char *text_of(const char *sql)
{
	static char text[256];
	sqlite3_stmt *query = NULL;

	snprintf(text, sizeof(text), "%s", "no row");
	if (sqlite3_prepare_v2(db, sql, -1, &query, NULL) == SQLITE_OK &&
	    sqlite3_step(query) == SQLITE_ROW)
		snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(query, 0));
	else
		snprintf(text, sizeof(text), "%s", sqlite3_errmsg(db));
	sqlite3_finalize(query);
	return text;
}

static void expect(const char *name, const char *sql, const char *want)
{
	const char *got = text_of(sql);

	check(name, strcmp(got, want) == 0, got);
}

/* How many rows of view stat are not as they were put. */
static size_t wrong_stats(bool late)
{
	struct row_column columns[ROW_COLUMNS];
	size_t count = row_columns(STORE_ROW_STAT, columns), wrong = 0, rows = 0;
	sqlite3_stmt *query = NULL;
	char sql[1024] = "SELECT ";

	for (size_t c = 0; c < count; c++)
		snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), "%s, ", columns[c].name);
	strcat(sql, "vtable = 9 FROM stat ORDER BY process, stack, vtable");
	if (sqlite3_prepare_v2(db, sql, -1, &query, NULL) != SQLITE_OK)
		return 1;
	for (; sqlite3_step(query) == SQLITE_ROW; rows++) {
		struct store_stat row = stat_of((uint32_t)sqlite3_column_int64(query, 0),
						(uint32_t)sqlite3_column_int64(query, 1));

		if (sqlite3_column_int64(query, (int)count))
			row.vtable = 9;
		for (size_t c = 0; c < count; c++)
			wrong += sqlite3_column_int64(query, (int)c) !=
				 row_number(&columns[c], &row);
	}
	sqlite3_finalize(query);
	return wrong + (rows != 2 * PROCESSES * ROWS + (late ? LATE : 0));
}

/* `late`: SQLite has to put each row of the statistics by itself. */
static void test_session(bool late)
{
	struct store *store;
	char text[64];

	must(store_create(path, true, false, &store));
	put_frames(store, 1, EARLY);
	must(store_commit(store));
	put_frames(store, EARLY, ROWS + 1);
	put_stats(store, late);
	must(store_finish(store, NULL));
	check("it can be opened", sqlite3_open(path, &db) == SQLITE_OK, path);
	expect("the file is sound", "PRAGMA integrity_check", "ok");
	snprintf(text, sizeof(text), "%d", ROWS);
	expect("frames of two transactions", "SELECT COUNT(*) FROM frame", text);
	expect("stacks are theirs",
	       "SELECT COUNT(*) FROM stack k JOIN frame f ON f.id = k.frame0 JOIN site s ON s.id = "
	       "k.site JOIN frame_line l ON l.frame = f.id WHERE k.id = f.id AND s.line = k.id AND "
	       "l.line = k.id AND k.frame1 IS NULL AND k.tail IS NULL",
	       text);
	expect("rows are in both tables",
	       "SELECT MIN((SELECT COUNT(*) FROM stat_short), (SELECT COUNT(*) FROM stat_long)) > "
	       "20000",
	       "1");
	snprintf(text, sizeof(text), "%zu numbers are not", wrong_stats(late));
	check("statistics are as they were put", !strncmp(text, "0 ", 2), text);
	sqlite3_close(db);
	unlink(path);
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof(path), "%s/a.shiny", directory);
	test_session(false);
	test_session(true);
	rmdir(directory);
	return failures != 0;
}
