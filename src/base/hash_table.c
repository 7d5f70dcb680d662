/* SPDX-License-Identifier: Apache-2.0 */
/* hash_table.c: see hash_table.h. */
#include "hash_table.h"

#include <stdlib.h>

#include "mem.h"

enum { HASH_TABLE_FIRST_ROOM = 64 };

static void put_cell(struct hash_table *table, struct hash_cell cell)
{
	size_t mask = table->room - 1, at = cell.hash & mask;

	while (table->cells[at].entry)
		at = (at + 1) & mask;
	table->cells[at] = cell;
}

static __attribute__((noinline, cold)) void grow_table(struct hash_table *table)
{
	struct hash_table larger = { .room = table->room ? 2 * table->room : HASH_TABLE_FIRST_ROOM,
				     .count = table->count };

	larger.cells = mem_zero(larger.room, sizeof(*larger.cells));
	for (size_t i = 0; i < table->room; i++)
		if (table->cells[i].entry)
			put_cell(&larger, table->cells[i]);
	free(table->cells);
	*table = larger;
}

void hash_table_add(struct hash_table *table, uint64_t hash, uint32_t index)
{
	if ((table->count + 1) * 4 > table->room * 3)
		grow_table(table);
	put_cell(table, (struct hash_cell){ (uint32_t)hash, index + 1 });
	table->count++;
}

static size_t cell_of_entry(const struct hash_table *table, uint64_t hash, uint32_t index)
{
	size_t mask = table->room - 1, at = (uint32_t)hash & mask;

	while (table->cells[at].entry != index + 1)
		at = (at + 1) & mask;
	return at;
}

void hash_table_remove(struct hash_table *table, uint64_t hash, uint32_t index)
{
	size_t mask = table->room - 1, hole = cell_of_entry(table, hash, index);

	/* A cell behind the hole fills it, unless its home lies cyclically between the two. */
	for (size_t at = (hole + 1) & mask; table->cells[at].entry; at = (at + 1) & mask)
		if (((at - table->cells[at].hash) & mask) >= ((at - hole) & mask)) {
			table->cells[hole] = table->cells[at];
			hole = at;
		}
	table->cells[hole].entry = 0;
	table->count--;
}

void hash_table_move(struct hash_table *table, uint64_t hash, uint32_t from, uint32_t to)
{
	table->cells[cell_of_entry(table, hash, from)].entry = to + 1;
}

void hash_table_deinit(struct hash_table *table)
{
	free(table->cells);
	*table = (struct hash_table){ 0 };
}
