/* SPDX-License-Identifier: Apache-2.0 */
/* output.c: see output.h. */
#define _GNU_SOURCE
#include "output.h"

#include <sys/wait.h>

#include "../../store/event_names.h"
#include "../ring/ring_file.h"
#include "stream_thread.h"

void output_fail(struct output *output, struct shiny_err *err)
{
	if (!output->err)
		output->err = err;
	else
		shiny_err_free(err);
}

void output_flush_events(struct output *output)
{
	if (output->events && output->events != output->unkept)
		store_take_events(output->store, (size_t)(output->next_event - output->events));
	output->events = output->next_event = output->events_end = NULL;
}

void output_make_room(struct output *output)
{
	size_t room = 0;

	output_flush_events(output);
	if (output->store && !output->err)
		output_fail(output, store_event_room(output->store, &output->events, &room));
	if (!output->events) {
		output->events = output->unkept;
		room = sizeof(output->unkept) / sizeof(*output->unkept);
	}
	output->next_event = output->events;
	output->events_end = output->events + room;
}

void output_put_process(struct output *output, const struct process *p)
{
	static const char *const attach[] = { "none", "symbols", "partition_alloc", "entries" };
	const struct process *who = p->within ? p->within : p;
	int status = who->status >= 0 ? who->status : who->told >= 0 ? who->told : who->said;
	struct store_process row = {
		.id = p->id,
		.parent = p->parent_id,
		.pid = who->pid,
		.namespace_pid = who->namespace_pid,
		.name = who->name,
		.role = who->role,
		.executable = who->executable,
		.command = who->command,
		.start = ticks_ns(&output->ticks, who->start),
		.end = who->end ? ticks_ns(&output->ticks, who->end) : 0,
		.ending = !who->end		? "running"
			  : who->replaced	? "replaced"
			  : status < 0		? "unknown"
			  : WIFSIGNALED(status) ? "killed"
						: "exited",
		.attach = attach[p->ring->attach <= SHINY_ATTACH_ENTRIES ? p->ring->attach : 0],
		.attach_text = p->ring->attach_text,
		.events = p->events,
		.forked = p->forked ? ticks_ns_then(&output->ticks, p->fork_at) : 0,
		.purpose = who->purpose,
		.status = -1,
		.early = process_early(p),
		.within = p->within ? p->within->id : 0,
		.heap = p->within ? api_name(p->heap) : "",
		.sample = p->ring->sample,
	};

	if (!output->store)
		return;
	if (status >= 0 && !who->replaced)
		row.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
	OUTPUT_PUT(output, store_put_process, &row);
}

void output_put_thread(struct output *output, const struct process *process,
		       struct stream_thread *thread, uint64_t end)
{
	struct store_thread row = { .id = thread->id,
				    .process = process->id,
				    .tid = thread->tid,
				    .creator = thread->creator,
				    .name = thread->name,
				    .start = ticks_ns(&output->ticks, thread->start),
				    .end = end ? ticks_ns(&output->ticks, end) : 0,
				    .nested = thread->nested };

	OUTPUT_PUT(output, store_put_thread, &row);
	thread->changed = false;
}

uint32_t output_tag(struct output *output, const char *name)
{
	return texts_put(&output->tags, name) + 1;
}
