/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle.c: see lifecycle.h. */
#define _GNU_SOURCE
#include "lifecycle.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../state/session_stream.h"
#include "../vm/mappings_state.h"
#include "ending.h"
#include "inquiry.h"
#include "started_name.h"

#define MS UINT64_C(1000000)

/* Returns the arguments, separated by zeros in the header, as one line. */
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

void process_enlist(struct people *people, struct process *p)
{
	*vec_push(&people->running) = p;
	roster_add(&people->roster, p);
}

static struct process *process_create(struct session *session, struct ring_file *ring,
				      uint32_t slot, uint32_t generation)
{
	struct people *people = &session->people;
	struct shiny_process *from = &ring->processes[slot];
	struct process *p = mem_zero(1, sizeof(*p));
	int32_t parent_slot = __atomic_load_n(&from->parent_slot, __ATOMIC_RELAXED);

	p->ring = ring;
	p->slot = slot;
	p->generation = generation;
	p->namespace_pid = __atomic_load_n(&from->pid, __ATOMIC_RELAXED);
	p->start = __atomic_load_n(&from->start, __ATOMIC_RELAXED);
	if (p->start > ticks_latest(&session->output.ticks)) {
		ring->lies = true;
		p->start = ring->start_ticks;
	}
	p->pidfd = p->status = p->said = p->told = -1;
	p->role = mem_text("");
	p->purpose = mem_text("");
	p->executable = mem_text(ring->executable);
	p->command = command_text(ring->command);
	p->name = started_name(p->executable, p->command);
	registry_init(&p->registry);
	stats_init(&p->stats, &session->output.total, ring->sample);
	total_begins(&session->output.total, p->start);
	*vec_push(&people->all) = p;
	p->id = (uint32_t)people->all.count;
	process_enlist(people, p);
	p->memory = mappings_create(people->memory, p->id);
	ring->slots[slot] = p;
	ring->newcomer = true;
	ring->first_look = 0; /* as for a new ring: the next process needs a slot (priority.h) */
	if (parent_slot >= 0) {
		p->forked = p->pending = true;
		p->parent_slot = (uint32_t)parent_slot;
		p->parent_generation = __atomic_load_n(&from->parent_generation, __ATOMIC_RELAXED);
		p->fork_at = __atomic_load_n(&from->fork_at, __ATOMIC_RELAXED);
		if (p->fork_at > p->start)
			p->fork_at = p->start;
		if (p->fork_at < people->next_fork)
			people->next_fork = p->fork_at;
	}
	process_inquire(session, p, ticks_wall_ns());
	output_put_process(&session->output, p);
	return p;
}

struct process *process_heap(struct session *session, struct process *within, uint8_t heap)
{
	struct people *people = &session->people;
	struct process *p = within;

	while (p && (p == within || p->heap != heap))
		p = p->above;
	if (p)
		return p;
	p = mem_zero(1, sizeof(*p));
	p->within = within;
	p->above = within->above;
	within->above = p;
	p->heap = heap;
	p->ring = within->ring;
	p->start = within->start;
	p->pidfd = p->status = p->said = p->told = -1;
	p->gone = p->closed = true; /* for whoever would ask the system about it */
	registry_init(&p->registry);
	stats_init(&p->stats, &session->output.second, p->ring->sample);
	total_begins(p->stats.total, p->start);
	*vec_push(&people->all) = p;
	p->id = (uint32_t)people->all.count;
	roster_skip(&people->roster, p);
	p->memory = mappings_create(people->memory, p->id);
	output_put_process(&session->output, p);
	return p;
}

struct process *process_of(struct session *session, struct ring_file *ring, uint32_t slot,
			   uint32_t generation)
{
	struct process *p = ring->slots[slot];
	/* [slot] */
	uint32_t state = __atomic_load_n(&ring->processes[slot].state, __ATOMIC_ACQUIRE);

	if (p && p->generation == generation)
		return p->closed ? NULL : p;
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

/* Returns the ns until /proc is read again: few at first (a zygote's child renames itself), then
 * many. */
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
	for (size_t i = 0; i < session->people.running.count; i++) {
		struct process *p = session->people.running.at[i];
		struct pollfd wait = { .fd = p->pidfd, .events = POLLIN };

		if (p->gone)
			continue;
		if (p->pidfd >= 0 && poll(&wait, 1, 0) == 1) {
			process_end(&session->people, &session->output, p);
			continue;
		}
		if (wall - p->looked_wall > patience(p)) {
			process_inquire(session, p, wall);
			process_read_counters(p);
		}
	}
	for (size_t i = 0; i < session->rings.streams.count; i++) {
		struct stream *s = session->rings.streams.at[i];
		struct stream_thread *thread = &s->thread;
		char name[sizeof(thread->name)];

		if (s->chunks.done || s->process->gone || thread->name_looks >= 3 ||
		    wall - s->process->looked_wall > 20 * MS)
			continue;
		thread->name_looks++;
		if (!thread->tid)
			thread->tid = s->process->namespace_pid; /* only the first thread of a
								  * forked process has no tid */
		process_thread_name(s->process, thread->tid, name, sizeof(name));
		if (name[0] && strcmp(name, thread->name)) {
			memcpy(thread->name, name, sizeof(name));
			thread->changed = true;
		}
	}
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
	key_ids_deinit(&p->type_names);
	key_ids_deinit(&p->engine_memory);
	space_deinit(&p->space);
	stats_deinit(&p->stats);
	mappings_destroy(p->memory);
	deaths_deinit(&p->deaths);
	pools_deinit(&p->pools);
	free(p->name);
	free(p->role);
	free(p->purpose);
	free(p->executable);
	free(p->command);
	free(p);
}
