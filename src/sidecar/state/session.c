/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: see session.h. */
#define _GNU_SOURCE
#include "session.h"

#include <sys/wait.h>

#include "../ring/heartbeat.h"

void session_fail(struct session *session, struct shiny_err *err)
{
	if (!session->err)
		session->err = err;
	else
		shiny_err_free(err);
}

void session_flush_events(struct session *session)
{
	if (session->events && session->events != session->unkept)
		store_take_events(session->store,
				  (size_t)(session->next_event - session->events));
	session->events = session->next_event = session->events_end = NULL;
}

void session_make_room(struct session *session)
{
	size_t room = 0;

	session_flush_events(session);
	if (session->store && !session->err)
		session_fail(session, store_event_room(session->store, &session->events, &room));
	if (!session->events) {
		session->events = session->unkept;
		room = sizeof(session->unkept) / sizeof(*session->unkept);
	}
	session->next_event = session->events;
	session->events_end = session->events + room;
}

void session_beat(struct session *session)
{
	uint64_t now = ticks_now(&session->ticks);

	heartbeat_sign(session->heartbeat);
	for (size_t i = 0; i < session->present.count; i++) {
		const struct ring_file *a = session->present.at[i];

		if (!a->over)
			__atomic_store_n(&a->header->sidecar_beat, now,
					 __ATOMIC_RELAXED); /* [ctl] */
	}
}

void session_put_process(struct session *session, const struct process *p)
{
	static const char *const attach[] = { "none", "symbols", "partition_alloc", "entries" };
	int status = p->status >= 0 ? p->status : p->told >= 0 ? p->told : p->said;
	struct store_process row = {
		.id = p->id,
		.parent = p->parent_id,
		.pid = p->pid,
		.namespace_pid = p->namespace_pid,
		.name = p->name,
		.role = p->role,
		.executable = p->executable,
		.command = p->command,
		.start = ticks_ns(&session->ticks, p->start),
		.end = p->end ? ticks_ns(&session->ticks, p->end) : 0,
		.ending = !p->end		? "running"
			  : p->replaced		? "replaced"
			  : status < 0		? "unknown"
			  : WIFSIGNALED(status) ? "killed"
						: "exited",
		.attach = attach[p->ring->attach <= SHINY_ATTACH_ENTRIES ? p->ring->attach : 0],
		.attach_text = p->ring->attach_text,
		.events = p->events,
		.forked = p->forked ? ticks_ns_then(&session->ticks, p->fork_at) : 0,
		.purpose = p->purpose,
		.status = -1,
		.early = process_early(p),
	};

	if (!session->store)
		return;
	if (status >= 0 && !p->replaced)
		row.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
	session_fail(session, store_put_process(session->store, &row));
}

void session_put_stream(struct session *session, struct stream *stream, uint64_t end)
{
	struct store_thread row = { .id = stream->id,
				    .process = stream->process->id,
				    .tid = stream->tid,
				    .creator = stream->creator,
				    .name = stream->name,
				    .start = ticks_ns(&session->ticks, stream->start),
				    .end = end ? ticks_ns(&session->ticks, end) : 0,
				    .nested = stream->nested };

	session_fail(session, store_put_thread(session->store, &row));
	stream->changed = false;
}

uint32_t session_tag(struct session *session, const char *name)
{
	return texts_put(&session->tags, name) + 1;
}
