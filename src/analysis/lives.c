/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lives.c: see lives.h.
 *
 * Nearly all the time goes into finding blocks by their addresses, each of which is in no cache. So events wait in a short line, and the cell
 * of each is asked for when it enters it.
 */
#include "lives.h"

#include <stdlib.h>
#include <string.h>

#include <shiny/wire.h>

#include "../base/hash.h"
#include "../base/mem.h"
#include "../base/progress.h"

const char *const life_end_names[LIFE_ENDS] = {
	[LIFE_FREED] = "freed", [LIFE_REALLOCED] = "realloced", [LIFE_REUSED] = "reused", [LIFE_RELEASED] = "released", [LIFE_NEVER] = "never",
};

enum { AHEAD = 16, FIRST_ROOM = 64 };

/* The type of a row of table stat; stack 0 and vtable 0 are possible, process 0 marks an empty cell. */
struct type_cell {
	uint32_t process, stack, vtable, type;
};

struct run {
	struct lives lives; /* first: lives_type gets here from it */
	const struct scope *scope;
	struct type_cell *types;
	size_t type_room, type_count;
	struct lives_observer *observers;
	size_t observer_count;
	uint64_t *moments; /* each observer's next one; UINT64_MAX none */
	uint64_t next_moment, next_fork;
	struct event ahead[AHEAD];
	unsigned ahead_first, ahead_count;
	struct progress progress;
	uint64_t total;
};

/* ---- blocks ---- */

static size_t home_of(const struct life_map *map, uint64_t address)
{
	return hash_mix(address) & (map->room - 1);
}

/* The block's cell, or the empty one where it would be. The map is not full. */
static struct life *cell_of(const struct life_map *map, uint64_t address)
{
	size_t i = home_of(map, address);

	while (map->cells[i].address && map->cells[i].address != address)
		i = (i + 1) & (map->room - 1);
	return &map->cells[i];
}

static struct life *find(const struct life_map *map, uint64_t address)
{
	struct life *cell = map->count && address ? cell_of(map, address) : NULL;

	return cell && cell->address ? cell : NULL;
}

static void grow(struct life_map *map)
{
	struct life_map larger = { .room = map->room ? map->room * 2 : FIRST_ROOM, .count = map->count };

	larger.cells = mem_zero(larger.room, sizeof *larger.cells);
	for (size_t i = 0; i < map->room; i++)
		if (map->cells[i].address)
			*cell_of(&larger, map->cells[i].address) = map->cells[i];
	free(map->cells);
	*map = larger;
}

static void put(struct life_map *map, const struct life *life)
{
	if ((map->count + 1) * 4 > map->room * 3)
		grow(map);
	map->count++;
	*cell_of(map, life->address) = *life;
}

static void take_out(struct life_map *map, struct life *cell)
{
	size_t mask = map->room - 1, hole = (size_t)(cell - map->cells);

	for (size_t i = (hole + 1) & mask; map->cells[i].address; i = (i + 1) & mask) {
		size_t home = home_of(map, map->cells[i].address);

		/* it may move into the hole unless its home lies cyclically in (hole, i] */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->cells[hole] = map->cells[i];
			hole = i;
		}
	}
	map->cells[hole].address = 0;
	map->count--;
}

const struct life *lives_find(const struct lives_process *process, uint64_t address)
{
	return find(&process->blocks, address);
}

/* ---- telling ---- */

static void tell_birth(struct run *run, const struct lives_process *p, const struct life *life)
{
	for (size_t i = 0; p->wanted && !life->outside && i < run->observer_count; i++)
		if (run->observers[i].birth)
			run->observers[i].birth(run->observers[i].context, &run->lives, p, life);
}

static void tell_death(struct run *run, const struct lives_process *p, const struct life *life, const struct life_death *death)
{
	for (size_t i = 0; p->wanted && !life->outside && i < run->observer_count; i++)
		if (run->observers[i].death)
			run->observers[i].death(run->observers[i].context, &run->lives, p, life, death);
}

static void tell_resize(struct run *run, const struct lives_process *p, const struct life *life, uint64_t before)
{
	for (size_t i = 0; p->wanted && !life->outside && i < run->observer_count; i++)
		if (run->observers[i].resize)
			run->observers[i].resize(run->observers[i].context, &run->lives, p, life, before);
}

static void tell_move(struct run *run, const struct lives_process *p, const struct life *life, uint64_t before)
{
	for (size_t i = 0; p->wanted && !life->outside && i < run->observer_count; i++)
		if (run->observers[i].move)
			run->observers[i].move(run->observers[i].context, &run->lives, p, life, before);
}

static void tell_vtable(struct run *run, const struct lives_process *p, const struct life *life, uint32_t before)
{
	for (size_t i = 0; p->wanted && !life->outside && i < run->observer_count; i++)
		if (run->observers[i].vtable)
			run->observers[i].vtable(run->observers[i].context, &run->lives, p, life, before);
}

static void tell_stray(struct run *run, const struct lives_process *p, const struct event *event)
{
	for (size_t i = 0; p->wanted && !run->scope->tags && scope_time(run->scope, event->time) && i < run->observer_count; i++)
		if (run->observers[i].stray)
			run->observers[i].stray(run->observers[i].context, &run->lives, p, event);
}

static void tell_map(struct run *run, const struct lives_process *p, const struct event *event)
{
	for (size_t i = 0; p->wanted && scope_time(run->scope, event->time) && i < run->observer_count; i++)
		if (run->observers[i].map)
			run->observers[i].map(run->observers[i].context, &run->lives, p, event);
}

static void tell_constructor(struct run *run, const struct lives_process *p, const struct event *event)
{
	for (size_t i = 0; p->wanted && scope_time(run->scope, event->time) && i < run->observer_count; i++)
		if (run->observers[i].constructor)
			run->observers[i].constructor(run->observers[i].context, &run->lives, p, event);
}

static void tell_fork(struct run *run, const struct lives_process *parent, const struct lives_process *child)
{
	for (size_t i = 0; child->wanted && i < run->observer_count; i++)
		if (run->observers[i].fork)
			run->observers[i].fork(run->observers[i].context, &run->lives, parent, child);
}

/* ---- forks and moments ---- */

/* Forks before `time`, in their order: a child may be a parent already. */
static void fork_until(struct run *run, uint64_t time)
{
	while (run->next_fork < time) {
		uint64_t now = run->next_fork;

		run->next_fork = UINT64_MAX;
		for (size_t i = 0; i < run->lives.process_count; i++) {
			struct lives_process *child = &run->lives.processes[i];

			if (child->forked == now && child->parent && child->parent <= run->lives.process_count && child->parent != i + 1) {
				const struct lives_process *parent = &run->lives.processes[child->parent - 1];

				for (const struct life *life = parent->blocks.cells; life < parent->blocks.cells + parent->blocks.room; life++) {
					struct life copy = *life;

					if (!copy.address)
						continue;
					copy.inherited = true;
					if (find(&child->blocks, copy.address))
						continue;
					put(&child->blocks, &copy);
					child->bytes += copy.size;
				}
				tell_fork(run, parent, child);
			}
			if (child->forked == now)
				child->forked = 0;
			else if (child->forked && child->forked < run->next_fork)
				run->next_fork = child->forked;
		}
	}
}

/* Moments before `time`: everything in front of them has been told. */
static void moments_until(struct run *run, uint64_t time)
{
	while (run->next_moment < time) {
		uint64_t now = run->next_moment;

		fork_until(run, now + 1);
		run->next_moment = UINT64_MAX;
		for (size_t i = 0; i < run->observer_count; i++) {
			struct lives_observer *o = &run->observers[i];

			if (run->moments[i] == now) {
				run->moments[i] = o->moment(o->context, &run->lives, now);
				if (run->moments[i] <= now)
					run->moments[i] = UINT64_MAX;
			}
			if (run->moments[i] < run->next_moment)
				run->next_moment = run->moments[i];
		}
	}
}

/* ---- events ---- */

static void die(struct run *run, struct lives_process *p, struct life *cell, const struct life_death *death)
{
	struct life life = *cell;

	take_out(&p->blocks, cell);
	p->bytes -= life.size;
	tell_death(run, p, &life, death);
}

static void apply_end(struct run *run, struct lives_process *p, const struct event *e)
{
	struct life *cell = find(&p->blocks, e->address);
	struct life_death death = { .end = e->api == EVENT_END_REUSED ? LIFE_REUSED : e->api == EVENT_END_RELEASED ? LIFE_RELEASED : LIFE_FREED,
				    .time = e->time, .thread = e->thread, .stack = e->stack, .api = e->api, .claimed = e->size };

	if (death.end != LIFE_FREED)
		death.thread = 0;
	if (cell)
		die(run, p, cell, &death);
	else
		tell_stray(run, p, e);
}

/* A collected object of another size, or at another place: it is the one that it was. */
static void change_collected(struct run *run, struct lives_process *p, struct life *cell, const struct event *e)
{
	uint64_t size = e->size & ((UINT64_C(1) << 48) - 1), bytes = cell->size, place = cell->address;
	struct life life = *cell;
	struct life_death death = { .end = LIFE_REUSED, .time = e->time, .next = &life };

	if (e->address && e->address != place) {
		take_out(&p->blocks, cell);
		life.address = e->address;
		cell = find(&p->blocks, life.address);
		if (cell)
			die(run, p, cell, &death);
		put(&p->blocks, &life);
		cell = find(&p->blocks, life.address);
		tell_move(run, p, cell, place);
	}
	if (size != bytes) {
		p->bytes += size - bytes;
		cell->size = size;
		tell_resize(run, p, cell, bytes);
	}
}

static void apply_begin(struct run *run, struct lives_process *p, const struct event *e)
{
	struct life life = { .address = e->address, .birth = e->time, .size = e->size & ((UINT64_C(1) << 48) - 1), .api = e->api,
			     .realloced = e->kind == EVENT_REALLOC, .number = ++p->births, .stack = e->stack, .thread = e->thread,
			     .tag = e->tag, .outside = !scope_birth(run->scope, e->time, e->tag) };
	struct life_death death = { .time = e->time, .thread = e->thread, .stack = e->stack, .api = e->api, .next = &life };
	struct life *cell;

	cell = e->api == SHINY_API_COLLECTED && e->kind == EVENT_REALLOC ? find(&p->blocks, e->old_address) : NULL;
	if (cell) {
		p->births--;
		change_collected(run, p, cell, e);
		return;
	}
	if (e->kind == EVENT_REALLOC && e->old_address) {
		cell = find(&p->blocks, e->old_address);
		death.end = LIFE_REALLOCED;
		if (cell) {
			life.vtable = cell->vtable; /* resized or copied: the object that it was */
			die(run, p, cell, &death);
		} else {
			tell_stray(run, p, e);
		}
	}
	if (!life.address)
		return;
	cell = find(&p->blocks, life.address);
	if (cell) {
		death.end = LIFE_REUSED;
		death.thread = 0;
		die(run, p, cell, &death);
	}
	put(&p->blocks, &life);
	p->bytes += life.size;
	tell_birth(run, p, &life);
}

static void apply(struct run *run, const struct event *e)
{
	struct lives_process *p;
	struct life *cell;

	if (e->time > run->next_moment)
		moments_until(run, e->time);
	if (e->time > run->next_fork)
		fork_until(run, e->time);
	if ((++run->lives.events & 0xffff) == 0)
		progress_set(&run->progress, run->lives.events, run->total);
	if (!e->process || e->process > run->lives.process_count)
		return;
	p = &run->lives.processes[e->process - 1];
	switch (e->kind) {
	case EVENT_FREE:
		apply_end(run, p, e);
		break;
	case EVENT_ALLOC:
	case EVENT_REALLOC:
		apply_begin(run, p, e);
		break;
	case EVENT_VPTR:
		cell = find(&p->blocks, e->address);
		if (cell && cell->vtable != e->vtable) {
			uint32_t before = cell->vtable;

			cell->vtable = e->vtable;
			tell_vtable(run, p, cell, before);
		}
		break;
	case EVENT_MAP:
		tell_map(run, p, e);
		break;
	case EVENT_CONSTRUCT:
	case EVENT_DESTROY:
		tell_constructor(run, p, e);
		break;
	default:
		break;
	}
}

static bool see(void *context, const struct event *e)
{
	struct run *run = context;
	struct event *place;

	if (run->ahead_count == AHEAD) {
		apply(run, &run->ahead[run->ahead_first]);
		place = &run->ahead[run->ahead_first];
		run->ahead_first = (run->ahead_first + 1) % AHEAD;
	} else {
		place = &run->ahead[run->ahead_count++];
	}
	*place = *e;
	if (e->process && e->process <= run->lives.process_count) {
		const struct life_map *map = &run->lives.processes[e->process - 1].blocks;

		if (map->room)
			__builtin_prefetch(&map->cells[home_of(map, e->address)], 1);
	}
	return true;
}

/* Who is left at the end has not ended. */
static void end_all(struct run *run)
{
	for (size_t i = 0; i < run->lives.process_count; i++) {
		struct lives_process *p = &run->lives.processes[i];
		struct life_death death = { .end = LIFE_NEVER, .time = p->end };

		lives_each(p, life)
			tell_death(run, p, life, &death);
	}
}

/* ---- loading ---- */

static size_t type_home(const struct run *run, uint32_t process, uint32_t stack, uint32_t vtable)
{
	return hash_pair((uint64_t)process << 32 | stack, vtable) & (run->type_room - 1);
}

static struct type_cell *type_cell(const struct run *run, uint32_t process, uint32_t stack, uint32_t vtable)
{
	size_t i = type_home(run, process, stack, vtable);

	for (; run->types[i].process; i = (i + 1) & (run->type_room - 1))
		if (run->types[i].process == process && run->types[i].stack == stack && run->types[i].vtable == vtable)
			break;
	return &run->types[i];
}

uint32_t lives_type(const struct lives *lives, const struct lives_process *process, const struct life *life)
{
	const struct run *run = (const struct run *)lives;
	const struct type_cell *cell = type_cell(run, process->id, life->stack, life->vtable);

	/* a word that turned out to be no vptr is counted with those that had none */
	if (!cell->process && life->vtable)
		cell = type_cell(run, process->id, life->stack, 0);
	return cell->type;
}

static struct shiny_err *load_types(struct store *store, struct run *run)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = store_query(store, "SELECT COUNT(*) FROM stat", &q);

	if (!err)
		err = query_step(q, &row);
	for (run->type_room = FIRST_ROOM; !err && row && run->type_room < 2 * (size_t)query_number(q, 0);)
		run->type_room *= 2;
	query_end(q);
	q = NULL;
	run->types = mem_zero(run->type_room, sizeof *run->types);
	if (!err)
		err = store_query(store, "SELECT process, stack, vtable, type FROM stat WHERE process > 0", &q);
	while (!err && !(err = query_step(q, &row)) && row) {
		struct type_cell cell = { (uint32_t)query_number(q, 0), (uint32_t)query_number(q, 1), (uint32_t)query_number(q, 2),
					  (uint32_t)query_number(q, 3) };

		*type_cell(run, cell.process, cell.stack, cell.vtable) = cell;
	}
	query_end(q);
	return err;
}

static struct shiny_err *load_processes(struct store *store, const struct scope *scope, struct run *run)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = store_query(store, "SELECT COALESCE(MAX(id), 0), COALESCE((SELECT value FROM session WHERE key = 'duration_ns'), 0), "
						   "(SELECT COALESCE(SUM(count), 0) FROM events) FROM process", &q);

	if (!err)
		err = query_step(q, &row);
	if (!err && row) {
		run->lives.process_count = (size_t)query_number(q, 0);
		run->lives.duration = (uint64_t)query_number(q, 1);
		run->total = (uint64_t)query_number(q, 2);
	}
	query_end(q);
	q = NULL;
	run->lives.processes = mem_zero(run->lives.process_count + 1, sizeof *run->lives.processes);
	if (!err)
		err = query_format(store, &q, "SELECT s.process, s.parent, s.start_ns, s.end_ns, s.forked_ns, %s, s.ending = 'replaced' FROM v_processes s "
					      "WHERE s.process > 0", scope->where);
	while (!err && !(err = query_step(q, &row)) && row) {
		struct lives_process *p = &run->lives.processes[query_number(q, 0) - 1];

		p->id = (uint32_t)query_number(q, 0);
		p->parent = (uint32_t)query_number(q, 1);
		p->start = (uint64_t)query_number(q, 2);
		p->end = query_number(q, 3) ? (uint64_t)query_number(q, 3) : run->lives.duration;
		p->forked = (uint64_t)query_number(q, 4);
		p->wanted = query_number(q, 5) != 0;
		p->replaced = query_number(q, 6) != 0;
		if (p->forked && p->forked < run->next_fork)
			run->next_fork = p->forked;
	}
	query_end(q);
	return err;
}

struct shiny_err *lives_run(struct store *store, const struct scope *scope, struct lives_observer *observers, size_t count, const char *title)
{
	struct run run = { .scope = scope, .observers = observers, .observer_count = count, .next_moment = UINT64_MAX, .next_fork = UINT64_MAX };
	struct shiny_err *err = load_processes(store, scope, &run);

	if (!err)
		err = load_types(store, &run);
	run.moments = mem_zero(count + 1, sizeof *run.moments);
	for (size_t i = 0; i < count; i++) {
		run.moments[i] = observers[i].moment ? observers[i].first_moment : UINT64_MAX;
		if (run.moments[i] < run.next_moment)
			run.next_moment = run.moments[i];
	}
	progress_begin(&run.progress, title ? title : "", title != NULL);
	if (!err)
		err = store_each_event(store, 0, 0, UINT64_MAX, see, &run);
	for (; !err && run.ahead_count; run.ahead_count--) {
		apply(&run, &run.ahead[run.ahead_first]);
		run.ahead_first = (run.ahead_first + 1) % AHEAD;
	}
	if (!err) {
		fork_until(&run, UINT64_MAX);
		moments_until(&run, run.lives.duration + 1);
		end_all(&run);
	}
	progress_end(&run.progress);
	for (size_t i = 0; i < run.lives.process_count; i++)
		free(run.lives.processes[i].blocks.cells);
	free(run.lives.processes);
	free(run.types);
	free(run.moments);
	return err;
}
