/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"

enum { DEEPEST = 32 }; /* deeper ones, and cycles in a damaged file, become roots */

static void read_row(struct processes *out, const struct query *q)
{
	struct process_row *row = rows_push(&out->rows, &out->count, &out->room, sizeof(*row));
	char **texts[] = { &row->name,	 &row->role,   &row->executable, &row->command,
			   &row->ending, &row->attach, &row->attach_text };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		*texts[i] = mem_text(query_text(q, 4 + (int)i));
	row->id = (uint32_t)query_number(q, 0);
	row->parent = (uint32_t)query_number(q, 1);
	row->pid = (uint32_t)query_number(q, 2);
	row->namespace_pid = (uint32_t)query_number(q, 3);
	row->start = (uint64_t)query_number(q, 11);
	row->end = (uint64_t)query_number(q, 12);
	row->events = (uint64_t)query_number(q, 13);
	row->threads = (uint64_t)query_number(q, 14);
	row->peak_bytes = (uint64_t)query_number(q, 15);
	row->lost = (uint64_t)query_number(q, 16);
	row->status = (int)query_number(q, 17);
	sums_read(&row->sums, q, 18);
}

/* Moves row `index` and its descendants to `to`, depth first. */
static void place(struct processes *from, struct processes *to, size_t index, unsigned depth,
		  const struct process_row *above, bool *placed)
{
	size_t here = to->count, last = 0;
	uint32_t id = from->rows[index].id;

	placed[index] = true;
	to->rows[to->count++] = from->rows[index];
	to->rows[here].depth = depth;
	to->rows[here].above = above;
	to->rows[here].last_child = true;
	for (size_t i = 0; i < from->count && depth < DEEPEST; i++) {
		if (placed[i] || from->rows[i].parent != id)
			continue;
		if (last)
			to->rows[last].last_child = false;
		last = to->count;
		place(from, to, i, depth + 1, &to->rows[here], placed);
	}
}

static void into_tree(struct processes *rows)
{
	struct processes tree = { .rows = mem_zero(rows->count + 1, sizeof(*tree.rows)),
				  .room = rows->count + 1 };
	bool *placed = mem_zero(rows->count + 1, sizeof(*placed));

	for (int orphans = 0; orphans < 2; orphans++)
		for (size_t i = 0; i < rows->count; i++) {
			bool root = true;

			for (size_t j = 0; j < rows->count && root && !orphans; j++)
				root = j == i || rows->rows[j].id != rows->rows[i].parent;
			if (!placed[i] && root)
				place(rows, &tree, i, 0, NULL, placed);
		}
	free(rows->rows);
	free(placed);
	*rows = tree;
}

struct shiny_err *processes_load(struct store *store, const struct filter *filter,
				 struct processes *out)
{
	SHINY_CLEANUP(processes_deinit) struct processes rows = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		query_format(store, &q,
			    "SELECT process, parent, pid, namespace_pid, name, role, executable, "
			    "command, ending, attach, attach_text, start_ns, end_ns, "
			    "events, threads, peak_bytes, lost, COALESCE(status, -1), " SUMS_NAMES
			    " FROM v_processes s WHERE %s ORDER BY process",
			    filter ? filter->where : "NOT within");

	QUERY_EACH (q, err)
		read_row(&rows, q);
	if (err)
		return err;
	into_tree(&rows);
	*out = shiny_steal(rows);
	return NULL;
}

void processes_deinit(struct processes *processes)
{
	for (size_t i = 0; i < processes->count; i++) {
		struct process_row *row = &processes->rows[i];

		free(row->name);
		free(row->role);
		free(row->executable);
		free(row->command);
		free(row->ending);
		free(row->attach);
		free(row->attach_text);
	}
	free(processes->rows);
}

void processes_branch(const struct process_row *row, char *out, size_t room)
{
	const struct process_row *chain[DEEPEST + 1];
	size_t count = 0, at = 0;

	*out = 0;
	if (!row->depth)
		return;
	for (const struct process_row *up = row->above; up && count < DEEPEST; up = up->above)
		if (up->depth)
			chain[count++] = up;
	while (count && at + 16 < room)
		at += (size_t)snprintf(out + at, room - at, "%s",
				       chain[--count]->last_child ? "   " : "\xe2\x94\x82  ");
	snprintf(out + at, room - at, "%s",
		 row->last_child ? "\xe2\x94\x94\xe2\x94\x80 " : "\xe2\x94\x9c\xe2\x94\x80 ");
}
