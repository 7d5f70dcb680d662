/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c: see replay.h. */
#include "replay.h"

#include <stdlib.h>

#include <shiny/wire.h>

#include "../base/mem.h"

struct life { /* what replay_process does not tell */
	uint32_t parent;
	uint64_t start, end; /* end 0: ran until the recording ended */
	uint64_t forked;     /* 0: not, or taken over already */
};

struct run {
	struct replay_process *processes; /* process id n is n - 1 */
	struct life *lives;
	size_t count;
	uint64_t next_fork;
	const uint64_t *moments;
	size_t moment, moment_count;
	replay_at_fn *at;
	void *context;
	bool stopped;
};

static void put(struct replay_process *p, const struct entry *entry)
{
	struct entry old = { 0 };

	if (!entry->address || !registry_put(&p->blocks, entry, &old))
		return;
	p->bytes += entry->size - (old.address ? old.size : 0);
}

static void end_block(struct replay_process *p, uint64_t address)
{
	struct entry old;

	if (registry_remove(&p->blocks, address, &old))
		p->bytes -= old.size;
}

static void inherit(void *context, const struct entry *entry)
{
	struct entry copy = *entry;

	copy.flags |= ENTRY_INHERITED;
	put(context, &copy);
}

/* Forks up to `time`, in their order: a child may be a parent already. */
static void fork_until(struct run *run, uint64_t time)
{
	while (run->next_fork < time) {
		uint64_t now = run->next_fork;

		run->next_fork = UINT64_MAX;
		for (size_t i = 0; i < run->count; i++) {
			struct life *life = &run->lives[i];

			if (life->forked == now) {
				if (life->parent && life->parent <= run->count && life->parent != i + 1)
					registry_each(&run->processes[life->parent - 1].blocks, inherit, &run->processes[i]);
				life->forked = 0;
			} else if (life->forked && life->forked < run->next_fork) {
				run->next_fork = life->forked;
			}
		}
	}
}

/* Everything up to `time`, not included, has been seen. */
static bool tell_until(struct run *run, uint64_t time)
{
	for (; !run->stopped && run->moment < run->moment_count && run->moments[run->moment] < time; run->moment++) {
		uint64_t moment = run->moments[run->moment];

		fork_until(run, moment + 1);
		for (size_t i = 0; i < run->count; i++) {
			const struct life *life = &run->lives[i];

			run->processes[i].running = life->start <= moment && (!life->end || moment < life->end);
		}
		run->stopped = !run->at(run->context, moment, run->processes, run->count);
	}
	return !run->stopped && run->moment < run->moment_count;
}

/* Of another size, or at another place: it is the object that it was. */
static void change_collected(struct replay_process *p, const struct event *event)
{
	struct entry entry;

	if (!registry_remove(&p->blocks, event->old_address, &entry))
		return;
	p->bytes -= entry.size;
	entry.address = event->address;
	entry.size = event->size & ((UINT64_C(1) << 48) - 1);
	put(p, &entry);
}

static bool see(void *context, const struct event *event)
{
	struct run *run = context;
	struct replay_process *p;

	if (!tell_until(run, event->time))
		return false;
	fork_until(run, event->time);
	if (!event->process || event->process > run->count)
		return true;
	p = &run->processes[event->process - 1];
	if (event->kind == EVENT_REALLOC && event->api == SHINY_API_COLLECTED) {
		change_collected(p, event);
		return true;
	}
	if (event->kind == EVENT_FREE || event->kind == EVENT_REALLOC)
		end_block(p, event->kind == EVENT_FREE ? event->address : event->old_address);
	if (event->kind == EVENT_ALLOC || event->kind == EVENT_REALLOC) {
		struct entry entry = { .address = event->address, .birth = event->time, .size = event->size & ((UINT64_C(1) << 48) - 1),
				       .flags = event->api | (event->kind == EVENT_REALLOC ? ENTRY_REALLOC : 0u), .site = event->stack };

		put(p, &entry);
	} else if (event->kind == EVENT_VPTR) {
		struct entry *entry = registry_find(&p->blocks, event->address);

		if (entry)
			entry->vtable = event->vtable;
	}
	return true;
}

static struct shiny_err *load(struct store *store, struct run *run)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = store_query(store, "SELECT COALESCE(MAX(id), 0) FROM process", &q);

	if (!err)
		err = query_step(q, &row);
	run->count = !err && row ? (size_t)query_number(q, 0) : 0;
	query_end(q);
	q = NULL;
	run->processes = mem_zero(run->count + 1, sizeof *run->processes);
	run->lives = mem_zero(run->count + 1, sizeof *run->lives);
	for (size_t i = 0; i < run->count; i++)
		registry_init(&run->processes[i].blocks);
	if (!err)
		err = store_query(store, "SELECT process, parent, start_ns, end_ns, forked_ns FROM v_processes WHERE process > 0", &q);
	while (!err && !(err = query_step(q, &row)) && row) {
		size_t i = (size_t)query_number(q, 0) - 1;

		run->processes[i].id = (uint32_t)(i + 1);
		run->lives[i] = (struct life){ (uint32_t)query_number(q, 1), (uint64_t)query_number(q, 2), (uint64_t)query_number(q, 3),
					       (uint64_t)query_number(q, 4) };
		if (run->lives[i].forked && run->lives[i].forked < run->next_fork)
			run->next_fork = run->lives[i].forked;
	}
	query_end(q);
	return err;
}

struct shiny_err *replay(struct store *store, const uint64_t *moments, size_t count, replay_at_fn *at, void *context)
{
	struct run run = { .next_fork = UINT64_MAX, .moments = moments, .moment_count = count, .at = at, .context = context };
	struct shiny_err *err = load(store, &run);

	if (!err)
		err = store_each_event(store, 0, 0, count ? moments[count - 1] : 0, see, &run);
	if (!err)
		tell_until(&run, UINT64_MAX);
	for (size_t i = 0; i < run.count; i++)
		registry_deinit(&run.processes[i].blocks);
	free(run.processes);
	free(run.lives);
	return err;
}
