/* SPDX-License-Identifier: Apache-2.0 */
/* processes_fields.c: describes the processes of a session, and the programs that are not in it. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>

#include "../../base/mem.h"
#include "headlines.h"
#include "processes.h"

static void get_process(const void *row, struct field_value *out)
{
	const struct process_row *r = row;
	char branch[256];

	processes_branch(r, branch, sizeof(branch));
	field_set_owned(out, mem_format("%s%s", branch,
					*r->role   ? r->role
					: *r->name ? r->name
						   : "(unknown)"));
}

FIELD_GETTER(get_pid_text, struct process_row, owned,
	     r->pid ? mem_format("%" PRIu32, r->pid) : mem_text("?"))
FIELD_GETTER(get_id_text, struct process_row, owned, mem_format("%" PRIu32, r->id))
FIELD_GETTER_KNOWN(get_time, struct process_row, number, r->end - r->start, r->end > r->start)
FIELD_SKIP(has_no_status, struct process_row, r->status < 0)

/* Sets "exited", "exited 3" or "SIGKILL"; empty if unknown. */
static void get_ending_text(const void *row, struct field_value *out)
{
	const struct process_row *r = row;
	bool killed = strcmp(r->ending, "killed") == 0;
	const char *name = killed ? sigabbrev_np(r->status) : NULL;

	if (name)
		field_set_owned(out, mem_format("SIG%s", name));
	else if (r->status > 0)
		field_set_owned(out, mem_format("%s %d", r->ending, r->status));
	else
		field_set_text(out, strcmp(r->ending, "unknown") == 0 ? "" : r->ending);
}

/* clang-format off */
#define ROW struct process_row
#define PROGRAM struct unrecorded_row
const struct field process_row_fields[] = {
	{ FIELD_WORKED_OUT("process", TEXT, get_process), FIELD_NAME, .column_only = true },
	{ FIELD_WORKED_OUT("pid_text", TEXT, get_pid_text), .title = "pid", .column_only = true },
	{ FIELD_WORKED_OUT("id_text", TEXT, get_id_text), .title = "id", .tint = TINT_DIM,
	  .column_only = true },
	{ FIELD_WORKED_OUT("time", TIME, get_time), .column_only = true },
	{ FIELD_WORKED_OUT("ending_text", TEXT, get_ending_text), .title = "ending",
	  .column_only = true },
	{ FIELD_ID("id", ROW, id), .help = "the number of the process in the session" },
	{ FIELD_ID("parent", ROW, parent),
	  .help = "the id of the process that forked or exec'd it; 0: unknown" },
	{ FIELD_ID("pid", ROW, pid), .help = "its pid; 0: unknown" },
	{ FIELD_ID("namespace_pid", ROW, namespace_pid),
	  .help = "its pid as it sees itself" },
	{ FIELD_TEXT("name", ROW, name), .help = "the name of the program" },
	{ FIELD_TEXT("role", ROW, role), .help = "its role, such as renderer; empty: none" },
	{ FIELD_TEXT("executable", ROW, executable), .help = "the path of the program" },
	{ FIELD_TEXT("command", ROW, command), .help = "its command line" },
	{ FIELD_TIME("start_ns", ROW, start), .help = "when it was first seen" },
	{ FIELD_TIME("end_ns", ROW, end), .help = "when it ended; 0: still running" },
	{ FIELD_TEXT("ending", ROW, ending),
	  .help = "exited, killed, replaced, unknown or running" },
	{ FIELD_ID("status", ROW, status), .skip = has_no_status,
	  .help = "the exit status, or the signal that killed it; null: unknown" },
	{ FIELD_TEXT("attach", ROW, attach), .help = "how its allocator was reached; none: not" },
	{ FIELD_TEXT("attach_text", ROW, attach_text), .help = "the evidence for that, in words" },
	{ FIELD_COUNT("threads", ROW, threads), .help = "its threads" },
	{ FIELD_COUNT("events", ROW, events), .help = "its events" },
	{ FIELD_GROUP(ROW, sums, sums_fields) },
	{ FIELD_BYTES("peak_bytes", ROW, peak_bytes), .title = "peak", .blank_zero = true,
	  .help = "the most live bytes at one time" },
	{ FIELD_COUNT("lost", ROW, lost), .help = "its events that were lost" },
	FIELD_LAST
};
const struct field processes_fields[] = {
	{ FIELD_ROWS("rows", struct processes, rows, count, process_row_fields), .limited = true,
	  .shows = "process pid_text id_text/9 allocs frees/4 live/3 live_bytes margin/4 "
		   "peak_bytes/5 threads/7 time/6 ending_text/8 attach/2",
	  .help = "a process, parents before their children" },
	FIELD_LAST
};
static const struct field unrecorded_row_fields[] = {
	{ FIELD_TEXT("name", PROGRAM, name), .help = "the name of the program" },
	{ FIELD_TEXT("executable", PROGRAM, executable), .help = "its path" },
	{ FIELD_COUNT("count", PROGRAM, count), .help = "how many times it was started" },
	{ FIELD_TEXT("reason", PROGRAM, reason), .help = "why it is not recorded, as a word" },
	{ FIELD_TEXT("text", PROGRAM, text), .help = "the reason as a sentence" },
	{ FIELD_FLAG("choice", PROGRAM, choice), .help = "the user asked for it to be left out" },
	{ FIELD_ID("pid", PROGRAM, pid), .help = "the pid of the first one; 0: unknown" },
	{ FIELD_ID("parent", PROGRAM, parent), .help = "the id of the process that started it" },
	{ FIELD_TEXT("parent_name", PROGRAM, parent_name),
	  .help = "the name of this process; empty: unknown" },
	{ FIELD_TIME("start_ns", PROGRAM, time), .help = "when the first one began" },
	FIELD_LAST
};
const struct field unrecorded_fields[] = {
	{ FIELD_ROWS("not_recorded", struct unrecorded, rows, count, unrecorded_row_fields),
	  .help = "a program that was started and is not recorded" },
	FIELD_LAST
};
