/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_processes.c: `shinyctl processes`, and the processes of the front page. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"
#include "../base/units.h"
#include "ctl.h"

enum { PROCESS, PID, ID, ALLOCS, FREES, LIVE, LIVE_BYTES, PEAK, THREADS, TIME, ENDING, ATTACH, COLUMNS };
static const struct column columns[COLUMNS] = {
	[PROCESS] = {"process", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME},
	[PID] = {.title = "pid", .kind = CELL_TEXT},
	[ID] = {.title = "id", .kind = CELL_TEXT, .drop = 9, .tint = TINT_DIM},
	[ALLOCS] = {.title = "allocs", .kind = CELL_COUNT},
	[FREES] = {.title = "frees", .kind = CELL_COUNT, .drop = 4},
	[LIVE] = {.title = "live", .kind = CELL_COUNT, .drop = 3},
	[LIVE_BYTES] = {.title = "live bytes", .kind = CELL_BYTES},
	[PEAK] = {.title = "peak", .kind = CELL_BYTES, .drop = 5},
	[THREADS] = {.title = "threads", .kind = CELL_COUNT, .drop = 7},
	[TIME] = {.title = "time", .kind = CELL_TIME, .drop = 6},
	[ENDING] = {.title = "ending", .kind = CELL_TEXT, .drop = 8},
	[ATTACH] = {.title = "attach", .kind = CELL_TEXT, .drop = 2},
};

static int by_allocs(const void *left, const void *right, void *context)
{
	const struct processes *processes = context;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	uint64_t x = processes->rows[a].sums.allocs, y = processes->rows[b].sums.allocs;

	return x != y ? (x < y ? 1 : -1) : (a > b) - (a < b);
}

/* The front page of a script that ran hundreds of programs: those that allocated most, no tree. */
static void print_busiest(struct ctl *ctl, const struct processes *processes, size_t limit)
{
	size_t *order = mem_zero(processes->count + 1, sizeof *order);
	struct processes busiest = {.rows = mem_zero(limit + 1, sizeof *busiest.rows), .count = limit};
	uint64_t others = 0;

	for (size_t i = 0; i < processes->count; i++)
		order[i] = i;
	qsort_r(order, processes->count, sizeof *order, by_allocs, (void *)processes);
	for (size_t i = 0; i < processes->count; i++) {
		if (i >= limit) {
			others += processes->rows[order[i]].sums.allocs;
			continue;
		}
		busiest.rows[i] = processes->rows[order[i]];
		busiest.rows[i].depth = 0;
	}
	print_processes(ctl, &busiest, limit, true);
	fprintf(stdout, "%s\xe2\x80\xa6 and %s more processes with %s allocations; `shinyctl processes` shows the tree%s\n",
		tint(&ctl->style, TINT_DIM), units_count(UNITS_BUF, processes->count - limit), units_count(UNITS_BUF, others),
		tint_end(&ctl->style, TINT_DIM));
	free(busiest.rows);
	free(order);
}

void print_processes(struct ctl *ctl, const struct processes *processes, size_t limit, bool brief)
{
	struct table table;

	if (brief && limit < processes->count) {
		print_busiest(ctl, processes, limit);
		return;
	}

	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < limit; i++) {
		const struct process_row *row = &processes->rows[i];
		char branch[256], pid[16], id[16], *name;

		processes_branch(processes, i, branch, sizeof branch);
		name = mem_format("%s%s", branch, *row->role ? row->role : *row->name ? row->name : "(unknown)");
		snprintf(pid, sizeof pid, "%u", row->pid);
		snprintf(id, sizeof id, "%u", row->id);
		table_row(&table);
		table_text(&table, PROCESS, name);
		table_text(&table, PID, row->pid ? pid : "?");
		table_text(&table, ID, id);
		table_number(&table, ALLOCS, row->sums.allocs);
		table_number(&table, FREES, row->sums.frees);
		table_number(&table, LIVE, row->sums.live);
		table_number(&table, LIVE_BYTES, row->sums.live_bytes);
		if (row->peak_bytes)
			table_number(&table, PEAK, row->peak_bytes);
		table_number(&table, THREADS, row->threads);
		if (row->end > row->start)
			table_number(&table, TIME, row->end - row->start);
		if (strcmp(row->ending, "unknown") != 0) /* most children: only their parents are told */
			table_text(&table, ENDING, row->ending);
		table_text(&table, ATTACH, row->attach);
		if (!brief && strcmp(row->attach, "none") == 0 && *row->attach_text)
			table_below(&table, mem_format("    not recorded: %s\n", row->attach_text));
		free(name);
	}
	table_print(&table, &ctl->style);
	table_deinit(&table);
	ctl_more(ctl, limit, processes->count);
}

void json_processes(struct ctl *ctl, const char *key, const struct processes *processes, size_t limit)
{
	struct json *json = &ctl->json;

	json_array(json, key);
	for (size_t i = 0; i < limit; i++) {
		const struct process_row *row = &processes->rows[i];

		json_object_line(json, NULL);
		json_number(json, "id", row->id);
		json_number(json, "parent", row->parent);
		json_number(json, "pid", row->pid);
		json_number(json, "namespace_pid", row->namespace_pid);
		json_text(json, "name", row->name);
		json_text(json, "role", row->role);
		json_text(json, "executable", row->executable);
		json_text(json, "command", row->command);
		json_number(json, "start_ns", row->start);
		json_number(json, "end_ns", row->end);
		json_text(json, "ending", row->ending);
		json_text(json, "attach", row->attach);
		json_text(json, "attach_text", row->attach_text);
		json_number(json, "threads", row->threads);
		json_number(json, "events", row->events);
		json_sums(json, &row->sums);
		json_number(json, "peak_bytes", row->peak_bytes);
		json_number(json, "lost", row->lost);
		json_end(json);
	}
	json_end(json);
}

struct shiny_err *cmd_processes(struct ctl *ctl)
{
	struct store *store;
	struct processes processes;
	struct shiny_err *err = store_open(ctl->options.operands[0], &store);

	if (err)
		return err;
	err = processes_load(store, &processes);
	if (err) {
		store_close(store);
		return err;
	}
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_processes(ctl, "rows", &processes, ctl_limit(ctl, processes.count, 0));
	} else {
		print_processes(ctl, &processes, ctl_limit(ctl, processes.count, 0), false);
	}
	processes_deinit(&processes);
	return ctl_end(ctl, store, "types --process id:1");
}
