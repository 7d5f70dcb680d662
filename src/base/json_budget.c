/* SPDX-License-Identifier: Apache-2.0 */
#include "json_budget.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "row_order.h"

enum { NONE = -1, LISTS = 32, END = 3 /* bytes of "\n}\n" */ };

/* A row of a list; or, with `missing`, the rows that a list does not have, which take no bytes. */
struct json_row {
	const char *list; /* its key */
	size_t start, end;
	size_t own; /* bytes that are in no row inside */
	size_t rank, index;
	long parent; /* the row that it is inside; NONE */
	size_t missing;
	bool out;
};

/* An open container; only lists have a key. */
struct open_list {
	const char *key;
	size_t start, rows, missing;
	long row; /* the row that is being written; NONE */
};

struct json_budget {
	size_t bytes, rows, needs;
	char *text;
	size_t size;
	FILE *memory, *out; /* `out`: where the document goes */
	struct open_list open[JSON_DEPTH];
	VEC(struct json_row) parts;
};

static size_t written(const struct json_budget *b)
{
	return b->memory ? (size_t)ftello(b->memory) : 0;
}

void json_left_out(struct json *json, size_t rows)
{
	if (json->budget)
		json->budget->open[json->depth].missing += rows;
}

static void on_list(struct json *json, const char *key)
{
	struct open_list *open = &json->budget->open[json->depth];

	if (!key && json->depth > 1)
		key = json->budget->open[json->depth - 1].key;
	*open = (struct open_list){ key ? key : "", written(json->budget), 0, 0, NONE };
}

/* Ends the row of an open list; forgets it if it ends beyond the budget or the most rows. */
static void end_row(struct json_budget *b, struct open_list *open)
{
	size_t end = written(b);

	if (open->row == NONE)
		return;
	b->parts.at[open->row].end = end;
	if (end - open->start > b->bytes ||
	    (open->rows > b->rows && strcmp(open->key, "losses") != 0)) {
		fseeko(b->memory, (off_t)b->parts.at[open->row].start, SEEK_SET);
		b->parts.count = (size_t)open->row;
		open->missing++;
	}
	open->row = NONE;
}

/* Returns the innermost row that a container at this depth is inside. */
static long row_around(const struct json_budget *b, int depth)
{
	while (depth > 0 && b->open[depth].row == NONE)
		depth--;
	return depth > 0 ? b->open[depth].row : NONE;
}

static void on_value(struct json *json)
{
	struct json_budget *b = json->budget;
	struct open_list *open = &b->open[json->depth];
	struct json_row row = { .list = open->key, .parent = NONE };

	if (!b->memory || !open->key)
		return;
	end_row(b, open);
	row.parent = row_around(b, json->depth - 1);
	row.index = open->rows++;
	row.start = written(b);
	row.rank = row.index;
	if (row.parent != NONE && b->parts.at[row.parent].rank > row.rank)
		row.rank = b->parts.at[row.parent].rank;
	open->row = (long)b->parts.count;
	*vec_push(&b->parts) = row;
}

/* ---- the choice ---- */

struct ranked_row {
	size_t rank, part;
};
ORDER_BY(by_rank, struct ranked_row, ORDER_UP(rank) ?: ORDER_UP(part))

/* Sets the bytes of each row that are its own; returns those in no row. */
static size_t own_bytes(struct json_budget *b)
{
	size_t frame = b->size;

	for (size_t i = 0; i < b->parts.count; i++)
		b->parts.at[i].own = b->parts.at[i].end - b->parts.at[i].start;
	for (size_t i = b->parts.count; i-- > 0;) {
		const struct json_row *part = &b->parts.at[i];
		size_t bytes = part->end - part->start;

		if (part->parent == NONE)
			frame -= bytes;
		else
			b->parts.at[part->parent].own -= bytes;
	}
	return frame;
}

/* Puts "left_out", from the outermost rows that are out. `every`: as if each row were one. */
static void put_left_out(struct json *json, const struct json_budget *b, bool every)
{
	struct { const char *key; size_t rows; } lists[LISTS];
	size_t count = 0, all = 0;

	for (size_t i = 0; i < b->parts.count; i++) {
		const struct json_row *part = &b->parts.at[i];
		size_t rows = part->missing ? part->missing : 1, at = 0;

		if (!every && ((!part->out && !part->missing) ||
			       (part->parent != NONE && b->parts.at[part->parent].out)))
			continue;
		all += rows;
		while (at < count && strcmp(lists[at].key, part->list) != 0)
			at++;
		if (at == LISTS)
			continue;
		if (at == count)
			lists[count++].key = part->list, lists[at].rows = 0;
		lists[at].rows += rows;
	}
	if (!all)
		return;
	json_object_line(json, "left_out");
	json_number(json, "rows", all);
	json_array_line(json, "lists");
	for (size_t i = 0; i < count; i++) {
		json_object_line(json, NULL);
		json_text(json, "list", lists[i].key);
		json_number(json, "rows", lists[i].rows);
		json_end(json);
	}
	json_end(json);
	json_text(json, "see",
		  "choose rows with --match or another filter; a greater --limit or --budget has "
		  "more");
	json_end(json);
}

/* Returns the bytes of "left_out" as it is now. */
static size_t left_out_bytes(const struct json *json, const struct json_budget *b, bool every)
{
	struct json copy = *json;
	char *text;
	size_t size;

	copy.watch = NULL;
	copy.out = mem_stream_open(&text, &size);
	put_left_out(&copy, b, every);
	mem_stream_close(copy.out);
	free(text);
	return size;
}

/* Decides which rows are out. */
static void choose(struct json *json, struct json_budget *b)
{
	size_t bytes = own_bytes(b) + END, count = b->parts.count;
	struct ranked_row *order;

	if (b->size + END + left_out_bytes(json, b, false) <= b->bytes)
		return;
	bytes += left_out_bytes(json, b, true);
	if (bytes > b->bytes) {
		b->needs = bytes;
		return;
	}
	for (size_t i = 0; i < count; i++)
		b->parts.at[i].out = !b->parts.at[i].missing;
	order = mem_zero(count + 1, sizeof(*order));
	for (size_t i = 0; i < count; i++)
		order[i] = (struct ranked_row){ b->parts.at[i].rank, i };
	qsort(order, count, sizeof(*order), by_rank);
	for (size_t i = 0; i < count; i++) {
		struct json_row *part = &b->parts.at[order[i].part];

		if (!part->out)
			continue;
		bytes += part->own;
		if (bytes > b->bytes)
			break;
		part->out = false;
	}
	free(order);
}

/* Prints the document without the rows that are out. */
static void print(const struct json_budget *b)
{
	size_t at = 0;

	for (size_t i = 0; i < b->parts.count; i++) {
		const struct json_row *part = &b->parts.at[i];

		if (!part->out || part->start < at)
			continue;
		fwrite(b->text + at, 1, part->start - at, b->out);
		at = part->end;
	}
	fwrite(b->text + at, 1, b->size - at, b->out);
}

/* Prints the document but its end, if it fits. */
static void print_document(struct json *json)
{
	struct json_budget *b = json->budget;

	if (b->memory) {
		mem_stream_close(b->memory);
		b->memory = NULL;
		choose(json, b);
		json->out = b->out;
		if (!b->needs)
			print(b);
	}
	json->watch = NULL;
	if (!b->needs)
		put_left_out(json, b, false);
}

static void on_end(struct json *json)
{
	struct json_budget *b = json->budget;
	struct open_list *open = &b->open[json->depth];

	if (json->depth == 1) {
		print_document(json);
		return;
	}
	if (!open->key)
		return;
	end_row(b, open);
	if (open->missing)
		*vec_push(&b->parts) = (struct json_row){ .list = open->key,
						      .start = written(b),
						      .end = written(b),
						      .parent = row_around(b, json->depth - 1),
						      .missing = open->missing };
	open->key = NULL;
}

static const struct json_watch watch = { on_list, on_value, on_end };

void json_budget_begin(struct json *json, size_t bytes, size_t rows)
{
	struct json_budget *b = mem_zero(1, sizeof(*b));

	b->bytes = bytes ? bytes : SIZE_MAX;
	b->rows = rows ? rows : SIZE_MAX;
	b->out = json->out;
	if (bytes || rows)
		json->out = b->memory = mem_stream_open(&b->text, &b->size);
	for (int i = 0; i < JSON_DEPTH; i++)
		b->open[i].row = NONE;
	json->budget = b;
	json->watch = &watch;
}

size_t json_budget_short(const struct json *json)
{
	return json->budget ? json->budget->needs : 0;
}

void json_budget_free(struct json *json)
{
	struct json_budget *b = json->budget;

	if (!b)
		return;
	if (b->memory)
		mem_stream_close(b->memory);
	free(b->text);
	free(b->parts.at);
	free(b);
	json->watch = NULL;
	json->budget = NULL;
}
