/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.h: describes the members of a result, once: the table, the JSON, the CSV, the schema and
 * the manual of a verb are made from the description.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 *
 * A result is a struct that an analysis returns. Beside it stands an array of fields:
 *
 *   static const struct field row_fields[] = {
 *       { FIELD_TEXT("name", struct row, name), FIELD_NAME, .help = "the class" },
 *       { FIELD_COUNT("blocks", struct row, blocks), .help = "its blocks" },
 *       { FIELD_SHARE("share", struct row, blocks, struct result, total.blocks) },
 *       FIELD_LAST
 *   };
 *   const struct field result_fields[] = {
 *       { FIELD_ROWS("rows", struct result, rows, count, row_fields), .limited = true,
 *         .shows = "share blocks/1 name", .help = "a class" },
 *       FIELD_LAST
 *   };
 *
 * The order of the array is the order of the JSON. `shows` of a list is its table: the keys of the
 * columns from left to right ("object.key": of an object inside), and behind a slash how soon a
 * column is left out of a narrow table: the highest number first, never without one. A GROUP puts
 * the fields of a struct inside into the same object, an OBJECT into one of its own. A field whose
 * value no member holds has a function `get`.
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
	FIELD_KIND_END,     /* ends an array */
	FIELD_KIND_TEXT,    /* NULL: null */
	FIELD_KIND_COUNT,   /* a number of things, without fractions, as the bytes */
	FIELD_KIND_BYTES,
	FIELD_KIND_TIME,    /* ns */
	FIELD_KIND_ID,      /* a number that is no quantity */
	FIELD_KIND_ADDRESS, /* in hex, as a text */
	FIELD_KIND_REAL,    /* a number without unit */
	FIELD_KIND_FLAG,
	FIELD_KIND_COUNT_CHANGE, /* a signed difference */
	FIELD_KIND_BYTES_CHANGE,
	FIELD_KIND_SHARE,   /* in tables only: the value as a share of `whole` */
	FIELD_KIND_BAR,     /* the same, as a bar */
	FIELD_KIND_GROUP,   /* `fields` of the struct at `offset`, in the same object */
	FIELD_KIND_OBJECT,  /* `fields` of the struct at `offset`, as an object */
	FIELD_KIND_ROWS,    /* a list of objects */
	FIELD_KIND_NUMBERS, /* a list of numbers: `count` members at `offset` */
	FIELD_KIND_PUT,     /* what `put` writes from the part at `offset` */
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
#define FIELD_STORED(expression)                                                                   \
	_Generic((expression),                                                                     \
		char *: STORED_TEXT, const char *: STORED_TEXT, uint64_t: STORED_U64,              \
		uint32_t: STORED_U32, uint16_t: STORED_U16, int64_t: STORED_I64,                   \
		int32_t: STORED_I32, double: STORED_REAL, bool: STORED_BOOL)

/* The value of a field of one row. */
struct field_value {
	enum field_stored stored; /* TEXT, U64, I64, REAL or BOOL; NONE: null, and an empty cell */
	bool absent;              /* the JSON has no such member, and the cell is empty */
	bool blank;               /* the cell is empty */
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
typedef struct shiny_err *field_put_fn(const void *part, struct json *json, const char *key,
				       void *context);

struct field {
	const char *key;          /* of the JSON member, and of the column */
	enum field_kind kind;
	enum field_stored stored;
	size_t offset;            /* of the value in its struct */
	const char *const *names; /* the member is the index of the text */
	bool has_other;           /* a text that is NULL is the one at `other` */
	size_t other;
	field_get_fn *get;        /* NULL: the value is at `offset` */
	field_put_fn *put;        /* of a PUT */
	/* Returns true for a row or a group that is left out, and for an object or a value that is
	 * null. The part is that of the field; of a value, its row. NULL: none is. */
	bool (*skip)(const void *part);
	const char *help;         /* one sentence, without its end */

	/* the column */
	const char *title;        /* NULL: the key, with spaces for underscores */
	enum tint tint;
	bool flexible;            /* its text may be cut, as `cut` says */
	enum text_cut cut;
	bool by;                  /* the title is that of the list, or of the answer */
	bool column_only;         /* it is in no JSON */
	bool sparse;              /* no column where no row has a value */
	bool blank_zero;          /* the cell of 0 is empty */
	bool optional;            /* the JSON has no such member where it is 0, or no text */
	size_t whole;             /* of SHARE and BAR: the offset of the whole in the result */
	size_t title_at;          /* the offset of the title in the result, a text; 0: not there */

	/* of GROUP, OBJECT and ROWS */
	const struct field *fields;
	bool spread;              /* the object has a line for each member; of a group: the object
				   * that has it */
	bool nulls;               /* a group that is left out: its members are null */

	/* of ROWS */
	const char *shows;        /* the table; NULL: none */
	bool limited;             /* --limit is for this list */
	bool inside;              /* the rows are at `offset`; else a pointer to them is */
	bool pointers;            /* a row is a pointer to its struct */
	bool bare;                /* a row is the value of its one field, not an object */
	bool again;               /* its rows are as the one that has the list: described there */
	size_t count;             /* the number of rows; 0: it is at `count_offset` */
	size_t count_offset;      /* of a size_t */
	size_t size;              /* bytes of a row, or of a number */
};

#define FIELD_LAST { .kind = FIELD_KIND_END },

#define FIELD_AT(row, member)                                                                      \
	.offset = offsetof(row, member), .stored = FIELD_STORED(((row *)0)->member)
#define FIELD_OF(name, which, row, member) .key = name, .kind = which, FIELD_AT(row, member)

#define FIELD_TEXT(name, row, member)    FIELD_OF(name, FIELD_KIND_TEXT, row, member)
#define FIELD_FULL_NAME(row) /* of a row with a `name` that may be shortened */                    \
	FIELD_TEXT("full_name", row, full_name), .has_other = true, .other = offsetof(row, name)
#define FIELD_WORD(name, row, member, words) /* of an enum, or an index */                         \
	FIELD_TEXT(name, row, member), .names = words
#define FIELD_COUNT(name, row, member)   FIELD_OF(name, FIELD_KIND_COUNT, row, member)
#define FIELD_BYTES(name, row, member)   FIELD_OF(name, FIELD_KIND_BYTES, row, member)
#define FIELD_TIME(name, row, member)    FIELD_OF(name, FIELD_KIND_TIME, row, member)
#define FIELD_ID(name, row, member)      FIELD_OF(name, FIELD_KIND_ID, row, member)
#define FIELD_ADDRESS(name, row, member) FIELD_OF(name, FIELD_KIND_ADDRESS, row, member)
#define FIELD_REAL(name, row, member)    FIELD_OF(name, FIELD_KIND_REAL, row, member)
#define FIELD_FLAG(name, row, member)    FIELD_OF(name, FIELD_KIND_FLAG, row, member)
/* A value of this kind that a function works out. */
#define FIELD_WORKED_OUT(name, which, function)                                                    \
	.key = name, .kind = FIELD_KIND_##which, .get = function
/* The share, or the bar, that a member is of `all`, a uint64_t in the result. */
#define FIELD_SHARE(name, row, member, result, all)                                                \
	FIELD_OF(name, FIELD_KIND_SHARE, row, member), .whole = offsetof(result, all)
#define FIELD_BAR(name, row, member, result, all)                                                  \
	FIELD_OF(name, FIELD_KIND_BAR, row, member), .whole = offsetof(result, all), .title = "",  \
						     .tint = TINT_GOOD
#define FIELD_GROUP(row, member, of)                                                               \
	.kind = FIELD_KIND_GROUP, .offset = offsetof(row, member), .fields = (of)
#define FIELD_SAME(of) .kind = FIELD_KIND_GROUP, .fields = (of) /* of the same struct */
#define FIELD_OBJECT(name, row, member, of)                                                        \
	.key = name, .kind = FIELD_KIND_OBJECT, .offset = offsetof(row, member), .fields = (of)
#define FIELD_SAME_OBJECT(name, of) .key = name, .kind = FIELD_KIND_OBJECT, .fields = (of)
#define FIELD_LIST(name, row, member, of)                                                          \
	.key = name, .kind = FIELD_KIND_ROWS, .offset = offsetof(row, member),                     \
	.size = sizeof(*((row *)0)->member), .fields = (of)
/* A list: `member` points to its rows, `number` is a size_t. */
#define FIELD_ROWS(name, row, member, number, of)                                                  \
	FIELD_LIST(name, row, member, of), .count_offset = offsetof(row, number)
/* A list: `member` is the array; all of it, or the first `number` rows of it. */
#define FIELD_ARRAY(name, row, member, of)                                                         \
	FIELD_LIST(name, row, member, of), .inside = true,                                         \
		.count = sizeof(((row *)0)->member) / sizeof(*((row *)0)->member)
#define FIELD_FIRST(name, row, member, number, of)                                                 \
	FIELD_ROWS(name, row, member, number, of), .inside = true
#define FIELD_NUMBERS(name, row, member)                                                           \
	.key = name, .kind = FIELD_KIND_NUMBERS, .offset = offsetof(row, member),                  \
	.stored = FIELD_STORED(*((row *)0)->member), .size = sizeof(*((row *)0)->member),          \
	.count = sizeof(((row *)0)->member) / sizeof(*((row *)0)->member)
#define FIELD_PUT(name, row, member, function)                                                     \
	.key = name, .kind = FIELD_KIND_PUT, .offset = offsetof(row, member), .put = function

/* The name of a row, and one whose title says what makes a row. */
#define FIELD_NAME    .flexible = true, .cut = TEXT_CUT_MIDDLE, .tint = TINT_NAME
#define FIELD_BY_NAME FIELD_NAME, .by = true

/* True if the field is a member of the JSON. */
bool field_in_json(const struct field *field);

/* Returns the value of a field of a row; free it. */
struct field_value field_value(const struct field *field, const void *row);
void field_value_free(struct field_value *value);

/* Sets the value that a function `get` works out. */
void field_set_number(struct field_value *out, uint64_t number);
void field_set_real(struct field_value *out, double real);
void field_set_flag(struct field_value *out, bool flag);
void field_set_text(struct field_value *out, const char *text);
void field_set_owned(struct field_value *out, char *text); /* takes ownership */

/* Defines a function `get` that sets an expression of `r`, the row, by field_set_KIND. */
#define FIELD_GETTER(name, type, kind, expression)                                                 \
	static void name(const void *row, struct field_value *out)                                 \
	{                                                                                          \
		const type *r = row;                                                               \
                                                                                                   \
		field_set_##kind(out, expression);                                                 \
	}

/* The same, with an empty cell where `is_blank`. */
#define FIELD_GETTER_BLANK(name, type, kind, expression, is_blank) \
	static void name(const void *row, struct field_value *out) \
	{                                                          \
		const type *r = row;                               \
                                                                   \
		field_set_##kind(out, expression);                 \
		out->blank = is_blank;                             \
	}

/* The same, without a value unless `is_known`. */
#define FIELD_GETTER_KNOWN(name, type, kind, expression, is_known) \
	static void name(const void *row, struct field_value *out) \
	{                                                          \
		const type *r = row;                               \
                                                                   \
		if (is_known)                                      \
			field_set_##kind(out, expression);         \
	}

/* Defines a function `skip` that returns an expression of `r`, the part. */
#define FIELD_SKIP(name, type, expression)                                                         \
	static bool name(const void *part)                                                         \
	{                                                                                          \
		const type *r = part;                                                              \
                                                                                                   \
		return expression;                                                                 \
	}

/* The rows of a list. */
struct field_rows {
	const void *rows;
	size_t count;
};
struct field_rows field_rows(const struct field *field, const void *result);
/* Returns the row at `index`. */
const void *field_row(const struct field *field, struct field_rows rows, size_t index);

#endif
