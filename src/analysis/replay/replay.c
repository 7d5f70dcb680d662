/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c: see replay.h.
 *
 * Nearly all the time goes into waiting for memory: the block's bucket in the index, the block
 * itself, the type of its stack, each mostly in no cache. So events are taken in batches, and while
 * one is applied, memory of later ones is prefetched: the bucket and the type, then the block, then
 * the type of its vtable. The functions that prefetch are always_inline: gcc 12 removes calls whose
 * only effect is a prefetch.
 */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../base/mem.h"
#include "../../base/progress.h"
#include "../../base/row_order.h"
#include "../../store/block.h"
#include "listeners.h"
#include "type_table.h"

/*
 * Distance, in events, of the prefetch of a block, its new type and observers' rows; its bucket
 * twice as far. 20 events take several memory accesses; with 32 (measured: bench_replay of ten
 * million events) the beginning of each batch, where nothing is applied yet, costs more.
 */
enum { AHEAD = 20, AHEAD_TYPE = AHEAD / 2 };

/* Bounds the blocks at one time, with copies by forks. The densest recordings have six events a
 * byte, and a fork's row and pages take more bytes of file than it makes copies of these. */
enum { REPLAY_AT_LEAST = 1 << 20, REPLAY_A_BYTE = 8 };

struct fork_time {
	uint64_t at;
	uint32_t child; /* index of replay.processes */
};

struct replay_pass {
	struct replay replay; /* must be first: replay_find_type casts it back */
	struct life_pool pool;
	uint64_t most; /* most places of the pool */
	bool too_much; /* the file has more than its size allows: the pass ends */
	const struct filter *filter;
	struct type_table types;
	struct listeners to;
	uint64_t *moments; /* next moment of each observer; UINT64_MAX: none */
	uint64_t next_moment, next_fork;
	struct fork_time *forks; /* sorted by time; those before fork_next were tried, but some may
				  * wait (begin_telling) */
	size_t fork_count, fork_next;
	uint32_t *fork_place;    /* process id - 1 → index of `forks` */
	uint32_t *first_child, *next_child; /* process id - 1 → id of its first forked child, of its
					     * next sibling; 0: none */
	struct progress progress;
	uint64_t total;
};

/* ---- types ---- */

uint32_t replay_find_type(const struct replay_process *process, uint32_t stack, uint32_t vtable)
{
	return type_table_find(&((const struct replay_pass *)process->replay)->types, process->id,
			       stack, vtable);
}

static void set_type(const struct replay_pass *run, const struct replay_process *p,
		     struct life *life)
{
	if (run->to.untyped) {
		life->type_vtable = ~life->vtable;
		return;
	}
	life->type = replay_find_type(p, life->stack, life->vtable);
	life->type_vtable = life->vtable;
}

/* ---- telling ---- */

static void notify_resize(struct replay_pass *run, const struct replay_process *p,
			  const struct life *life, uint64_t before)
{
	if (p->wanted && !life->outside)
		listeners_each(&run->to, resize, p, life, before);
}

static void notify_move(struct replay_pass *run, const struct replay_process *p,
			const struct life *life, uint64_t before)
{
	if (p->wanted && !life->outside)
		listeners_each(&run->to, move, p, life, before);
}

static void notify_vtable(struct replay_pass *run, const struct replay_process *p,
			  const struct life *life, uint32_t before)
{
	if (p->wanted && !life->outside)
		listeners_each(&run->to, vtable, p, life, before);
}

static void notify_stray(struct replay_pass *run, const struct replay_process *p,
			 const struct event *event)
{
	if (p->wanted && !run->filter->tags && filter_time(run->filter, event->time))
		listeners_each(&run->to, stray, p, event);
}

static void notify_map(struct replay_pass *run, const struct replay_process *p,
		       const struct event *event)
{
	if (p->wanted && filter_time(run->filter, event->time))
		listeners_each(&run->to, map, p, event);
}

static void notify_constructor(struct replay_pass *run, const struct replay_process *p,
			       const struct event *event)
{
	if (p->wanted && filter_time(run->filter, event->time))
		listeners_each(&run->to, constructor, p, event);
}

/* ---- forks and moments ---- */

static bool has_room(struct replay_pass *run, size_t more)
{
	run->too_much |= run->pool.used + more > run->most;
	return !run->too_much;
}

/* Copies the parent's blocks to the child. */
static void inherit(struct replay_pass *run, const struct replay_process *parent,
		    struct replay_process *child)
{
	if (!has_room(run, parent->blocks.count))
		return;
	life_map_reserve(&child->blocks, parent->blocks.count);
	for (const struct life *life = life_map_next(&parent->blocks, NULL); life;
	     life = life_map_next(&parent->blocks, life)) {
		uint32_t hash = life_hash(life->address), place;
		struct life *copy;

		if (life_map_find(&child->blocks, life->address, hash))
			continue;
		place = life_pool_take(&run->pool);
		copy = life_at(&run->pool, place);
		*copy = *life;
		copy->place = place;
		copy->inherited = true;
		set_type(run, child, copy);
		life_map_put(&child->blocks, hash, place);
		child->bytes += copy->size;
	}
}

static struct replay_process *parent_of(const struct replay_pass *run,
					const struct replay_process *child)
{
	bool known = child->parent && child->parent <= run->replay.process_count &&
		     child->parent != child->id;

	return known ? &run->replay.processes[child->parent - 1] : NULL;
}

static void take_over(struct replay_pass *run, struct replay_process *child)
{
	struct replay_process *parent = parent_of(run, child);

	if (parent) {
		inherit(run, parent, child);
		if (child->wanted)
			listeners_each(&run->to, fork, parent, child);
	}
	child->forked = 0;
}

static void go_to_fork(struct replay_pass *run, size_t place)
{
	run->fork_next = place;
	run->next_fork = place < run->fork_count ? run->forks[place].at : UINT64_MAX;
}

/* Does the forks before `time`, in order: a child may be a parent already. If the parent has no
 * event yet, the fork waits (begin_telling). */
static void fork_until(struct replay_pass *run, uint64_t time)
{
	while (run->next_fork < time) {
		struct replay_process *child =
			&run->replay.processes[run->forks[run->fork_next].child];
		const struct replay_process *parent = parent_of(run, child);

		if (child->forked && (!parent || parent->told || parent->blocks.count))
			take_over(run, child);
		go_to_fork(run, run->fork_next + 1);
	}
}

/* Calls observers for moments before `time`, after all events before those. */
static void moments_until(struct replay_pass *run, uint64_t time)
{
	while (run->next_moment < time) {
		uint64_t now = run->next_moment;

		fork_until(run, now + 1);
		run->next_moment = UINT64_MAX;
		for (size_t i = 0; i < run->to.observer_count; i++) {
			struct replay_observer *o = &run->to.observers[i];

			if (run->moments[i] == now) {
				run->moments[i] = o->moment(o->context, &run->replay, now);
				if (run->moments[i] <= now)
					run->moments[i] = UINT64_MAX;
			}
			if (run->moments[i] < run->next_moment)
				run->next_moment = run->moments[i];
		}
	}
}

/*
 * Begins a process at its first event. If its ring was seen late, blocks that it held at a fork
 * come only now, after others' events later than the fork: so its children's forks have waited, as
 * the sidecar also knows nothing of such children before it sees the ring
 * (src/sidecar/process/lifecycle.c).
 */
static __attribute__((noinline, cold)) void begin_telling(struct replay_pass *run,
							  struct replay_process *p, uint64_t time)
{
	p->told = true;
	for (uint32_t child = run->first_child[p->id - 1]; child;
	     child = run->next_child[child - 1])
		if (run->replay.processes[child - 1].forked &&
		    run->fork_place[child - 1] < run->fork_next)
			go_to_fork(run, run->fork_place[child - 1]);
	if (!p->forked || p->forked >= time)
		return;
	moments_until(run, p->forked);
	fork_until(run, p->forked + 1);
	if (p->forked) /* no longer wait */
		take_over(run, p);
}

/* ---- events ---- */

/* Ends the life at `place`, which is no longer in the map. */
static void die(struct replay_pass *run, struct replay_process *p, uint32_t place,
		const struct life_death *death)
{
	const struct life *life = life_at(&run->pool, place);

	p->bytes -= life->size;
	listeners_death(&run->to, p, life, death);
	life_pool_give(&run->pool, place);
}

static void apply_end(struct replay_pass *run, struct replay_process *p, const struct event *e,
		      uint32_t hash)
{
	struct life_death death = { .end = e->api == EVENT_END_REUSED	  ? LIFE_REUSED
					   : e->api == EVENT_END_RELEASED ? LIFE_RELEASED
									  : LIFE_FREED,
				    .time = e->time,
				    .thread = e->thread,
				    .stack = e->stack,
				    .api = e->api,
				    .claimed = e->size };
	uint32_t place = life_map_take(&p->blocks, e->address, hash);

	if (death.end != LIFE_FREED)
		death.thread = 0;
	if (place)
		die(run, p, place, &death);
	else
		notify_stray(run, p, e);
}

/* Puts the life at `place` into the map; a block still at its address has ended without a free. */
static void settle(struct replay_pass *run, struct replay_process *p, const struct event *e,
		   uint32_t hash, uint32_t place)
{
	uint32_t before = life_map_take(&p->blocks, e->address, hash);

	if (before) {
		struct life_death death = { .end = LIFE_REUSED,
					    .time = e->time,
					    .stack = e->stack,
					    .api = e->api,
					    .next = life_at(&run->pool, place) };

		die(run, p, before, &death);
	}
	life_map_put(&p->blocks, hash, place);
}

/* Resizes or moves a collected object, which keeps its life. */
static void change_collected(struct replay_pass *run, struct replay_process *p, uint32_t place,
			     const struct event *e, uint32_t hash)
{
	struct life *life = life_at(&run->pool, place);
	uint64_t before = life->address;

	if (e->address && e->address != before) {
		life_map_take(&p->blocks, before, life_hash(before));
		life->address = e->address;
		settle(run, p, e, hash, place);
		notify_move(run, p, life, before);
	}
	before = life->size;
	if (e->size != before) {
		p->bytes += e->size - before;
		life->size = e->size;
		notify_resize(run, p, life, before);
	}
}

static void apply_begin(struct replay_pass *run, struct replay_process *p, const struct event *e,
			uint32_t hash)
{
	uint32_t old_hash = life_hash(e->old_address), old = 0, vtable = e->vtable, place;
	struct life *life;

	if (e->kind == EVENT_REALLOC && e->old_address)
		old = life_map_find(&p->blocks, e->old_address, old_hash);
	if (old && e->api == SHINY_API_COLLECTED) {
		change_collected(run, p, old, e, hash);
		return;
	}
	if (old)
		vtable = life_at(&run->pool, old)
				 ->vtable; /* resized or copied: the same object */
	place = life_pool_take(&run->pool);
	life = life_at(&run->pool, place);
	*life = (struct life){ .address = e->address,
			       .birth = e->time,
			       .size = e->size,
			       .number = ++p->births,
			       .stack = e->stack,
			       .vtable = vtable,
			       .thread = e->thread,
			       .tag = e->tag,
			       .api = e->api & EVENT_API,
			       .inherited = e->api & EVENT_INHERITED,
			       .level = e->level,
			       .realloced = e->kind == EVENT_REALLOC,
			       .outside = !filter_birth(run->filter, e->time, e->tag),
			       .place = place };
	set_type(run, p, life);
	if (old) {
		struct life_death death = { .end = LIFE_REALLOCED,
					    .time = e->time,
					    .thread = e->thread,
					    .stack = e->stack,
					    .api = e->api,
					    .next = life };

		life_map_take(&p->blocks, e->old_address, old_hash);
		die(run, p, old, &death);
	} else if (e->kind == EVENT_REALLOC && e->old_address) {
		notify_stray(run, p, e);
	}
	if (!life->address) {
		life_pool_give(&run->pool, place);
		return;
	}
	settle(run, p, e, hash, place);
	p->bytes += life->size;
	if (!life->inherited)
		listeners_birth(&run->to, p, life);
}

static void apply_vtable(struct replay_pass *run, struct replay_process *p, const struct event *e,
			 uint32_t hash)
{
	uint32_t place = life_map_find(&p->blocks, e->address, hash), before;
	struct life *life = place ? life_at(&run->pool, place) : NULL;

	if (!life || life->vtable == e->vtable)
		return;
	before = life->vtable;
	life->vtable = e->vtable;
	set_type(run, p, life);
	notify_vtable(run, p, life, before);
}

static void apply(struct replay_pass *run, const struct event *e, struct replay_process *p,
		  uint32_t hash)
{
	uint64_t time = event_is_carried(e) ? run->replay.kept : e->time;

	if (p && !p->told)
		begin_telling(run, p, e->time);
	if (time > run->next_moment)
		moments_until(run, time);
	if (e->time > run->next_fork)
		fork_until(run, e->time);
	run->replay.events++;
	if (time > run->replay.now)
		run->replay.now = time;
	if (!p)
		return;
	switch (e->kind) {
	case EVENT_FREE:
		apply_end(run, p, e, hash);
		break;
	case EVENT_ALLOC:
	case EVENT_REALLOC:
		apply_begin(run, p, e, hash);
		break;
	case EVENT_VPTR:
		apply_vtable(run, p, e, hash);
		break;
	case EVENT_MAP:
		notify_map(run, p, e);
		break;
	case EVENT_CONSTRUCT:
	case EVENT_DESTROY:
		notify_constructor(run, p, e);
		break;
	default:
		break;
	}
}

/* Prefetches what the event needs first; prepare() then prefetches the block. Apart from reallocs
 * no branch depends on the kind of event, which cannot be predicted: only apply() does. */
static inline __attribute__((always_inline)) void expect(const struct replay_pass *run,
							 const struct event *e,
							 const struct replay_process *p,
							 uint32_t hash)
{
	life_map_expect(&p->blocks, hash);
	if (!run->to.untyped)
		type_table_expect(&run->types, p->id, e->stack);
	if (e->kind == EVENT_REALLOC && e->old_address != e->address)
		life_map_expect(&p->blocks, life_hash(e->old_address));
}

static inline __attribute__((always_inline)) void prepare(const struct event *e,
							  const struct replay_process *p,
							  uint32_t hash)
{
	life_map_prepare(&p->blocks, e->kind == EVENT_REALLOC ? life_hash(e->old_address) : hash);
}

/* Prefetches the type of a vtable: for a block whose vtable becomes known, or a garbage-collected
 * object, which has one from the start. */
static inline __attribute__((always_inline)) void expect_vtable(const struct replay_pass *run,
								const struct event *e,
								const struct replay_process *p,
								uint32_t hash)
{
	uint32_t place, stack = e->stack;

	if (e->kind == EVENT_VPTR) {
		place = life_map_find(&p->blocks, e->address, hash);
		stack = place ? life_at(&run->pool, place)->stack : 0;
	}
	type_table_expect_vtable(&run->types, p->id, stack, e->vtable);
}

/* Prefetches the observers' rows of the block that the event ends, or begins. */
static inline __attribute__((always_inline)) void expect_rows(const struct replay_pass *run,
							      const struct event *e,
							      const struct replay_process *p,
							      uint32_t hash)
{
	uint32_t place = 0, stack = e->stack;

	if (p->blocks.count) {
		place = life_map_guess(&p->blocks, e->kind == EVENT_REALLOC
							   ? life_hash(e->old_address)
							   : hash);
		stack = place ? life_at(&run->pool, place)->stack : stack;
	}
	listeners_expect(&run->to, stack, place);
}

/* Applies a batch; prefetches for later events meanwhile. */
static bool see(void *context, const struct event *events, size_t count)
{
	struct replay_pass *run = context;
	struct replay_process *of[BLOCK_BATCH];
	uint32_t hashes[BLOCK_BATCH];

	/* now: wraps beyond `count` if there is none yet */
	for (size_t i = 0, now; i < count + 2 * AHEAD; i++) {
		if (i < count) {
			const struct event *e = &events[i];

			of[i] = e->process && e->process <= run->replay.process_count
					? &run->replay.processes[e->process - 1]
					: NULL;
			hashes[i] = life_hash(e->address);
			if (of[i])
				expect(run, e, of[i], hashes[i]);
		}
		now = i - (2 * AHEAD - AHEAD);
		if (now < count && of[now])
			prepare(&events[now], of[now], hashes[now]);
		now = i - (2 * AHEAD - AHEAD_TYPE);
		if (now < count && of[now]) {
			if (events[now].vtable && !run->to.untyped)
				expect_vtable(run, &events[now], of[now], hashes[now]);
			if (run->to.by_stack_count | run->to.by_place_count)
				expect_rows(run, &events[now], of[now], hashes[now]);
		}
		now = i - 2 * AHEAD;
		if (now < count)
			apply(run, &events[now], of[now], hashes[now]);
	}
	if ((run->replay.events & 0xffff) < count)
		progress_set(&run->progress, run->replay.events, run->total);
	return has_room(run, 0) && (!run->to.only_moments || run->next_moment != UINT64_MAX);
}

/* Reports the blocks that are left as live at the end. */
static void end_all(struct replay_pass *run)
{
	for (size_t i = 0; i < run->replay.process_count; i++) {
		struct replay_process *p = &run->replay.processes[i];
		struct life_death death = { .end = LIFE_NEVER, .time = p->end };

		replay_each(p, life) listeners_death(&run->to, p, life, &death);
	}
}

/* ---- loading ---- */

ORDER_BY(by_fork, struct fork_time, ORDER_UP(at) ?: ORDER_UP(child))

static void order_forks(struct replay_pass *run)
{
	size_t count = run->replay.process_count;

	run->forks = mem_zero(count, sizeof(*run->forks));
	run->fork_place = mem_zero(count, sizeof(*run->fork_place));
	run->first_child = mem_zero(count, sizeof(*run->first_child));
	run->next_child = mem_zero(count, sizeof(*run->next_child));
	for (uint32_t i = 0; i < count; i++) {
		const struct replay_process *child = &run->replay.processes[i],
					    *parent = parent_of(run, child);

		if (!child->forked)
			continue;
		run->forks[run->fork_count++] = (struct fork_time){ child->forked, i };
		if (parent) {
			run->next_child[i] = run->first_child[parent->id - 1];
			run->first_child[parent->id - 1] = i + 1;
		}
	}
	if (run->fork_count)
		qsort(run->forks, run->fork_count, sizeof(*run->forks), by_fork);
	for (size_t i = 0; i < run->fork_count; i++)
		run->fork_place[run->forks[i].child] = (uint32_t)i;
	go_to_fork(run, 0);
}

static struct shiny_err *load_processes(struct store *store, const struct filter *filter,
					struct replay_pass *run)
{
	struct query *q = NULL;
	bool row = false;
	/* the duration of an unfinished recording is not stored: take the last known time */
	struct shiny_err *err = store_query(
		store,
		"SELECT COALESCE((SELECT value FROM session WHERE key = 'duration_ns'), "
		"MAX((SELECT COALESCE(MAX(last_ns), 0) FROM events), (SELECT COALESCE(MAX(ns), 0) "
		"FROM memory))), "
		"(SELECT COALESCE(SUM(count), 0) FROM events), "
		"COALESCE((SELECT value FROM session WHERE key = 'kept_from_ns'), 0)",
		&q);

	if (!err)
		err = query_step(q, &row);
	if (!err && row) {
		run->replay.duration = (uint64_t)query_number(q, 0);
		run->total = (uint64_t)query_number(q, 1);
		run->replay.kept = (uint64_t)query_number(q, 2);
	}
	query_end(q);
	q = NULL;
	run->replay.process_count = store_ids(store, "process") - 1;
	run->replay.processes =
		mem_zero(run->replay.process_count + 1, sizeof(*run->replay.processes));
	/* a damaged file has events of unlisted processes */
	for (size_t i = 0; i < run->replay.process_count; i++) {
		run->replay.processes[i].replay = &run->replay;
		run->replay.processes[i].id = (uint32_t)i + 1;
		run->replay.processes[i].blocks.pool = &run->pool;
	}
	if (!err)
		err = query_format(store, &q,
				   "SELECT s.process, s.parent, s.start_ns, s.end_ns, s.forked_ns, "
				   "%s, s.early OR s.ending = 'replaced', s.sample "
				   "FROM v_processes s",
				   filter->where);
	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, run->replay.process_count + 1);
		struct replay_process *p = &run->replay.processes[id - 1];

		if (!id)
			continue;
		p->parent = (uint32_t)query_number(q, 1);
		p->start = (uint64_t)query_number(q, 2);
		p->end = query_number(q, 3) ? (uint64_t)query_number(q, 3) : run->replay.duration;
		p->forked = (uint64_t)query_number(q, 4);
		if (p->forked <= run->replay.kept) /* what it brought along is among the events */
			p->forked = 0;
		p->wanted = query_number(q, 5) != 0;
		p->early = query_number(q, 6) != 0;
		p->sample = (uint64_t)query_number(q, 7);
		if (p->sample > SHINY_SAMPLE_MOST) /* the file is damaged */
			p->sample = SHINY_SAMPLE_MOST;
	}
	query_end(q);
	order_forks(run);
	return err;
}

struct shiny_err *replay_pass(struct store *store, const struct filter *filter,
			      struct replay_observer *observers, size_t count, const char *title)
{
	struct replay_pass run = { .filter = filter,
				   .next_moment = UINT64_MAX,
				   .next_fork = UINT64_MAX,
				   .most = store_bound(store, REPLAY_AT_LEAST, REPLAY_A_BYTE) };
	struct shiny_err *err = load_processes(store, filter, &run);

	if (!err)
		err = type_table_load(store, run.replay.process_count, &run.types);
	listeners_init(&run.to, observers, count);
	run.moments = mem_zero(count + 1, sizeof(*run.moments));
	for (size_t i = 0; i < count; i++) {
		run.moments[i] = observers[i].moment ? observers[i].first_moment : UINT64_MAX;
		if (run.moments[i] < run.next_moment)
			run.next_moment = run.moments[i];
	}
	progress_begin(&run.progress, title ? title : "", title != NULL);
	if (!err)
		err = store_each_batch(store, see, &run);
	if (!err && !run.too_much) {
		fork_until(&run, UINT64_MAX);
		moments_until(&run, run.replay.duration + 1);
		end_all(&run);
	}
	if (!err && run.too_much)
		err = store_too_much(store);
	progress_end(&run.progress);
	for (size_t i = 0; i < run.replay.process_count; i++)
		life_map_deinit(&run.replay.processes[i].blocks);
	life_pool_deinit(&run.pool);
	free(run.replay.processes);
	free(run.forks);
	free(run.fork_place);
	free(run.first_child);
	free(run.next_child);
	type_table_deinit(&run.types);
	free(run.moments);
	listeners_deinit(&run.to);
	return err;
}
