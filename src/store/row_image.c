/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_image.c: see row_image.h. The format is that of https://www.sqlite.org/fileformat2.html.
 *
 * Rows arrive in the order of their keys, so a tree grows only at its right edge: each level has
 * one page that is being filled. When that is full, its last cell (in leaves of a rowid table: the
 * last rowid) moves up, in front of the next page; so no page is ever empty.
 */
#include "row_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"

enum {
	PAGE = 16384,
	FILE_HEADER = 100, LEAF_HEADER = 8, INNER_HEADER = 12, POINTER = 2, CHILD = 4,
	INNER_INDEX = 2, INNER_TABLE = 5, LEAF_INDEX = 10, LEAF_TABLE = 13, /* kinds of pages */
	VARINT = 9,
	RECORD = 1 + ROW_COLUMNS * (1 + 8) + 8, /* most bytes: a column has a type and 8 bytes */
	CELL = RECORD + 2 * VARINT,
	FIRST_PAGES = 16,
	/* serial types: 1 to 6 are integers of 1, 2, 3, 4, 6 and 8 bytes */
	SERIAL_ZERO = 8, SERIAL_ONE = 9, SERIAL_TEXT = 13,
};

static void put_big(unsigned char *out, uint64_t value, unsigned bytes)
{
	while (bytes--) {
		out[bytes] = (unsigned char)value;
		value >>= 8;
	}
}

/* Writes a number; returns its length. */
static unsigned put_varint(unsigned char *out, uint64_t value)
{
	unsigned bytes = 1;

	if (value < 0x80) {
		*out = (unsigned char)value;
		return 1;
	}
	if (value >> 56) { /* the ninth byte has eight bits */
		out[8] = (unsigned char)value;
		value >>= 8;
		for (int i = 7; i >= 0; i--, value >>= 7)
			out[i] = (unsigned char)(value | 0x80);
		return VARINT;
	}
	while (value >> 7 * bytes)
		bytes++;
	for (unsigned i = bytes; i-- > 0; value >>= 7)
		out[i] = (unsigned char)(value | 0x80);
	out[bytes - 1] &= 0x7f;
	return bytes;
}

/* ---- records ---- */

/* Writes the value at *body, which it advances; returns the serial type. */
static unsigned char put_value(unsigned char **body, int64_t value)
{
	static const unsigned char types[] = { 1, 2, 3, 4, 5, 5, 6, 6 }; /* by bytes - 1 */
	static const unsigned char sizes[] = { 1, 2, 3, 4, 6, 6, 8, 8 };
	uint64_t magnitude = (uint64_t)(value ^ value >> 63), big;
	unsigned bytes;

	if (magnitude == (uint64_t)value && value <= 1)
		return (unsigned char)(SERIAL_ZERO + value);
	bytes = (unsigned)(64 - __builtin_clzll(magnitude | 1)) / 8; /* with a bit for the sign */
	big = __builtin_bswap64((uint64_t)value << (64 - 8 * sizes[bytes]));
	memcpy(*body, &big, sizeof(big)); /* surplus bytes are overwritten, or behind the end */
	*body += sizes[bytes];
	return types[bytes];
}

/* Writes a row's record; returns its length. */
static size_t put_record(const struct image_table *table, const void *row, unsigned char *out)
{
	unsigned char *body = out + 1 + table->count, *type = out;

	*type++ = (unsigned char)(1 + table->count);
	for (size_t i = 0; i < table->count; i++) {
		int64_t number = row_number(&table->columns[i], row);
		bool null = (i == 0 && table->rowid) || row_is_null(&table->columns[i], number);

		*type++ = null ? 0 : put_value(&body, number);
	}
	return (size_t)(body - out);
}

/* ---- trees ---- */

static unsigned char *page_at(const struct row_image *image, uint32_t number)
{
	return image->pages + (size_t)(number - 1) * PAGE;
}

/* Begins a page, for which row_image_put has made room. */
static void open_page(struct row_image *image, struct image_page *page)
{
	*page = (struct image_page){ .number = (uint32_t)++image->count, .top = PAGE };
}

/* Writes the page's header. `child`: the rightmost child of an inner page. */
static void close_page(struct row_image *image, const struct image_table *table, int level,
		       uint32_t child)
{
	const struct image_page *page = &table->levels[level];
	unsigned char *header = page_at(image, page->number);

	header[0] = level ? table->rowid ? INNER_TABLE : INNER_INDEX
			  : table->rowid ? LEAF_TABLE : LEAF_INDEX;
	put_big(header + 1, 0, 2);
	put_big(header + 3, page->cells, 2);
	put_big(header + 5, page->top, 2);
	header[7] = 0;
	if (level)
		put_big(header + LEAF_HEADER, child, CHILD);
}

static void put_cell(struct row_image *image, struct image_table *table, int level, uint32_t child,
		     const unsigned char *cell, size_t bytes);

/* Closes the full page of a level, moves its last cell, or its last rowid, up, and begins a new
 * page. */
static void begin_next(struct row_image *image, struct image_table *table, int level)
{
	struct image_page *page = &table->levels[level];
	unsigned char up[CELL];
	uint32_t full = page->number, child = 0;
	size_t bytes;

	if (level == 0 && table->rowid) {
		bytes = put_varint(up, (uint64_t)table->last[0]);
	} else {
		const unsigned char *last = page_at(image, full) + page->top;

		bytes = page->last;
		page->top += page->last;
		page->cells--;
		if (level) {
			child = (uint32_t)last[0] << 24 | (uint32_t)last[1] << 16 |
				(uint32_t)last[2] << 8 | last[3];
			last += CHILD;
			bytes -= CHILD;
		}
		memcpy(up, last, bytes);
	}
	close_page(image, table, level, child);
	open_page(image, page);
	put_cell(image, table, level + 1, full, up, bytes);
}

/* Adds a cell. `child`: for an inner page, the page in front of the cell. */
static void put_cell(struct row_image *image, struct image_table *table, int level, uint32_t child,
		     const unsigned char *cell, size_t bytes)
{
	struct image_page *page = &table->levels[level];
	size_t header = level ? INNER_HEADER : LEAF_HEADER, all = bytes + (level ? CHILD : 0);
	unsigned char *at;

	if (level == table->depth) {
		open_page(image, page);
		table->depth++;
	}
	if (header + POINTER * (page->cells + 1) + all > page->top)
		begin_next(image, table, level);
	page->top -= (uint32_t)all;
	page->last = (uint32_t)all;
	at = page_at(image, page->number);
	put_big(at + header + POINTER * page->cells++, page->top, POINTER);
	at += page->top;
	if (level)
		put_big(at, child, CHILD);
	memcpy(at + all - bytes, cell, bytes);
}

/* Closes the open pages; returns the root. */
static uint32_t end_tree(struct row_image *image, struct image_table *table)
{
	uint32_t child = 0;

	for (int level = 0; level < table->depth; level++) {
		close_page(image, table, level, child);
		child = table->levels[level].number;
	}
	table->depth = 0;
	return child;
}

/* ---- rows ---- */

/* Makes room for the pages that one row can need. */
static bool has_room(struct row_image *image)
{
	size_t room = image->room;
	void *pages;

	if (image->count + IMAGE_LEVELS + 1 <= image->room)
		return true;
	room = room ? mem_room(room, PAGE) : FIRST_PAGES;
	pages = sqlite3_realloc64(image->pages, room * PAGE);
	if (!pages)
		return false;
	image->pages = pages;
	image->room = room;
	return true;
}

static bool is_behind(const struct image_table *table, const void *row)
{
	for (size_t i = 0; i < table->keys; i++) {
		int64_t value = row_number(&table->columns[i], row);

		if (value != table->last[i])
			return value > table->last[i];
	}
	return false;
}

struct shiny_err *row_image_put(struct row_image *image, enum store_row which, const void *row,
				bool *late)
{
	struct image_table *table = &image->tables[which];
	unsigned char cell[CELL], *record = cell + CELL - RECORD, head[2 * VARINT];
	size_t bytes, used;

	*late = table->depth && !is_behind(table, row);
	if (*late)
		return NULL;
	if (!has_room(image))
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	if (!image->count)
		image->count = 1;
	bytes = put_record(table, row, record);
	used = put_varint(head, bytes);
	if (table->rowid)
		used += put_varint(head + used, (uint64_t)row_number(&table->columns[0], row));
	memcpy(record - used, head, used);
	put_cell(image, table, 0, 0, record - used, used + bytes);
	for (size_t i = 0; i < table->keys; i++)
		table->last[i] = row_number(&table->columns[i], row);
	return NULL;
}

/* ---- the database ---- */

static const char table_sql[] = "SELECT sql, sql LIKE '%WITHOUT ROWID' FROM sqlite_schema WHERE "
				"type = 'table' AND name = ?1";
static const char columns_sql[] = "SELECT name, pk > 0 FROM pragma_table_info(?1) "
				  "ORDER BY pk = 0, pk, cid";

static const struct row_column *column_named(const struct row_column *columns, size_t count,
					     const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(columns[i].name, name))
			return &columns[i];
	return NULL;
}

static int take_columns(struct image_table *table, sqlite3_stmt *query, enum store_row which)
{
	struct row_column columns[ROW_COLUMNS];
	size_t count = row_columns(which, columns);
	int code;

	table->count = table->keys = 0;
	table->bytes = row_bytes(which);
	while ((code = sqlite3_step(query)) == SQLITE_ROW) {
		const struct row_column *column = column_named(
			columns, count, (const char *)sqlite3_column_text(query, 0));

		if (!column || column->kind == COLUMN_TEXT)
			return SQLITE_MISUSE;
		table->columns[table->count++] = *column;
		table->keys += (size_t)sqlite3_column_int(query, 1);
	}
	return code == SQLITE_DONE && (table->count != count || !table->keys) ? SQLITE_MISUSE
									      : code;
}

static int ask(sqlite3 *db, const char *sql, const char *table, sqlite3_stmt **out)
{
	int code = sqlite3_prepare_v2(db, sql, -1, out, NULL);

	return code == SQLITE_OK ? sqlite3_bind_text(*out, 1, table, -1, SQLITE_STATIC) : code;
}

int row_image_look_up(struct row_image *image, sqlite3 *db, enum store_row which)
{
	struct image_table *table = &image->tables[which];
	sqlite3_stmt *query = NULL;
	int code;

	if (table->sql)
		return SQLITE_OK;
	code = ask(db, columns_sql, row_table(which), &query);
	if (code == SQLITE_OK)
		code = take_columns(table, query, which);
	sqlite3_finalize(query);
	if (code != SQLITE_DONE)
		return code;
	code = ask(db, table_sql, row_table(which), &query);
	if (code == SQLITE_OK)
		code = sqlite3_step(query);
	if (code == SQLITE_ROW) {
		table->sql = mem_text((const char *)sqlite3_column_text(query, 0));
		table->rowid = !sqlite3_column_int(query, 1);
	}
	sqlite3_finalize(query);
	return code == SQLITE_ROW ? SQLITE_OK : code == SQLITE_DONE ? SQLITE_MISUSE : code;
}

/* Writes sqlite_schema's row of a table: type, name, tbl_name, rootpage, sql; NULL: only counts.
 * Returns its length. */
static size_t put_schema_cell(unsigned char *out, size_t id, const char *name, uint32_t root,
			      const char *sql)
{
	size_t name_bytes = strlen(name), sql_bytes = strlen(sql);
	unsigned char types[4 * VARINT], *type = types + 1, head[2 * VARINT];
	size_t bytes, used;

	type += put_varint(type, SERIAL_TEXT + 2 * strlen("table"));
	type += put_varint(type, SERIAL_TEXT + 2 * name_bytes);
	type += put_varint(type, SERIAL_TEXT + 2 * name_bytes);
	*type++ = CHILD; /* four bytes */
	type += put_varint(type, SERIAL_TEXT + 2 * sql_bytes);
	types[0] = (unsigned char)(type - types);
	bytes = types[0] + strlen("table") + 2 * name_bytes + CHILD + sql_bytes;
	used = put_varint(head, bytes);
	used += put_varint(head + used, id);
	if (!out)
		return used + bytes;
	memcpy(out, head, used);
	out += used;
	memcpy(out, types, types[0]);
	out += sprintf((char *)out + types[0], "table%s%s", name, name) + types[0];
	put_big(out, root, CHILD);
	memcpy(out + CHILD, sql, sql_bytes);
	return used + bytes;
}

/* Writes the file's header, as SQLite does. */
static void put_file_header(const struct row_image *image)
{
	unsigned char *header = image->pages;

	memset(header, 0, FILE_HEADER);
	memcpy(header, "SQLite format 3", 16);
	put_big(header + 16, PAGE, 2);
	header[18] = header[19] = 1; /* rollback journal */
	header[21] = 64, header[22] = header[23] = 32;
	put_big(header + 24, 1, 4); /* changes */
	put_big(header + 28, image->count, 4);
	put_big(header + 40, 1, 4); /* changes of the schema */
	put_big(header + 44, 4, 4); /* format of the schema: types 8 and 9 are used */
	put_big(header + 56, 1, 4); /* UTF-8 */
	put_big(header + 92, 1, 4); /* changes when the next was written */
	put_big(header + 96, SQLITE_VERSION_NUMBER, 4);
}

/* Writes the first page: the schema of the tables that have rows. False: they do not fit. */
static bool put_schema(struct row_image *image)
{
	unsigned char *header = image->pages + FILE_HEADER;
	uint32_t cells = 0, top = PAGE;

	for (enum store_row which = 0; which < STORE_ROWS; which++) {
		struct image_table *table = &image->tables[which];
		const char *name = row_table(which);
		size_t bytes;
		uint32_t root;

		if (!table->depth)
			continue;
		root = end_tree(image, table);
		bytes = put_schema_cell(NULL, cells + 1, name, root, table->sql);
		if (FILE_HEADER + LEAF_HEADER + POINTER * (cells + 1) + bytes > top)
			return false;
		top -= (uint32_t)bytes;
		put_big(header + LEAF_HEADER + POINTER * cells++, top, POINTER);
		put_schema_cell(image->pages + top, cells, name, root, table->sql);
	}
	header[0] = LEAF_TABLE;
	put_big(header + 1, 0, 2);
	put_big(header + 3, cells, 2);
	put_big(header + 5, top, 2);
	header[7] = 0;
	put_file_header(image);
	return true;
}

int row_image_attach(struct row_image *image, sqlite3 *db, const char *name)
{
	sqlite3_int64 bytes = (sqlite3_int64)(image->count * PAGE);
	unsigned char *pages = image->pages;
	char sql[64];
	int code;

	if (!put_schema(image))
		return SQLITE_TOOBIG;
	snprintf(sql, sizeof(sql), "ATTACH ':memory:' AS %s", name);
	code = sqlite3_exec(db, sql, NULL, NULL, NULL);
	if (code != SQLITE_OK)
		return code;
	image->pages = NULL;
	image->count = image->room = 0;
	return sqlite3_deserialize(db, name, pages, bytes, bytes,
				   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
}

void row_image_deinit(struct row_image *image)
{
	sqlite3_free(image->pages);
	for (enum store_row which = 0; which < STORE_ROWS; which++)
		free(image->tables[which].sql);
	*image = (struct row_image){ 0 };
}
