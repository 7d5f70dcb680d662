/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.c: who a process of a ring is, what it takes over from its parent, and when it has
 * ended.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Identity (identity.c). Only what /proc proves is believed: a process whose pid cannot be told is
 * not watched, and its chunks stay its own until nobody maps the ring any more, because taking a
 * chunk from a living writer would corrupt it. What /proc says of it may come late (errands.h): it
 * is taken in then, for its name even when it has ended.
 *
 * Fork. The child's blocks are its parent's as of `fork_at`. Its slot is found in a scan after T,
 * mostly before the merge has passed fork_at: the copy is made when the merge gets there, exactly.
 * A child that says so later (it slept, then allocated) finds its parent further on: births after
 * fork_at are left out, deaths after it are undone from the parent's ring of recent deaths (two
 * seconds, 256k blocks). What has fallen out of that ring is counted: the child's inherited set is
 * then too small. A child that is heard of when its parent was settled long ago inherits no blocks,
 * but where the modules lie.
 *
 * End. A pidfd tells; an exec that brought a new ring under the same pid tells; and the ring's lock
 * tells at the latest.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/text.h"
#include "identity.h"
#include "notices.h"
#include "../proc/proc.h"
#include "../state/session.h"

#define MS UINT64_C(1000000)

enum { GENERATIONS = 64 };

bool process_early(const struct process *p)
{
	return p->end && (p->replaced || p->stats.gone);
}

void process_put(struct session *session, const struct process *p)
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

	if (status >= 0 && !p->replaced)
		row.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
	session_fail(session, store_put_process(session->store, &row));
}

/* The arguments, separated by zeros in the header, as one line. */
static char *command_text(const char *command)
{
	size_t last = SHINY_COMMAND - 1;
	char *text = mem_alloc(SHINY_COMMAND);

	memcpy(text, command, SHINY_COMMAND);
	while (last && !text[last])
		last--;
	for (size_t i = 0; i < last; i++)
		if (!text[i])
			text[i] = ' ';
	text[SHINY_COMMAND - 1] = '\0';
	return text;
}

static void set_text(char **to, const char *text)
{
	if (*to && !strcmp(*to, text))
		return;
	free(*to);
	*to = mem_text(text);
}

/* ---- identity ---- */

/* Its last word was a call of exec: what runs under its pid now, if anything, is another
 * program. */
static bool called_exec(const struct process *p)
{
	const struct shiny_process *from = &p->ring->processes[p->slot];

	return !p->closed &&
	       __atomic_load_n(&from->generation, __ATOMIC_RELAXED) == p->generation &&
	       __atomic_load_n(&from->exec, __ATOMIC_RELAXED) == 1;
}

static void tell_end(struct session *session, struct process *p, uint64_t time)
{
	if (p->ends)
		return;
	p->ends = true;
	total_ends(&session->total, &p->stats, time, p->replaced);
}

/* `time`: of its end, where it did not say so itself; 0: nobody knows better than that it is over
 * now. */
static void end_process_at(struct session *session, struct process *p, uint64_t time)
{
	if (p->gone)
		return;
	p->gone = true;
	answers_remove(session->answers, &p->ring->processes[p->slot]);
	p->replaced = p->replaced || called_exec(p);
	process_read_counters(p);
	p->end = p->said_end || session->ticks.foreign ? p->said_end
		 : time				       ? time
						       : ticks_now(&session->ticks);
	if (p->end < p->last)
		p->end = p->last;
	drain_reap(p->ring, p);
	tell_end(session, p, p->end);
}

static void end_process(struct session *session, struct process *p)
{
	end_process_at(session, p, 0);
}

void process_look_for_ends(struct session *session)
{
	for (size_t i = 0; i < session->running.count; i++) {
		struct process *p = session->running.at[i];
		const struct shiny_process *from = &p->ring->processes[p->slot];
		uint64_t end;

		if (p->gone || p->ends ||
		    __atomic_load_n(&from->generation, __ATOMIC_RELAXED) != p->generation)
			continue;
		end = __atomic_load_n(&from->exit_at, __ATOMIC_ACQUIRE); /* [slot] */
		if (end)
			tell_end(session, p, end);
	}
}

/*
 * An image that exec made: it has replaced the one of its pid, or is a child's first. The number
 * that it told of its parent is right also when both have ended, but another one in another pid
 * namespace. `certain`: its pid is; nothing is believed to have ended for a likely one.
 */
static void come_from(struct session *session, struct process *p, bool certain)
{
	uint32_t parent_pid = 0;
	struct process *before =
		p->forked ? NULL : roster_before(&session->roster, p->pid, p->start, p);

	if (p->forked || !p->pid)
		return;
	if (before)
		process_read_counters(before);
	/* else it has ended, and its number was given away again */
	if (before && !before->said_end && before->status < 0) {
		if (certain) {
			before->replaced = true;
			end_process_at(session, before, p->start);
		}
	} else {
		parent_pid = p->pid == p->namespace_pid ? p->ring->parent_pid : proc_parent(p->pid);
		before = roster_before(&session->roster, parent_pid, p->start, p);
	}
	p->parent_id = before ? before->id : notices_parent(session, parent_pid, p->start);
}

/* Another process of its ring has it by now: two may have been looked for at one time. */
static bool is_another(const struct session *session, const struct process *p, uint32_t pid)
{
	for (size_t i = 0; i < session->running.count; i++) {
		const struct process *other = session->running.at[i];

		if (other != p && other->ring == p->ring && other->pid == pid && !other->gone)
			return true;
	}
	return false;
}

static void locate(struct session *session, struct process *p, struct identity *found, bool first)
{
	struct ring_file *ring = p->ring;
	struct process *parent = p->forked ? roster_find(&session->roster, ring, p->parent_slot,
							 p->parent_generation)
					   : NULL;
	enum proc_answer answer = found->answer == PROC_YES && is_another(session, p, found->pid)
					  ? PROC_UNKNOWN
					  : found->answer;

	if (answer == PROC_UNKNOWN) {
		if (!p->pid)
			roster_name(&session->roster, p,
				    found->answer == PROC_YES ? 0 : found->pid);
		p->wanderer = true;
		come_from(session, p, false);
		return;
	}
	p->wanderer = false;
	if (answer == PROC_NO) {
		if (first && p->namespace_pid > 1 &&
		    (!parent || parent->pid == parent->namespace_pid))
			roster_name(&session->roster, p,
				    p->namespace_pid); /* gone already; its number is all that is
							  left */
		come_from(session, p, true);
		if (p->forked || !ring_held(ring))
			end_process(session, p);
		return;
	}
	roster_name(&session->roster, p, found->pid);
	if (!p->namespace_pid)
		p->namespace_pid = found->innermost;
	come_from(session, p, true);
	if (!p->gone && !p->closed) {
		p->pidfd = found->pidfd;
		found->pidfd = -1;
	}
	if (found->ended)
		end_process(session, p);
}

/* What it calls itself now. A zygote's child takes a command line of its own some time after the
 * fork. */
static bool describe(struct process *p, const struct proc_about *about)
{
	bool changed = about->role[0] &&
		       (strcmp(p->role, about->role) || strcmp(p->purpose, about->purpose));

	if (changed) {
		set_text(&p->role, about->role);
		set_text(&p->purpose, about->purpose);
	}
	if (p->forked && about->command[0] && strcmp(p->command, about->command)) {
		set_text(&p->command, about->command);
		changed = true;
	}
	return changed;
}

/* ---- looks ---- */

/* What /proc is asked of a process. */
struct inquiry {
	struct errand errand;
	struct process *process; /* the loop's alone */
	bool first;
	bool lost;               /* its pid is asked for; */
	struct identity identity;
	uint32_t pid;            /* else, or where it has to be guessed, it is this one; 0
	                          * unknown */
	bool execed;             /* whether it maps the ring still is asked for */
	dev_t device;
	ino_t inode;
	char *path, *name;
	bool chromium;

	bool described;
	enum proc_answer maps;
	struct proc_about about;
};

static void inquire(struct errand *errand)
{
	struct inquiry *q = (struct inquiry *)errand;
	uint32_t pid = q->pid;

	if (q->lost) {
		identity_find(&q->identity);
		if (q->identity.answer == PROC_YES || !pid)
			pid = q->identity.pid;
	}
	if (!pid)
		return;
	if (q->execed)
		q->maps = proc_maps_file(pid, q->device, q->inode, q->path);
	proc_describe(pid, q->name, q->chromium, &q->about);
	q->described = true;
}

static void inquiry_free(struct inquiry *q)
{
	if (q->lost && q->identity.pidfd >= 0)
		close(q->identity.pidfd);
	if (q->lost)
		identity_deinit(&q->identity);
	free(q->path);
	free(q->name);
	free(q);
}

/* True: its row is to be written. */
static bool inquired(struct session *session, struct inquiry *q)
{
	struct process *p = q->process;
	uint32_t pid = p->pid;
	bool changed = false;

	p->inquired = false;
	if (q->lost)
		locate(session, p, &q->identity, q->first);
	if (p->pid && !p->wanderer && !p->gone)
		answers_put(session->answers, &p->ring->processes[p->slot], p->pid);
	if (q->described && q->maps == PROC_NO && p->pid)
		end_process(session, p);
	if (q->described && p->pid && !p->gone)
		changed = describe(p, &q->about);
	changed = changed || p->pid != pid;
	inquiry_free(q);
	return changed;
}

static void inquired_late(struct session *session, struct errand *errand)
{
	struct inquiry *q = (struct inquiry *)errand;
	const struct process *p = q->process;
	bool lost = q->lost;

	if (!session)
		inquiry_free(q);
	else if (inquired(session, q) || lost)
		process_put(session, p);
}

static struct inquiry *inquiry_of(struct session *session, struct process *p)
{
	struct inquiry *q = mem_zero(1, sizeof(*q));

	*q = (struct inquiry){ .errand = { .run = inquire, .end = inquired_late },
			       .process = p,
			       .first = !p->looks,
			       .lost = !p->pid || p->wanderer,
			       .pid = p->pid,
			       .maps = PROC_UNKNOWN,
			       .chromium =
				       p->ring->attach == SHINY_ATTACH_PARTITION && !p->forked };
	q->name = mem_text(p->name);
	if (q->lost)
		identity_begin(&q->identity, session, p,
			       p->forked ? roster_find(&session->roster, p->ring, p->parent_slot,
						       p->parent_generation)
					 : NULL);
	if (called_exec(p)) {
		q->execed = true;
		q->path = mem_text(p->ring->path);
		q->device = p->ring->device;
		q->inode = p->ring->inode;
	}
	return q;
}

static void look(struct session *session, struct process *p, uint64_t wall)
{
	struct inquiry *q;

	if (!session->ticks.foreign)
		session_beat(session); /* finding one in another pid namespace is a walk through all
					  of /proc, and there may be hundreds of them */
	p->looked_wall = wall;
	if (p->inquired || p->gone || session->ticks.foreign)
		return;
	/* first: to prove who it is its memory is read, which may take as long as its threads have
	 * not been answered */
	if (!p->pid && p->namespace_pid && session->pid_namespace &&
	    p->ring->pid_namespace == session->pid_namespace)
		answers_put(session->answers, &p->ring->processes[p->slot], p->namespace_pid);
	q = inquiry_of(session, p);
	p->looks++;
	p->inquired = true;
	if (errands_do(session->errands, &q->errand) && inquired(session, q) && p->looks > 1)
		process_put(session, p); /* should the sidecar be killed, it is in the file */
}

void process_enlist(struct session *session, struct process *p)
{
	*vec_push(&session->running) = p;
	roster_add(&session->roster, p);
}

static struct process *process_create(struct session *session, struct ring_file *ring,
				      uint32_t slot, uint32_t generation)
{
	struct shiny_process *from = &ring->processes[slot];
	struct process *p = mem_zero(1, sizeof(*p));
	int32_t parent_slot = __atomic_load_n(&from->parent_slot, __ATOMIC_RELAXED);

	p->ring = ring;
	p->slot = slot;
	p->generation = generation;
	p->namespace_pid = __atomic_load_n(&from->pid, __ATOMIC_RELAXED);
	p->start = __atomic_load_n(&from->start, __ATOMIC_RELAXED);
	p->pidfd = p->status = p->said = p->told = -1;
	p->name = mem_text(text_base(ring->executable));
	p->role = mem_text("");
	p->purpose = mem_text("");
	p->executable = mem_text(ring->executable);
	p->command = command_text(ring->command);
	registry_init(&p->registry);
	stats_init(&p->stats, &session->total);
	total_begins(&session->total, p->start);
	*vec_push(&session->processes) = p;
	p->id = (uint32_t)session->processes.count;
	process_enlist(session, p);
	p->memory = memory_create(session->memory, p->id);
	ring->slots[slot] = p;
	ring->newcomer = true;
	if (parent_slot >= 0) {
		p->forked = p->pending = true;
		p->parent_slot = (uint32_t)parent_slot;
		p->parent_generation = __atomic_load_n(&from->parent_generation, __ATOMIC_RELAXED);
		p->fork_at = __atomic_load_n(&from->fork_at, __ATOMIC_RELAXED);
		if (p->fork_at > p->start)
			p->fork_at = p->start;
		if (p->fork_at < session->next_fork)
			session->next_fork = p->fork_at;
	}
	look(session, p, ticks_wall_ns());
	process_put(session, p);
	return p;
}

struct process *process_of(struct session *session, struct ring_file *ring, uint32_t slot,
			   uint32_t generation)
{
	struct process *p = ring->slots[slot];
	/* [slot] */
	uint32_t state = __atomic_load_n(&ring->processes[slot].state, __ATOMIC_ACQUIRE);

	if (p && p->generation == generation)
		return p;
	if (p && !p->closed)
		return NULL;
	if ((state != SHINY_SLOT_LIVE && state != SHINY_SLOT_DONE) ||
	    __atomic_load_n(&ring->processes[slot].generation, __ATOMIC_RELAXED) != generation)
		return NULL;
	return process_create(session, ring, slot, generation);
}

void process_scan(struct session *session, struct ring_file *ring)
{
	uint32_t used = ring_processes_used(ring);

	for (uint32_t i = 0; i < used; i++) {
		/* [slot] */
		uint32_t state = __atomic_load_n(&ring->processes[i].state, __ATOMIC_ACQUIRE);

		if (state == SHINY_SLOT_LIVE || state == SHINY_SLOT_DONE)
			process_of(session, ring, i,
				   __atomic_load_n(&ring->processes[i].generation,
						   __ATOMIC_RELAXED));
	}
}

/* ---- fork ---- */

struct heir {
	struct session *session;
	struct process *child;
};

static void inherit(void *context, const struct entry *entry)
{
	struct heir *heir = context;
	struct process *child = heir->child;
	struct entry copy = *entry;

	if (entry->birth > child->fork_at || registry_find(&child->registry, entry->address))
		return;
	copy.flags |= ENTRY_INHERITED;
	if (!registry_add(&child->registry, &copy)) {
		child->noticed.refused++;
		return;
	}
	if ((copy.flags & ENTRY_API) == SHINY_API_COLLECTED)
		objects_add(&child->objects, copy.address, copy.size ? copy.size : 1);
}

/* Also one whose slot no scan has come to yet. */
static struct process *parent_of(struct session *session, const struct process *child)
{
	struct process *parent = roster_find(&session->roster, child->ring, child->parent_slot,
					     child->parent_generation);

	if (!parent && child->ring->header && child->parent_slot < child->ring->processes_ready)
		parent = process_of(session, child->ring, child->parent_slot,
				    child->parent_generation);
	return parent;
}

static void take_over(struct session *session, struct process *child)
{
	struct process *parent = parent_of(session, child);
	struct heir heir = { session, child };

	child->pending = false;
	if (!parent || parent == child) {
		child->noticed.fork_horizon++;
		return;
	}
	if (parent->settled) /* its blocks are not known any more; all that they are called by is */
		child->noticed.fork_horizon++;
	child->parent_id = parent->id;
	/* whose blocks it got is in the file, should the sidecar be killed (recover.c) */
	process_put(session, child);
	space_clone(&child->space, &parent->space, child->fork_at);
	memory_fork(session, child, parent);
	objects_clone_kinds(&child->objects, &parent->objects);
	indices_clone(&child->classes, &parent->classes);
	indices_clone(&child->tags, &parent->tags);
	stats_clone_sites(&child->stats, &parent->stats);
	registry_each(&parent->registry, inherit, &heir);
	/* the latest first: nothing before fork_at matters */
	for (size_t i = parent->deaths_count; i-- > 0;) {
		const struct death *d =
			&parent->deaths[(parent->deaths_at + i) % parent->deaths_room];

		if (d->time > child->fork_at)
			inherit(&heir, &d->entry);
	}
	if (parent->deaths_lost > child->fork_at)
		child->noticed.fork_horizon++;
	for (size_t i = 0; i < session->streams.count; i++)
		if (session->streams.at[i]->process == parent &&
		    session->streams.at[i]->realloc.address)
			inherit(&heir, &session->streams.at[i]->realloc);
}

/* Its parent, where that has not got its own yet: both may have been forked after the same
 * record. */
static struct process *first_in_line(struct session *session, struct process *child)
{
	for (unsigned n = 0; n < GENERATIONS; n++) {
		struct process *parent = parent_of(session, child);

		if (!parent || !parent->pending || parent->fork_at > child->fork_at)
			break;
		child = parent;
	}
	return child;
}

void process_take_over(struct session *session, uint64_t until)
{
	for (;;) {
		struct process *first = NULL;

		session->next_fork = UINT64_MAX;
		for (size_t i = 0; i < session->running.count; i++) {
			struct process *p = session->running.at[i];

			if (!p->pending)
				continue;
			if (p->fork_at < session->next_fork)
				session->next_fork = p->fork_at;
			if (!first || p->fork_at < first->fork_at)
				first = p;
		}
		if (!first || first->fork_at >= until)
			return;
		take_over(session, first_in_line(session, first));
	}
}

/* ---- watching ---- */

void process_read_counters(struct process *p)
{
	const struct shiny_process *from = &p->ring->processes[p->slot];

	if (p->closed || __atomic_load_n(&from->generation, __ATOMIC_RELAXED) != p->generation)
		return;
	for (unsigned i = 0; i < SHINY_COUNTERS; i++)
		p->counters[i] = __atomic_load_n(&from->counters[i], __ATOMIC_RELAXED);
	p->said_end = __atomic_load_n(&from->exit_at, __ATOMIC_ACQUIRE); /* [slot] */
	if (p->said_end)
		p->said = (int)(__atomic_load_n(&from->exit_status, __ATOMIC_RELAXED) & 0xff) << 8;
}

/* Between the moment that it ends and the moment that its parent asks, neither source may have an
 * answer: asked again later. */
void process_read_status(struct process *p)
{
	struct pollfd wait = { .fd = p->pidfd, .events = POLLIN };

	if (p->pidfd < 0 || p->status >= 0 || poll(&wait, 1, 0) != 1)
		return; /* an image that exec replaced has not exited */
	p->status = proc_exit_status(p->pid, p->pidfd);
	if (p->status < 0)
		return;
	close(p->pidfd);
	p->pidfd = -1;
}

/* How long until /proc is read again: soon at first (a zygote's child renames itself), then
 * seldom. */
static uint64_t patience(const struct process *p)
{
	static const uint64_t steps[] = { 20 * MS, 100 * MS, 300 * MS, 1000 * MS };

	if (p->ring->attach == SHINY_ATTACH_PARTITION &&
	    (!p->role[0] || !strcmp(p->role, "zygote")))
		return p->looks < 50 ? 50 * MS : 500 * MS;
	return p->looks <= 4 ? steps[p->looks ? p->looks - 1 : 0] : 5000 * MS;
}

void process_watch(struct session *session, uint64_t wall)
{
	for (size_t i = 0; i < session->running.count; i++) {
		struct process *p = session->running.at[i];
		struct pollfd wait = { .fd = p->pidfd, .events = POLLIN };

		if (p->gone)
			continue;
		if (p->pidfd >= 0 && poll(&wait, 1, 0) == 1) {
			end_process(session, p);
			continue;
		}
		if (wall - p->looked_wall > patience(p)) {
			look(session, p, wall);
			process_read_counters(p);
		}
	}
	for (size_t i = 0; i < session->streams.count; i++) {
		struct stream *s = session->streams.at[i];
		char name[24];

		if (s->done || s->process->gone || s->name_looks >= 3 ||
		    wall - s->process->looked_wall > 20 * MS)
			continue;
		s->name_looks++;
		if (!s->tid)
			s->tid = s->process->namespace_pid; /* only who was forked has no number of
							       its own: the first thread */
		process_thread_name(s->process, s->tid, name, sizeof(name));
		if (name[0] && strcmp(name, s->name)) {
			memcpy(s->name, name, sizeof(name));
			s->changed = true;
		}
	}
}

void process_thread_name(const struct process *p, uint32_t tid, char *out, size_t room)
{
	bool listed;
	uint32_t thread = p->pid && !p->gone
				  ? proc_thread(p->pid, tid, p->pid == p->namespace_pid, &listed)
				  : 0;

	out[0] = '\0';
	if (thread)
		proc_thread_name(p->pid, thread, out, room);
}

bool process_thread_alive(const struct process *p, uint32_t tid)
{
	bool listed = false;

	if (!p->pid || p->wanderer || proc_thread(p->pid, tid, p->pid == p->namespace_pid, &listed))
		return true;
	return !listed;
}

void process_close(struct session *session, struct process *p)
{
	struct shiny_process *slot = &p->ring->processes[p->slot];
	uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE); /* [slot] */

	if (p->closed)
		return;
	end_process(session, p);
	process_read_counters(p);
	process_read_status(p);
	if (p->end < p->last)
		p->end = p->last;
	/* should events have come behind its last word */
	total_ends(&session->total, &p->stats, p->end, p->replaced);
	/* thread slots that it claimed and never wrote with */
	for (uint32_t i = 0, used = ring_threads_used(p->ring); i < used; i++) {
		struct shiny_thread *t = &p->ring->threads[i];
		uint32_t thread_state = __atomic_load_n(&t->state, __ATOMIC_ACQUIRE); /* [slot] */

		if ((thread_state == SHINY_SLOT_LIVE || thread_state == SHINY_SLOT_DONE) &&
		    !p->ring->streams[i] &&
		    __atomic_load_n(&t->process_slot, __ATOMIC_RELAXED) == p->slot &&
		    __atomic_compare_exchange_n(&t->state, &thread_state, SHINY_SLOT_FREE, 0,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			shiny_given(p->ring->header, &p->ring->header->thread_hint, i); /* [slot] */
	}
	if (__atomic_load_n(&slot->generation, __ATOMIC_RELAXED) == p->generation &&
	    (state == SHINY_SLOT_LIVE || state == SHINY_SLOT_DONE) &&
	    __atomic_compare_exchange_n(&slot->state, &state, SHINY_SLOT_FREE, 0, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED)) /* [slot] */
		shiny_given(p->ring->header, &p->ring->header->process_hint, p->slot);
	p->closed = true;
	p->closed_wall = ticks_wall_ns();
	for (size_t i = 0; i < session->running.count; i++)
		if (session->running.at[i] == p)
			session->running.at[i] = session->running.at[--session->running.count];
	*vec_push(&session->ended) = p;
	memory_end(session, p);
	if (p->ring->slots[p->slot] == p)
		p->ring->slots[p->slot] = NULL;
	process_put(session, p);
}

/* ---- the end ---- */

struct page {
	uint64_t page;
	uint32_t bytes;
};
struct census {
	struct session *session;
	struct process *process;
	VEC(struct page) pages;
};
/* A few records can say that there are terabytes: a process has so many pages, and more only while
 * those of the session last. */
enum { PAGE_SHIFT = 12, PAGES_OF_A_PROCESS = 1 << 16, PAGES_OF_A_SESSION = 1 << 23 };

static bool has_pages_left(struct census *census)
{
	if (census->pages.count < PAGES_OF_A_PROCESS)
		return true;
	if (census->session->pages_beyond == PAGES_OF_A_SESSION)
		return false;
	census->session->pages_beyond++;
	return true;
}

static void count_live(void *context, const struct entry *entry)
{
	struct census *census = context;
	struct process *p = census->process;
	uint64_t end = p->end ? p->end : census->session->applied_until, at = entry->address,
		 left = entry->size;
	int64_t age = ticks_scale(&census->session->ticks, (int64_t)(end - entry->birth));

	if (end == UINT64_MAX)
		age = ticks_scale(&census->session->ticks, (int64_t)(p->last - entry->birth));
	stats_live(&p->stats, entry, age > 0 ? (uint64_t)age : 0);
	for (unsigned n = 0; n < STORE_BLOCK_PAGES && has_pages_left(census); n++) {
		uint64_t in_page =
			(UINT64_C(1) << PAGE_SHIFT) - (at & ((UINT64_C(1) << PAGE_SHIFT) - 1));
		uint64_t bytes = left < in_page ? left : in_page;

		*vec_push(&census->pages) = (struct page){ at >> PAGE_SHIFT, (uint32_t)bytes };
		left -= bytes;
		at += bytes;
		if (!left)
			break;
	}
}

static int compare_pages(const void *a, const void *b)
{
	const struct page *x = a, *y = b;

	return (x->page > y->page) - (x->page < y->page);
}

void process_settle(struct session *session, struct process *p)
{
	struct census census = { .session = session, .process = p };

	if (p->settled)
		return;
	registry_each(&p->registry, count_live, &census);
	if (census.pages.count)
		qsort(census.pages.at, census.pages.count, sizeof(*census.pages.at), compare_pages);
	for (size_t i = 0; i < census.pages.count;) {
		struct store_page row = { .process = p->id, .page = census.pages.at[i].page };

		for (; i < census.pages.count && census.pages.at[i].page == row.page; i++) {
			row.blocks++;
			row.live_bytes += census.pages.at[i].bytes;
		}
		/* finish.c drops them where they are not the session's */
		session_fail(session, store_put_page(session->store, &row));
	}
	free(census.pages.at);
	registry_deinit(&p->registry);
	objects_deinit(&p->objects);
	free(p->deaths);
	p->deaths = NULL;
	p->deaths_count = p->deaths_room = 0;
	p->settled = true;
}

void process_destroy(struct process *p)
{
	if (!p)
		return;
	if (p->pidfd >= 0)
		close(p->pidfd);
	registry_deinit(&p->registry);
	objects_deinit(&p->objects);
	free(p->classes.ids.at);
	free(p->tags.ids.at);
	space_deinit(&p->space);
	stats_deinit(&p->stats);
	memory_destroy(p->memory);
	free(p->deaths);
	free(p->name);
	free(p->role);
	free(p->purpose);
	free(p->executable);
	free(p->command);
	free(p);
}
