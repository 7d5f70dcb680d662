/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_processes.c: `shinyctl processes`. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../analysis/totals/headlines.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../ctl.h"

enum { UNRECORDED_USUAL = 20 };
enum {
	PROCESS,
	PID,
	ID,
	ALLOCS,
	FREES,
	LIVE,
	LIVE_BYTES,
	PEAK,
	THREADS,
	TIME,
	ENDING,
	ATTACH,
	COLUMNS
};
static const struct table_column columns[COLUMNS] = {
	[PROCESS] = { "process", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[PID] = { .title = "pid", .kind = CELL_TEXT },
	[ID] = { .title = "id", .kind = CELL_TEXT, .drop = 9, .tint = TINT_DIM },
	[ALLOCS] = { .title = "allocs", .kind = CELL_COUNT },
	[FREES] = { .title = "frees", .kind = CELL_COUNT, .drop = 4 },
	[LIVE] = { .title = "live", .kind = CELL_COUNT, .drop = 3 },
	[LIVE_BYTES] = { .title = "live bytes", .kind = CELL_BYTES },
	[PEAK] = { .title = "peak", .kind = CELL_BYTES, .drop = 5 },
	[THREADS] = { .title = "threads", .kind = CELL_COUNT, .drop = 7 },
	[TIME] = { .title = "time", .kind = CELL_TIME, .drop = 6 },
	[ENDING] = { .title = "ending", .kind = CELL_TEXT, .drop = 8 },
	[ATTACH] = { .title = "attach", .kind = CELL_TEXT, .drop = 2 },
};

/* Writes "exited", "exited 3" or "SIGKILL"; empty if unknown. */
static void ending_text(const struct process_row *row, char *out, size_t room)
{
	bool killed = strcmp(row->ending, "killed") == 0;
	const char *name = killed ? sigabbrev_np(row->status) : NULL;

	if (name)
		snprintf(out, room, "SIG%s", name);
	else if (row->status > 0)
		snprintf(out, room, "%s %d", row->ending, row->status);
	else
		snprintf(out, room, "%s", strcmp(row->ending, "unknown") == 0 ? "" : row->ending);
}

static void print(struct ctl *ctl, const struct processes *processes, size_t limit)
{
	struct table table;

	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < limit; i++) {
		const struct process_row *row = &processes->rows[i];
		char branch[256], pid[16], id[16], ending[32], *name;

		processes_branch(processes, i, branch, sizeof(branch));
		name = mem_format("%s%s", branch,
				  *row->role   ? row->role
				  : *row->name ? row->name
					       : "(unknown)");
		snprintf(pid, sizeof(pid), "%u", row->pid);
		snprintf(id, sizeof(id), "%u", row->id);
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
		ending_text(row, ending, sizeof(ending));
		table_text(&table, ENDING, ending);
		table_text(&table, ATTACH, row->attach);
		if (strcmp(row->attach, "none") == 0 && *row->attach_text)
			table_below(&table, mem_format("    not recorded: %s\n", row->attach_text));
		free(name);
	}
	table_print(&table, &ctl->style);
	table_deinit(&table);
	ctl_more(ctl, limit, processes->count);
}

void json_processes(struct ctl *ctl, const char *key, const struct processes *processes,
		    size_t limit)
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
		json_number_or_null(json, "status", (uint64_t)row->status, row->status >= 0);
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

static void print_unrecorded(struct ctl *ctl, const struct unrecorded *unrecorded)
{
	size_t limit = ctl_limit(ctl, unrecorded->count, UNRECORDED_USUAL);

	if (!unrecorded->count)
		return;
	ctl_heading(ctl, "Not recorded", "");
	for (size_t i = 0; i < limit; i++) {
		char *line = unrecorded_line(&unrecorded->rows[i]);

		fprintf(ctl->style.out, "  %s\n", line);
		free(line);
	}
	ctl_more(ctl, limit, unrecorded->count);
}

static void json_unrecorded(struct ctl *ctl, const struct unrecorded *unrecorded)
{
	struct json *json = &ctl->json;

	json_array(json, "not_recorded");
	for (size_t i = 0; i < unrecorded->count; i++) {
		const struct unrecorded_row *row = &unrecorded->rows[i];

		json_object_line(json, NULL);
		json_text(json, "name", row->name);
		json_text(json, "executable", row->executable);
		json_number(json, "count", row->count);
		json_text(json, "reason", row->reason);
		json_text(json, "text", row->text);
		json_bool(json, "choice", row->choice);
		json_number(json, "pid", row->pid);
		json_number(json, "parent", row->parent);
		json_text(json, "parent_name", row->parent_name);
		json_number(json, "start_ns", row->time);
		json_end(json);
	}
	json_end(json);
}

struct shiny_err *cmd_processes(struct ctl *ctl)
{
	struct store *store;
	struct processes processes;
	struct unrecorded unrecorded = { 0 };
	struct shiny_err *err = store_open(ctl->options.operands[0], &store);

	if (err)
		return err;
	err = unrecorded_load(store, &unrecorded);
	if (!err)
		err = processes_load(store, &processes);
	if (err) {
		unrecorded_deinit(&unrecorded);
		store_close(store);
		return err;
	}
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_processes(ctl, "rows", &processes, ctl_limit(ctl, processes.count, 0));
		json_unrecorded(ctl, &unrecorded);
	} else {
		print(ctl, &processes, ctl_limit(ctl, processes.count, 0));
		print_unrecorded(ctl, &unrecorded);
	}
	unrecorded_deinit(&unrecorded);
	processes_deinit(&processes);
	return ctl_end(ctl, store, "types --process id:1");
}
