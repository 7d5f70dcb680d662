/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.c: see recover.h.
 *
 * What a sidecar that was killed, or had no room left, leaves behind are the events up to its last
 * commit, and the modules, frames, stacks, vtables, threads and processes that these name; every
 * total, type, site and name is missing, as those come at the end. So the events are applied once
 * more, to registries and aggregates like the sidecar's, and the end is made that was not made. The
 * clock is the file's own: a tick is a nanosecond. Not there, because no commit has it: the
 * counters of what the library lost, mappings of modules, the memory beside malloc. The file itself
 * is only read.
 */
#define _GNU_SOURCE
#include "recover.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/text.h"
#include "intake/apply_block.h"
#include "output/finish.h"
#include "process/inheritance.h"
#include "process/lifecycle.h"
#include "session_setup.h"
#include "vm/mappings_state.h"

struct tail {
	uint32_t frames[6], next;
};
struct recovery {
	struct session *session;
	struct store *from;
	struct stream stream; /* the functions of apply.h want one: of it they see process and
	                       * time */
	uint64_t until;
	VEC(struct tail) tails;
};

/* ---- the tables ---- */

typedef void row_fn(struct recovery *recovery, const struct query *row);

static struct shiny_err *each_row(struct recovery *recovery, const char *sql, row_fn *each)
{
	struct query *query = NULL;
	struct shiny_err *err = store_query(recovery->from, sql, &query);
	bool more = true;

	while (!err && !(err = query_step(query, &more)) && more)
		each(recovery, query);
	query_end(query);
	return err;
}

static void take_module(struct recovery *recovery, const struct query *row)
{
	const char *hex = query_verbatim(row, 1);
	uint8_t id[SHINY_BUILD_ID_MAX];
	uint32_t bytes = 0;
	unsigned byte;

	for (; bytes < sizeof(id) && sscanf(hex + 2 * bytes, "%2x", &byte) == 1; bytes++)
		id[bytes] = (uint8_t)byte;
	ids_module(&recovery->session->ids, query_verbatim(row, 0), id, bytes);
}

static void take_frame(struct recovery *recovery, const struct query *row)
{
	ids_frame(&recovery->session->ids, (uint32_t)query_number(row, 0),
		  (uint64_t)query_number(row, 1));
}

static void take_vtable(struct recovery *recovery, const struct query *row)
{
	ids_vtable(&recovery->session->ids, (uint32_t)query_number(row, 0),
		   (uint64_t)query_number(row, 1), false);
}

static void take_tail(struct recovery *recovery, const struct query *row)
{
	struct tail *tail = vec_push(&recovery->tails);

	for (int i = 0; i < 6; i++)
		tail->frames[i] = (uint32_t)query_number(row, i);
	tail->next = (uint32_t)query_number(row, 6);
}

static void take_stack(struct recovery *recovery, const struct query *row)
{
	uint32_t frames[SHINY_FRAMES_MAX + 6],
		count = 0, limit = (uint32_t)recovery->session->ids.frames.count;
	uint32_t next = (uint32_t)query_number(row, 6);

	for (int i = 0; i < 6; i++)
		frames[count++] = (uint32_t)query_number(row, i);
	for (; next && next <= recovery->tails.count && count <= SHINY_FRAMES_MAX;
	     next = recovery->tails.at[next - 1].next)
		for (int i = 0; i < 6 && count < sizeof(frames) / sizeof(*frames); i++)
			frames[count++] = recovery->tails.at[next - 1].frames[i];
	while (count && !frames[count - 1])
		count--;
	for (uint32_t i = 0; i < count; i++)
		if (!frames[i] || frames[i] > limit)
			count = i; /* a damaged file */
	ids_stack(&recovery->session->ids, frames,
		  count < SHINY_FRAMES_MAX ? count : SHINY_FRAMES_MAX);
}

static void take_thread(struct recovery *recovery, const struct query *row)
{
	struct store_thread thread = {
		.id = (uint32_t)query_number(row, 0),
		.process = (uint32_t)query_number(row, 1),
		.tid = (uint32_t)query_number(row, 2),
		.creator = (uint32_t)query_number(row, 3),
		.name = query_verbatim(row, 4),
		.start = (uint64_t)query_number(row, 5),
		.end = (uint64_t)query_number(row, 6),
		.nested = query_number(row, 7),
	};

	recovery->session->threads++;
	session_fail(recovery->session, store_put_thread(recovery->session->store, &thread));
}

static void take_tag(struct recovery *recovery, const struct query *row)
{
	session_tag(recovery->session, query_verbatim(row, 0));
}

static void take_mark(struct recovery *recovery, const struct query *row)
{
	struct store_mark mark = { .process = (uint32_t)query_number(row, 0),
				   .thread = (uint32_t)query_number(row, 1),
				   .time = (uint64_t)query_number(row, 2),
				   .name = query_verbatim(row, 3) };

	session_fail(recovery->session, store_put_mark(recovery->session->store, &mark));
}

static void take_unrecorded(struct recovery *recovery, const struct query *row)
{
	struct store_unrecorded program = {
		.parent = (uint32_t)query_number(row, 0),
		.pid = (uint32_t)query_number(row, 1),
		.name = query_verbatim(row, 2),
		.executable = query_verbatim(row, 3),
		.reason = query_verbatim(row, 4),
		.text = query_verbatim(row, 5),
		.choice = query_number(row, 6),
		.time = (uint64_t)query_number(row, 7),
	};

	session_fail(recovery->session, store_put_unrecorded(recovery->session->store, &program));
}

static void take_note(struct recovery *recovery, const struct query *row)
{
	session_fail(recovery->session,
		     store_put_note(recovery->session->store, (uint32_t)query_number(row, 0),
				    query_verbatim(row, 1)));
}

/* What a ring is here: what its processes have in common. */
static struct ring_file *ring_of(struct session *session, const struct query *row)
{
	static const char *const attach[] = { "none", "symbols", "partition_alloc", "entries" };
	struct ring_file *ring = mem_zero(1, sizeof(*ring));

	ring->fd = -1;
	ring->over = true;
	for (uint32_t i = 0; i < sizeof(attach) / sizeof(*attach); i++)
		if (!strcmp(query_verbatim(row, 6), attach[i]))
			ring->attach = i;
	snprintf(ring->attach_text, sizeof(ring->attach_text), "%s", query_verbatim(row, 7));
	snprintf(ring->executable, sizeof(ring->executable), "%s", query_verbatim(row, 4));
	*vec_push(&session->rings) = ring;
	return ring;
}

static void take_process(struct recovery *recovery, const struct query *row)
{
	struct session *session = recovery->session;
	struct process *p = mem_zero(1, sizeof(*p)), *parent;
	const char *ending = query_verbatim(row, 13);
	uint32_t parent_id = (uint32_t)query_number(row, 1);

	*vec_push(&session->processes) = p;
	p->id = (uint32_t)session->processes.count;
	p->slot = p->id;
	p->generation = 1;
	p->parent_id = parent_id;
	p->pid = (uint32_t)query_number(row, 2);
	p->namespace_pid = (uint32_t)query_number(row, 3);
	p->pidfd = p->status = p->said = p->told = -1;
	p->executable = mem_text(query_verbatim(row, 4));
	p->command = mem_text(query_verbatim(row, 5));
	p->name = mem_text(query_verbatim(row, 8));
	p->role = mem_text(query_verbatim(row, 9));
	p->purpose = mem_text(query_verbatim(row, 10));
	p->start = p->last = (uint64_t)query_number(row, 11);
	p->end = (uint64_t)query_number(row, 12);
	p->replaced = !strcmp(ending, "replaced");
	p->gone = p->closed = p->end != 0;
	if (!query_is_null(row, 14))
		p->status = !strcmp(ending, "killed") ? (int)query_number(row, 14)
						      : (int)query_number(row, 14) << 8;
	p->fork_at = (uint64_t)query_number(row, 15);
	parent = p->fork_at && parent_id && parent_id < p->id ? session->processes.at[parent_id - 1]
							      : NULL;
	if (parent) {
		p->forked = p->pending = true;
		p->parent_slot = parent_id;
		p->parent_generation = 1;
		if (p->fork_at < session->next_fork)
			session->next_fork = p->fork_at;
	}
	p->ring = parent ? parent->ring : ring_of(session, row);
	registry_init(&p->registry);
	stats_init(&p->stats, &session->total);
	total_begins(&session->total, p->start);
	if (p->end)
		total_ends(&session->total, &p->stats.live, p->end, p->replaced);
	p->memory = memory_create(session->memory, p->id);
	process_enlist(session, p);
}

/* Its memory was sampled then: it ran, whether or not it allocated. */
static void take_sample(struct recovery *recovery, const struct query *row)
{
	struct session *session = recovery->session;
	uint32_t id = query_id(row, 0, session->processes.count + 1);
	struct process *p = id ? session->processes.at[id - 1] : NULL;
	uint64_t time = (uint64_t)query_number(row, 1);

	if (p && !p->end && time > p->last)
		p->last = time;
	if (p && time > recovery->until)
		recovery->until = time;
}

static struct shiny_err *take_tables(struct recovery *recovery)
{
	struct shiny_err *err =
		each_row(recovery, "SELECT path, build_id FROM module ORDER BY id", take_module);

	err = err ? err
		  : each_row(recovery, "SELECT module, vaddr FROM frame ORDER BY id", take_frame);
	err = err ? err
		  : each_row(recovery, "SELECT module, vaddr FROM vtable ORDER BY id", take_vtable);
	err = err ? err
		  : each_row(recovery,
			     "SELECT frame0, frame1, frame2, frame3, frame4, frame5, tail FROM "
			     "stack_tail ORDER BY id",
			     take_tail);
	err = err ? err
		  : each_row(recovery,
			     "SELECT frame0, frame1, frame2, frame3, frame4, frame5, tail FROM "
			     "stack ORDER BY id",
			     take_stack);
	err = err ? err
		  : each_row(recovery,
			     "SELECT id, parent, pid, namespace_pid, executable, command, attach, "
			     "attach_text, name, role, purpose, "
			     "start_ns, end_ns, ending, status, forked_ns FROM process ORDER BY id",
			     take_process);
	err = err ? err
		  : each_row(recovery,
			     "SELECT id, process, tid, creator, name, start_ns, end_ns, nested "
			     "FROM thread ORDER BY id",
			     take_thread);
	if (!err)
		err = each_row(recovery, "SELECT process, MAX(ns) FROM memory GROUP BY process",
			       take_sample);
	if (!err)
		err = each_row(recovery, "SELECT name FROM tag ORDER BY id", take_tag);
	if (!err)
		err = each_row(recovery, "SELECT process, thread, ns, name FROM mark ORDER BY id",
			       take_mark);
	if (!err)
		err = each_row(recovery,
			       "SELECT parent, pid, name, executable, reason, text, choice, ns "
			       "FROM unrecorded ORDER BY id",
			       take_unrecorded);
	return err ? err : each_row(recovery, "SELECT process, text FROM note", take_note);
}

/* ---- the events ---- */

static void end_block(struct recovery *recovery, struct process *p, const struct event *e)
{
	enum block_end how = e->api == EVENT_END_REUSED	    ? END_REUSED
			     : e->api == EVENT_END_RELEASED ? END_RELEASED
							    : END_FREED;
	struct entry old;

	if (registry_remove(&p->registry, e->address, &old))
		apply_block_ended(recovery->session, &recovery->stream, &old, how, e->time);
	else
		p->noticed.unknown_frees++;
}

static void move_block(struct recovery *recovery, struct process *p, const struct event *e,
		       struct entry *entry)
{
	struct entry *there = registry_find(&p->registry, e->old_address), old = { 0 };

	if (there && (there->flags & ENTRY_API) == SHINY_API_COLLECTED) { /* resized, or moved */
		struct entry object = *there;

		stats_resize(&p->stats, there, entry->size, e->time, e->time);
		registry_remove(&p->registry, object.address, &old);
		object.address = e->address;
		object.size = entry->size;
		registry_put(&p->registry, &object, &old);
		return;
	}
	if (e->old_address && registry_remove(&p->registry, e->old_address, &old)) {
		entry->vtable = old.vtable;
		entry->flags |= old.flags & (ENTRY_READING | ENTRY_SECOND_WORD);
		apply_block_ended(recovery->session, &recovery->stream, &old, END_FREED, e->time);
	}
	entry->flags |= ENTRY_REALLOC;
	apply_block_began(recovery->session, &recovery->stream, entry, e->time);
}

static void read_type(struct session *session, struct process *p, const struct event *e)
{
	struct entry *entry = registry_find(&p->registry, e->address);

	if (!entry || !e->vtable || e->vtable > session->ids.vtables.count)
		return;
	if ((entry->flags & ENTRY_API) == SHINY_API_COLLECTED)
		session->ids.vtables.at[e->vtable - 1].kind = true;
	entry->vtable = e->vtable;
	entry->flags = (entry->flags & ~(unsigned)(ENTRY_READING | ENTRY_SECOND_WORD)) |
		       (e->api & 3u) << ENTRY_READING_SHIFT |
		       (e->api & SHINY_VPTR_SECOND_WORD ? ENTRY_SECOND_WORD : 0);
}

static bool replay_event(void *context, const struct event *e)
{
	struct recovery *recovery = context;
	struct session *session = recovery->session;
	struct process *p = e->process && e->process <= session->processes.count
				    ? session->processes.at[e->process - 1]
				    : NULL;
	struct entry entry;

	if (!p || session->err)
		return !session->err;
	total_until(&session->total, e->time);
	if (p->stats.live.left)
		total_returns(&session->total, &p->stats.live);
	if (e->time > session->next_fork || p->pending)
		process_take_over(session, e->time > p->fork_at ? e->time : p->fork_at + 1);
	recovery->stream.process = p;
	recovery->stream.head.time = e->time;
	recovery->until = e->time > recovery->until ? e->time : recovery->until;
	if (session->event_count == EVENT_BATCH)
		session_flush_events(session);
	session->events[session->event_count++] = *e;
	session->total_events++;
	p->events++;
	p->last = e->time > p->last ? e->time : p->last;
	entry = (struct entry){
		.address = e->address,
		.birth = e->time,
		.size = e->size & EVENT_BLOCK_MOST,
		.flags = e->api & ENTRY_API,
		.site = stats_site(&p->stats, e->stack <= session->ids.stacks.count ? e->stack : 0)
	};
	if (e->tag && e->tag <= session->tags.count)
		entry.site = stats_tagged(&p->stats, entry.site, e->tag);
	switch (e->kind) {
	case EVENT_ALLOC:
		apply_block_began(session, &recovery->stream, &entry, e->time);
		break;
	case EVENT_FREE:
		end_block(recovery, p, e);
		break;
	case EVENT_REALLOC:
		move_block(recovery, p, e, &entry);
		break;
	case EVENT_VPTR:
		read_type(session, p, e);
		break;
	default:
		break;
	}
	return true;
}

/* ---- the whole ---- */

static struct shiny_err *recover(struct recovery *recovery, struct sidecar_summary *summary)
{
	struct session *session = recovery->session;
	struct shiny_err *err = take_tables(recovery);
	char text[256];

	if (!err)
		err = store_each_event(recovery->from, 0, 0, UINT64_MAX, replay_event, recovery);
	if (err)
		return err;
	process_take_over(session, UINT64_MAX);
	session_flush_events(session);
	session->applied_until = recovery->until;
	if (!session->rings.count)
		return shiny_err(SHINY_ERR_OTHER,
				 "nothing was committed before the recording ended");
	snprintf(text, sizeof(text),
		 "the recording did not finish: this is what it had committed, until %.3f s after "
		 "its start",
		 (double)recovery->until / 1e9);
	session_fail(session, store_put_note(session->store, 0, text));
	session->noticed.cut_short = 1;
	finish_session(session, summary);
	return NULL;
}

struct shiny_err *sidecar_recover(const struct sidecar_options *options, const char *file,
				  struct sidecar_summary *out)
{
	struct recovery recovery = { .session = session_create(options, 0) };
	struct session *session = recovery.session;
	struct sidecar_summary summary = { 0 };
	struct store_totals totals;
	size_t length = strlen(file),
	       stem = length > 6 && !strcmp(file + length - 6, ".shiny") ? length - 6 : length;
	struct shiny_err *err = store_open(file, &recovery.from);

	/* as if another boot's: there is no "now" */
	session->ticks = (struct ticks){ .kind = SHINY_CLOCK_MONOTONIC,
					 .foreign = true,
					 .settled = true,
					 .rate = UINT64_C(1) << 32 };
	session->ticks_known = true;
	session->path = options->out ? mem_text(options->out)
				     : mem_format("%.*s.recovered.shiny", (int)stem, file);
	if (!err && store_complete(recovery.from))
		err = shiny_err(SHINY_ERR_OTHER,
				"%s: its recording was finished, nothing is to be recovered", file);
	if (!err)
		err = store_create(session->path, options->force, options->with_events,
				   &session->store);
	if (!err)
		err = recover(&recovery, &summary);
	if (!err)
		err = session->err;
	else
		shiny_err_free(session->err);
	if (!err) {
		err = store_finish(session->store, &totals);
	} else if (session->store) {
		store_abandon(session->store);
		unlink(session->path);
	}
	if (!err) {
		summary.sites = totals.sites;
		summary.types = totals.types;
		snprintf(summary.path, sizeof(summary.path), "%s", session->path);
		*out = summary;
	}
	store_close(recovery.from);
	free(recovery.tails.at);
	session_destroy(session);
	return err;
}
