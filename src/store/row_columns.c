/* SPDX-License-Identifier: Apache-2.0 */
/* row_columns.c: see row_columns.h. */
#include "row_columns.h"

#include <stdio.h>
#include <string.h>

struct row_field {
	struct row_column column;
	const char *site; /* the column's name in site_stat; NULL: it is missing there */
};

#define FIELD(type, field, column, kind, site) \
	{ { #column, kind, offsetof(row_type, field), sizeof(type) }, site },
#define ROW(name, NAME, how)                                         \
	static size_t name##_fields(const struct row_field **fields) \
	{                                                            \
		typedef struct store_##name row_type;                \
		static const struct row_field all[] = {
#define NUMBER(type, field, column)	    FIELD(type, field, column, COLUMN_NUMBER, #column)
#define SIGNED(type, field, column)	    FIELD(type, field, column, COLUMN_SIGNED, #column)
#define STATUS(type, field, column)	    FIELD(type, field, column, COLUMN_STATUS, #column)
#define REFERENCE(type, field, column)                               \
	FIELD(type, field, column, COLUMN_REFERENCE, #column)
#define TEXT(field, column)		    FIELD(char *, field, column, COLUMN_TEXT, #column)
#define BY_STACK(type, field, column, site) FIELD(type, field, column, COLUMN_NUMBER, site)
#define END(name)                          \
	}                                  \
	;                                  \
	*fields = all;                     \
	return sizeof(all) / sizeof(*all); \
	}
#include "store_rows.def"

#define ADD	"INSERT"
#define REPLACE "INSERT OR REPLACE"

static const struct row_spec {
	const char *table, *how;
	size_t bytes;
	size_t (*fields)(const struct row_field **fields);
} row_specs[STORE_ROWS] = {
#define ROW_OF(name, NAME, how, table) \
	[STORE_ROW_##NAME] = { #table, how, sizeof(struct store_##name), name##_fields },
#define ROW(name, NAME, how) ROW_OF(name, NAME, how, name)
#include "store_rows.def"
	[STORE_ROW_SITE_STAT] = { "site_stat", ADD, sizeof(struct store_stat), stat_fields },
};

const char *row_table(enum store_row which)
{
	return row_specs[which].table;
}

size_t row_columns(enum store_row which, struct row_column columns[ROW_COLUMNS])
{
	const struct row_field *fields;
	size_t all = row_specs[which].fields(&fields), count = 0;

	for (size_t i = 0; i < all && count < ROW_COLUMNS; i++) {
		columns[count] = fields[i].column;
		if (which == STORE_ROW_SITE_STAT)
			columns[count].name = fields[i].site;
		count += columns[count].name != NULL;
	}
	return count;
}

size_t row_bytes(enum store_row which)
{
	return row_specs[which].bytes;
}

void row_sql(enum store_row which, char out[ROW_SQL])
{
	struct row_column columns[ROW_COLUMNS];
	size_t count = row_columns(which, columns), used;

	used = (size_t)snprintf(out, ROW_SQL, "%s INTO %s (", row_specs[which].how,
				row_specs[which].table);
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(out + used, ROW_SQL - used, "%s%s", i ? ", " : "",
					 columns[i].name);
	used += (size_t)snprintf(out + used, ROW_SQL - used, ") VALUES (");
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(out + used, ROW_SQL - used, "%s", i ? ", ?" : "?");
	snprintf(out + used, ROW_SQL - used, ")");
}

void row_copy_sql(enum store_row which, const char *from, char out[ROW_SQL])
{
	const struct row_spec *spec = &row_specs[which];

	snprintf(out, ROW_SQL, "%s INTO main.%s SELECT * FROM %s.%s", spec->how, spec->table, from,
		 spec->table);
}
