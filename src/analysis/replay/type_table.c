/* SPDX-License-Identifier: Apache-2.0 */
/* type_table.c: see type_table.h. */
#include "type_table.h"

#include <stdlib.h>

#include "../../base/mem.h"

/* Returns the row's cell, or the empty one where it would be. */
static struct type_seen *seen_cell(const struct type_table *table, uint32_t process, uint32_t stack,
				   uint32_t vtable)
{
	size_t i = type_table_seen_home(table, process, stack, vtable);

	for (; table->seen[i].process; i = (i + 1) & (table->seen_room - 1))
		if (table->seen[i].process == process && table->seen[i].stack == stack &&
		    table->seen[i].vtable == vtable)
			break;
	return &table->seen[i];
}

uint32_t type_table_find_vtable(const struct type_table *table, uint32_t process, uint32_t stack,
				uint32_t vtable)
{
	const struct type_seen *cell = seen_cell(table, process, stack, vtable);

	/* a vtable without a row was no vptr: its blocks count with those without one */
	return cell->process ? cell->type : type_table_find(table, process, stack, 0);
}

static size_t room_for(size_t rows)
{
	size_t room = 2;

	while (room < 2 * rows)
		room *= 2;
	return room;
}

static void put_cell(struct type_table *table, const struct type_seen *row)
{
	struct type_cell *cells = table->processes[row->process - 1].cells;
	unsigned shift = table->processes[row->process - 1].shift;
	size_t i = type_table_home(row->stack, shift);

	while (cells[i].type && cells[i].stack != row->stack)
		i = (i + 1) & (((size_t)1 << (64 - shift)) - 1);
	cells[i] = (struct type_cell){ row->stack, row->type };
}

static void fill(struct type_table *table, const struct type_seen *rows, size_t count)
{
	size_t *counts = mem_zero(table->process_count + 1, sizeof(*counts)), seen = 0, at = 0;

	for (size_t i = 0; i < count; i++) {
		counts[rows[i].process - 1] += rows[i].vtable == 0;
		seen += rows[i].vtable != 0;
	}
	table->seen_room = room_for(seen);
	table->seen = mem_pages(table->seen_room * sizeof(*table->seen));
	table->processes = mem_zero(table->process_count + 1, sizeof(*table->processes));
	for (size_t i = 0; i < table->process_count; i++)
		table->cell_count += room_for(counts[i]);
	table->cells = mem_pages((table->cell_count + 1) * sizeof(*table->cells));
	for (size_t i = 0; i < table->process_count; i++) {
		table->processes[i].cells = table->cells + at;
		table->processes[i].shift = 64 - (unsigned)__builtin_ctzll(room_for(counts[i]));
		at += room_for(counts[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (rows[i].vtable)
			*seen_cell(table, rows[i].process, rows[i].stack, rows[i].vtable) = rows[i];
		else
			put_cell(table, &rows[i]);
	free(counts);
}

struct shiny_err *type_table_load(struct store *store, size_t processes, struct type_table *out)
{
	struct type_table table = { .process_count = processes };
	VEC(struct type_seen) rows = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store,
					    "SELECT process, stack, vtable, type FROM stat WHERE "
					    "process > 0 AND (type > 0 OR vtable > 0)",
					    &q);

	QUERY_EACH (q, err)
		if (query_id(q, 0, processes + 1)) /* a damaged file has rows of unlisted
						    * processes */
			*vec_push(&rows) =
				(struct type_seen){ query_id(q, 0, processes + 1),
						    (uint32_t)query_number(q, 1),
						    (uint32_t)query_number(q, 2),
						    query_id(q, 3, store_ids(store, "type")) };
	fill(&table, rows.at, rows.count);
	free(rows.at);
	*out = table;
	return err;
}

void type_table_deinit(struct type_table *table)
{
	free(table->processes);
	mem_pages_free(table->cells, (table->cell_count + 1) * sizeof(*table->cells));
	mem_pages_free(table->seen, table->seen_room * sizeof(*table->seen));
	*table = (struct type_table){ 0 };
}
