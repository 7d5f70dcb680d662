/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_events.c: every event of the session, a row each, in the file's order: the source of the
 * other tables and exports.
 *
 * Numbers of processes, threads and stacks are those of the session's other tables. `function` is
 * the innermost one of the stack. Addresses are text, as a reader that keeps numbers as doubles
 * loses digits of them. `vtable` is an id of v_vtables; of a constructor or destructor, of its
 * class. --between selects by the time of the event itself, not of its block's birth.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../analysis/attribute/stack_paths.h"
#include "../analysis/totals/process_names.h"
#include "../base/cleanup.h"
#include "../store/event_names.h"
#include "export.h"
#include "../answer/row_export.h"

struct event_rows {
	struct row_export to;
	struct process_names processes;
	struct stack_paths code;
	bool *wanted;     /* by process id; NULL: all */
	int64_t *threads; /* tids by thread id */
	char **tags;      /* by id */
	size_t wanted_limit, thread_limit, tag_limit;
};

static const char *const event_columns[] = {
	"time_ns", "kind", "call",	  "process", "pid",	 "thread", "tid",
	"address", "size", "old_address", "stack",   "function", "vtable", "tag",
};

static struct shiny_err *read_wanted(struct event_rows *rows, const struct export_job *job)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = query_format(job->store, &q,
					     "SELECT s.process FROM v_processes s WHERE %s",
					     job->filter->where);

	rows->wanted_limit = store_ids(job->store, "process");
	rows->wanted = mem_zero(rows->wanted_limit + 1, sizeof(*rows->wanted));
	QUERY_EACH (q, err)
		rows->wanted[query_id(q, 0, rows->wanted_limit)] = true;
	return err;
}

static struct shiny_err *read_threads(struct event_rows *rows, struct store *store)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store, "SELECT thread, tid FROM v_threads", &q);

	rows->thread_limit = store_ids(store, "thread");
	rows->threads = mem_zero(rows->thread_limit + 1, sizeof(*rows->threads));
	QUERY_EACH (q, err)
		rows->threads[query_id(q, 0, rows->thread_limit)] = query_number(q, 1);
	return err;
}

static struct shiny_err *read_tags(struct event_rows *rows, struct store *store)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store, "SELECT id, name FROM tag", &q);

	rows->tag_limit = store_ids(store, "tag");
	rows->tags = mem_zero(rows->tag_limit + 1, sizeof(*rows->tags));
	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, rows->tag_limit);

		free(rows->tags[id]);
		rows->tags[id] = mem_text(query_text(q, 1));
	}
	return err;
}

static void put_address(struct row_export *to, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	row_export_text(to, address ? text : NULL);
}

static const char *function_of(const struct stack_paths *code, uint32_t stack)
{
	const struct path_stack *s;
	const struct path_frame *frame;

	if (!stack || stack >= code->stack_limit)
		return NULL;
	s = &code->stacks[stack];
	frame = s->count ? &code->frames[code->path.at[s->first]] : NULL;
	return frame && frame->count
		       ? stack_paths_text(code, code->functions.at[frame->first].name)
		       : NULL;
}

static bool put_event(void *context, const struct event *event)
{
	struct event_rows *rows = context;
	struct row_export *to = &rows->to;
	const struct process_names *names = &rows->processes;
	uint32_t process = event->process, thread = event->thread;

	if (process >= rows->wanted_limit || !rows->wanted[process])
		return true;
	row_export_number(to, (int64_t)event->time);
	row_export_text(to, event_kind_name(event->kind));
	row_export_text(to, event_call_name(event));
	row_export_number(to, process);
	row_export_number(to, process < names->count ? names->of[process].pid : 0);
	row_export_number(to, thread);
	row_export_number(to, thread < rows->thread_limit ? rows->threads[thread] : 0);
	put_address(to, event->address);
	row_export_number(to, (int64_t)event->size);
	put_address(to, event->old_address);
	row_export_number(to, event->stack);
	row_export_text(to, function_of(&rows->code, event->stack));
	row_export_number(to, event->vtable);
	row_export_text(to, event->tag < rows->tag_limit ? rows->tags[event->tag] : NULL);
	return !ferror(to->out);
}

static struct shiny_err *read_names(struct event_rows *rows, const struct export_job *job)
{
	SHINY_TRY(read_wanted(rows, job));
	SHINY_TRY(read_threads(rows, job->store));
	SHINY_TRY(read_tags(rows, job->store));
	SHINY_TRY(process_names_load(job->store, &rows->processes));
	return stack_paths_load(job->store, &rows->code);
}

struct shiny_err *export_events(const struct export_job *job, bool csv)
{
	struct event_rows rows = { 0 };
	uint64_t to = job->filter->to ? job->filter->to - 1 : UINT64_MAX;
	struct shiny_err *err = read_names(&rows, job);

	if (!err) {
		row_export_init(&rows.to, job->out, csv, event_columns,
				  sizeof(event_columns) / sizeof(*event_columns));
		err = store_each_event(job->store, 0, job->filter->from, to, put_event, &rows);
	}
	stack_paths_deinit(&rows.code);
	process_names_deinit(&rows.processes);
	for (size_t i = 0; i < rows.tag_limit; i++)
		free(rows.tags[i]);
	free(rows.tags);
	free(rows.threads);
	free(rows.wanted);
	return err;
}
