/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.h: describes the members of a result, once: the table, the JSON, the CSV, the schema and
 * the manual of a verb are made from the description.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 *
 * A result is a struct that an analysis returns. Beside it stands an array of fields that ends with
 * a field of kind FIELD_KIND_END:
 *
 *   static const struct field row_fields[] = {
 *       { FIELD_TEXT("name", ROW, name), FIELD_NAME_COLUMN(3, "class"), .help = "the class" },
 *       { FIELD_BYTES("class_bytes", ROW, bytes), FIELD_COLUMN(2, 5, "size"), .help = "its size" },
 *       { FIELD_SHARE(ROW, count, RESULT, total.count), FIELD_COLUMN(1, 0, "share") },
 *       { .kind = FIELD_KIND_END },
 *   };
 *
 * The order of the array is the order of the JSON. A field without `key` is not in the JSON; one
 * without a column is not in the table. A field of kind GROUP puts the fields of a struct inside
 * into the same object, OBJECT into one of its own, ROWS a list of objects. A field whose value is
 * not in the struct has a function `get`.
 */
#ifndef SHINY_FIELD_H
#define SHINY_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/err.h"
#include "../base/json.h"
#include "table.h"

enum field_kind {
	FIELD_KIND_END,	  /* ends an array */
	FIELD_KIND_TEXT,  /* NULL: null */
	FIELD_KIND_COUNT, /* a number of things */
	FIELD_KIND_BYTES,
	FIELD_KIND_TIME,    /* ns */
	FIELD_KIND_ID,	    /* a number that is not a quantity, or an address as a number */
	FIELD_KIND_ADDRESS, /* in hex, as a text */
	FIELD_KIND_REAL,    /* a number without unit */
	FIELD_KIND_FLAG,
	FIELD_KIND_COUNT_CHANGE, /* a signed difference */
	FIELD_KIND_BYTES_CHANGE,
	FIELD_KIND_SHARE,  /* in tables only: the value as a share of `whole` */
	FIELD_KIND_BAR,	   /* the same, as a bar */
	FIELD_KIND_GROUP,  /* `fields` of the struct at `offset`, in the same object */
	FIELD_KIND_OBJECT, /* `fields` of the struct at `offset`, as an object */
	FIELD_KIND_ROWS,   /* a list of objects */
	FIELD_KIND_PUT,	   /* whatever `put` writes */
};

/* The C type of the member at `offset`. */
enum field_stored {
	STORED_NONE,
	STORED_TEXT,
	STORED_U64,
	STORED_U32,
	STORED_U16,
	STORED_I64,
	STORED_I32,
	STORED_REAL,
	STORED_BOOL,
};
/* The type of an expression as enum field_stored. */
#define FIELD_STORED(expression) \
	_Generic((expression),                                                                     \
		char *: STORED_TEXT, const char *: STORED_TEXT, uint64_t: STORED_U64,              \
		uint32_t: STORED_U32, uint16_t: STORED_U16, int64_t: STORED_I64,                   \
		int32_t: STORED_I32, double: STORED_REAL, bool: STORED_BOOL)

/* The value of a field of one row. */
struct field_value {
	enum field_stored stored; /* TEXT, U64, I64, REAL or BOOL; NONE: null, and an empty cell */
	bool blank;		  /* its cell is empty all the same */
	union {
		const char *text;
		uint64_t number;
		int64_t change;
		double real;
		bool flag;
	};
	char *owned; /* the text, if it has to be freed */
};

typedef void field_get_fn(const void *row, struct field_value *out);
typedef struct shiny_err *field_put_fn(const void *row, struct json *json, const char *key,
				       void *context);

struct field {
	const char *key; /* of the JSON member; NULL: none */
	enum field_kind kind;
	enum field_stored stored;
	size_t offset;	   /* of the value in its struct */
	field_get_fn *get; /* NULL: the value is at `offset` */
	field_put_fn *put; /* of kind PUT */
	struct table_column column;
	unsigned place;	 /* of the column, from 1; 0: none */
	bool by;	 /* the title of the column is what makes a row: --by */
	bool blank_zero; /* the cell of 0 is empty */
	/* of SHARE and BAR: the whole in the result */
	size_t whole;
	/* of GROUP, OBJECT and ROWS */
	const struct field *fields;
	bool spread; /* an object has a line for each member */
	/* of ROWS */
	bool limited;		       /* --limit is for this list */
	bool inside;		       /* the rows are at `offset`; else a pointer to them is */
	size_t count_offset;	       /* of a size_t; inside: `count` is the number */
	size_t count, size;	       /* size: bytes of a row */
	bool (*skip)(const void *row); /* NULL: none is left out */
	const char *help;	       /* a sentence without its end */
};

#define FIELD_AT(row, member) \
	.offset = offsetof(row, member), .stored = FIELD_STORED(((row *)0)->member)
#define FIELD_TEXT(name, row, member)  .key = name, .kind = FIELD_KIND_TEXT, FIELD_AT(row, member)
#define FIELD_COUNT(name, row, member) .key = name, .kind = FIELD_KIND_COUNT, FIELD_AT(row, member)
#define FIELD_BYTES(name, row, member) .key = name, .kind = FIELD_KIND_BYTES, FIELD_AT(row, member)
#define FIELD_TIME(name, row, member)  .key = name, .kind = FIELD_KIND_TIME, FIELD_AT(row, member)
#define FIELD_ID(name, row, member)    .key = name, .kind = FIELD_KIND_ID, FIELD_AT(row, member)
#define FIELD_ADDRESS(name, row, member) \
	.key = name, .kind = FIELD_KIND_ADDRESS, FIELD_AT(row, member)
#define FIELD_REAL(name, row, member) .key = name, .kind = FIELD_KIND_REAL, FIELD_AT(row, member)
#define FIELD_FLAG(name, row, member) .key = name, .kind = FIELD_KIND_FLAG, FIELD_AT(row, member)
/* A value of this kind that a function works out. */
#define FIELD_WORKED_OUT(name, which, function) \
	.key = name, .kind = FIELD_KIND_##which, .get = function
/* The share, or the bar, of a member in a member of the result. */
#define FIELD_SHARE(row, member, result, all) \
	.kind = FIELD_KIND_SHARE, FIELD_AT(row, member), .whole = offsetof(result, all)
#define FIELD_BAR(row, member, result, all) \
	.kind = FIELD_KIND_BAR, FIELD_AT(row, member), .whole = offsetof(result, all)
#define FIELD_GROUP(row, member, of) \
	.kind = FIELD_KIND_GROUP, .offset = offsetof(row, member), .fields = (of)
#define FIELD_SAME_OBJECT(of) .kind = FIELD_KIND_GROUP, .fields = (of)
#define FIELD_OBJECT(name, row, member, of) \
	.key = name, .kind = FIELD_KIND_OBJECT, .offset = offsetof(row, member), .fields = (of)
/* A list: `member` points to `number` rows, a size_t member. */
#define FIELD_ROWS(name, row, member, number, of)                              \
	.key = name, .kind = FIELD_KIND_ROWS, .offset = offsetof(row, member), \
	.count_offset = offsetof(row, number), .size = sizeof(*((row *)0)->member), .fields = (of)
/* A list: `member` is the array. */
#define FIELD_ARRAY(name, row, member, of)                                                     \
	.key = name, .kind = FIELD_KIND_ROWS, .offset = offsetof(row, member), .inside = true, \
	.size = sizeof(*((row *)0)->member), .fields = (of),                                   \
	.count = sizeof(((row *)0)->member) / sizeof(*((row *)0)->member)

/* The column of a field: its place in the table, and how soon it is left out of a narrow one. */
#define FIELD_COLUMN(at, soon, heading) \
	.place = (at), .column = { .title = (heading), .drop = (soon) }
/* The same for the name of the row, which can be cut. */
#define FIELD_NAME_COLUMN(at, heading)                                                          \
	.place = (at), .column = {                                                              \
		.title = (heading), .flexible = true, .cut = TEXT_CUT_MIDDLE, .tint = TINT_NAME \
	}
#define FIELD_BY_COLUMN(at) .by = true, FIELD_NAME_COLUMN(at, NULL)

/* Returns the value of a field of a row; free it. */
struct field_value field_value(const struct field *field, const void *row);
void field_value_free(struct field_value *value);

/* Sets the value that a function `get` works out. */
void field_set_number(struct field_value *out, uint64_t number);
void field_set_real(struct field_value *out, double real);
void field_set_text(struct field_value *out, const char *text);
void field_set_owned(struct field_value *out, char *text); /* takes ownership */

/* The rows of a list. */
struct field_rows {
	const void *rows;
	size_t count;
};
struct field_rows field_rows(const struct field *field, const void *result);
/* Returns the row at `index`. */
const void *field_row(const struct field *field, struct field_rows rows, size_t index);

#endif
