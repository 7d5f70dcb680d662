/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracker.c: see tracker.h.
 *
 * Which cell a block is of is found while the replay goes on. What its trackers learn of that is
 * applied by another thread, in the order in which it was seen: cells, their trackers and these
 * themselves are in no cache as a rule, so they are asked for some changes ahead, one after the
 * other.
 */
#include "tracker.h"

#include <stdalign.h>
#include <stdlib.h>

#include "../../base/mem.h"
#include "../replay/change_queue.h"
#include "../replay/replay.h"
#include "../replay/process_ends.h"

/* What was last asked about a stack, by processes of equal last bits: nearly always what is asked
 * next. Blocks with a vtable are apart: those of a stack are born without, in between. */
enum { PROCESS_BITS = 2 };
struct remembered {
	alignas(16) uint32_t process; /* those of a stack are one cache line */
	uint32_t vtable, cell;
};
/*
 * A block that has ended, and what its tracker is to learn of that. Trackers and their bins are in
 * no cache as a rule. So the dead wait in a line, as in lifetimes.c: the tracker is asked for when
 * they enter it, its bins when they are halfway through.
 */
struct followed_end {
	struct tracker *tracker; /* NULL: empty */
	uint64_t age, steps;
	bool censored;
};
enum { LINE = 32 };
enum { PLACES_LEAST = 1 << 12 };

enum tracker_change_kind { TRACKER_COME, TRACKER_GO, TRACKER_RESIZE, TRACKER_END };
struct tracker_change {
	uint64_t bytes;       /* of the block; RESIZE: that it has more, modulo 2^64 */
	uint64_t time, steps; /* COME: of its birth; END: age and steps */
	uint32_t cell;
	uint8_t kind;         /* enum tracker_change_kind */
	bool live;            /* END: what it held is live until then */
	bool leak, censored;  /* likewise */
};
/* So many changes before its turn a change's place among the cells is asked for, its list of
 * trackers, these. */
enum { AHEAD_CELL = 24, AHEAD_LIST = 16, AHEAD_TRACKER = 8 };

struct follower {
	const struct breakdown *breakdown;
	struct change_queue *queue;     /* of tracker_change */
	struct followed_end line[LINE]; /* a ring */
	unsigned next;
	struct trackers *trackers;
	bool targets; /* some have one */
	struct remembered *stacks[2]; /* without a vtable, with one; by id and process; process 0:
				       * nothing */
	size_t stack_count;
	struct replay_rows stack_rows; /* stacks[0], by id */
	uint32_t *cells; /* by place of a life: that of its block */
	size_t places;
	struct replay_rows cell_rows; /* these */
	struct process_ends ends;
	bool *ended; /* by process id - 1; NULL before the first moment */
};

static uint32_t cell_of(struct follower *f, uint32_t process, uint32_t stack, uint32_t vtable)
{
	struct remembered *r;

	if (stack >= f->stack_count)
		return breakdown_cell(f->breakdown, process, stack, vtable);
	r = &f->stacks[vtable != 0]
		      [(size_t)stack << PROCESS_BITS | (process & ((1 << PROCESS_BITS) - 1))];
	if (r->process != process || r->vtable != vtable)
		*r = (struct remembered){ process, vtable,
					  breakdown_cell(f->breakdown, process, stack, vtable) };
	return r->cell;
}

static bool has_ended(const struct follower *f, const struct replay_process *process)
{
	return f->ended && f->ended[process->id - 1];
}

/* Behind what adds bytes. */
static void look_at_parts(struct follower *f, uint32_t cell)
{
	for (uint32_t i = f->trackers->first[cell];
	     f->targets && i < f->trackers->first[cell + 1]; i++) {
		struct tracker *w = &f->trackers->at[f->trackers->of[i]];

		if (!w->target || w->bytes < w->target)
			continue;
		w->target = 0;
		for (size_t p = w->parts; p < w->parts + w->part_count; p++)
			f->trackers->at[p].at_target = f->trackers->at[p].bytes;
	}
}

static void come(struct follower *f, uint32_t cell, uint64_t bytes, uint64_t time)
{
	for (uint32_t i = f->trackers->first[cell]; i < f->trackers->first[cell + 1]; i++) {
		struct tracker *w = &f->trackers->at[f->trackers->of[i]];

		w->episodes += w->blocks++ == 0;
		w->bytes += bytes;
		if (w->bytes > w->peak_bytes) {
			w->peak_bytes = w->bytes;
			w->peak_time = time;
		}
	}
	look_at_parts(f, cell);
}

static void go(struct follower *f, uint32_t cell, uint64_t bytes)
{
	for (uint32_t i = f->trackers->first[cell]; i < f->trackers->first[cell + 1]; i++) {
		struct tracker *w = &f->trackers->at[f->trackers->of[i]];

		w->blocks--;
		w->bytes -= bytes;
	}
}

static void count_end(const struct followed_end *e)
{
	if (!e->tracker)
		return;
	distribution_add(&e->tracker->ages, e->age, e->censored);
	distribution_add(&e->tracker->steps, e->steps, e->censored);
}

static void enter_line(struct follower *f, const struct followed_end *end)
{
	struct followed_end *place = &f->line[f->next % LINE],
			    *halfway = &f->line[(f->next + LINE / 2) % LINE];

	count_end(place);
	if (halfway->tracker) {
		distribution_expect(&halfway->tracker->ages, halfway->age);
		distribution_expect(&halfway->tracker->steps, halfway->steps);
	}
	*place = *end;
	for (const char *at = (const char *)place->tracker;
	     at < (const char *)(place->tracker + 1); at += 64)
		__builtin_prefetch(at, 1);
	f->next++;
}

static void empty_line(struct follower *f)
{
	for (unsigned i = 0; i < LINE; i++)
		count_end(&f->line[(f->next + i) % LINE]);
}

static void resize(struct follower *f, uint32_t cell, uint64_t more)
{
	for (uint32_t i = f->trackers->first[cell]; i < f->trackers->first[cell + 1]; i++) {
		struct tracker *w = &f->trackers->at[f->trackers->of[i]];

		w->bytes += more;
		w->peak_bytes = w->bytes > w->peak_bytes ? w->bytes : w->peak_bytes;
	}
	look_at_parts(f, cell);
}

static void end(struct follower *f, const struct tracker_change *c)
{
	if (c->live)
		go(f, c->cell, c->bytes);
	for (uint32_t i = f->trackers->first[c->cell]; i < f->trackers->first[c->cell + 1]; i++) {
		struct tracker *w = &f->trackers->at[f->trackers->of[i]];

		w->leaks += c->leak;
		w->leaked_bytes += c->leak ? c->bytes : 0;
		if (w->lifetimes)
			enter_line(f, &(struct followed_end){ w, c->time, c->steps, c->censored });
	}
}

static inline void expect(const struct trackers *t, const struct tracker_change *c, size_t left)
{
	uint32_t first;

	if (left > AHEAD_CELL)
		__builtin_prefetch(&t->first[c[AHEAD_CELL].cell]);
	if (left > AHEAD_LIST)
		__builtin_prefetch(&t->of[t->first[c[AHEAD_LIST].cell]]);
	if (left <= AHEAD_TRACKER)
		return;
	first = t->first[c[AHEAD_TRACKER].cell];
	if (first < t->first[c[AHEAD_TRACKER].cell + 1])
		__builtin_prefetch(&t->at[t->of[first]], 1);
}

static void apply(void *context, const void *changes, size_t count)
{
	struct follower *f = context;
	const struct tracker_change *c = changes;

	for (size_t left = count; left; left--, c++) {
		expect(f->trackers, c, left);
		if (c->kind == TRACKER_COME)
			come(f, c->cell, c->bytes, c->time);
		else if (c->kind == TRACKER_GO)
			go(f, c->cell, c->bytes);
		else if (c->kind == TRACKER_RESIZE)
			resize(f, c->cell, c->bytes);
		else
			end(f, c);
	}
}

/* ---- what the replay says ---- */

static void give(struct follower *f, struct tracker_change change)
{
	if (change.cell != BREAKDOWN_NO_CELL)
		change_queue_give(f->queue, change);
}

/* The block's cell from now on. */
static uint32_t set_cell(struct follower *f, const struct replay_process *process,
			 const struct life *life)
{
	if (life->place >= f->places) {
		f->cells = mem_reach(f->cells, &f->places, life->place, sizeof(*f->cells),
				     PLACES_LEAST);
		f->cell_rows = (struct replay_rows){ .at = f->cells,
						     .count = f->places,
						     .each = sizeof(*f->cells) };
	}
	return f->cells[life->place] = cell_of(f, process->id, life->stack, life->vtable);
}

static void on_birth(void *context, const struct replay *replay,
		     const struct replay_process *process, const struct life *life)
{
	struct follower *f = context;
	uint32_t cell = set_cell(f, process, life);

	if (!has_ended(f, process))
		give(f, (struct tracker_change){ .kind = TRACKER_COME,
						 .cell = cell,
						 .bytes = life->size,
						 .time = life->birth });
}

static void on_death(void *context, const struct replay *replay,
		     const struct replay_process *process, const struct life *life,
		     const struct life_death *death)
{
	struct follower *f = context;
	struct tracker_change change = {
		.kind = TRACKER_END,
		.bytes = life->size,
		.time = death->time > life->birth ? death->time - life->birth : 0,
		.steps = process->births - life->number,
		.live = !has_ended(f, process),
		.leak = death->end == LIFE_NEVER && !process->replaced &&
			!(f->trackers->hidden &&
			  suppressions_hide(f->trackers->hidden, life->stack)),
		.censored = death->end == LIFE_NEVER
	};

	if (life->inherited)
		return;
	change.cell = f->cells[life->place];
	/* a realloc's own birth is counted already when its old block's death arrives */
	change.steps -= death->end == LIFE_REALLOCED && change.steps;
	give(f, change);
}

static void on_resize(void *context, const struct replay *replay,
		      const struct replay_process *process, const struct life *life,
		      uint64_t before)
{
	struct follower *f = context;

	if (!life->inherited && !has_ended(f, process))
		give(f, (struct tracker_change){
				.kind = TRACKER_RESIZE,
				.cell = f->cells[life->place],
				.bytes = life->size - before });
}

static void on_vtable(void *context, const struct replay *replay,
		      const struct replay_process *process, const struct life *life,
		      uint32_t before)
{
	struct follower *f = context;
	uint32_t old, cell;

	if (life->inherited)
		return;
	old = f->cells[life->place];
	cell = set_cell(f, process, life);
	if (old == cell || has_ended(f, process))
		return;
	give(f,
	     (struct tracker_change){ .kind = TRACKER_GO, .cell = old, .bytes = life->size });
	give(f, (struct tracker_change){ .kind = TRACKER_COME,
					 .cell = cell,
					 .bytes = life->size,
					 .time = life->birth });
}

/* Processes that end here: what they held is not live any more. Their blocks are still told as
 * deaths, later. */
static uint64_t on_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct follower *f = context;
	const struct replay_process *p;

	if (!f->ended) {
		f->ended = mem_zero(replay->process_count + 1, sizeof(*f->ended));
		process_ends_init(&f->ends, replay);
	}
	while ((p = process_ends_take(&f->ends, replay, moment))) {
		replay_each(p, life)
		{
			if (!life->inherited)
				give(f, (struct tracker_change){ .kind = TRACKER_GO,
								 .cell = f->cells[life->place],
								 .bytes = life->size });
		}
		f->ended[p->id - 1] = true;
	}
	return process_ends_time(&f->ends, replay);
}

struct shiny_err *tracker_run(struct store *store, const struct filter *filter,
			      const struct breakdown *breakdown, struct trackers *trackers,
			      const char *title)
{
	struct follower f = { .breakdown = breakdown,
			      .trackers = trackers,
			      .stack_count = breakdown->stack_count };
	struct replay_observer observer = { .context = &f,
					    .birth = on_birth,
					    .death = on_death,
					    .resize = on_resize,
					    .vtable = on_vtable,
					    .moment = on_moment,
					    .untyped = true,
					    .by_stack = &f.stack_rows,
					    .by_place = &f.cell_rows };
	struct shiny_err *err;

	for (size_t i = 0; i < trackers->count; i++)
		f.targets |= trackers->at[i].target != 0;
	for (unsigned i = 0; i < 2; i++)
		f.stacks[i] = mem_zero((f.stack_count + 1) << PROCESS_BITS, sizeof(**f.stacks));
	f.stack_rows = (struct replay_rows){ .at = f.stacks[0],
					     .count = f.stack_count,
					     .each = sizeof(**f.stacks) << PROCESS_BITS };
	f.queue = change_queue_create(sizeof(struct tracker_change), apply, &f);
	err = replay_run(store, filter, &observer, 1, title);
	change_queue_settle(f.queue);
	empty_line(&f);
	change_queue_destroy(f.queue);
	free(f.ended);
	process_ends_deinit(&f.ends);
	free(f.stacks[0]);
	free(f.stacks[1]);
	free(f.cells);
	return err;
}

void trackers_deinit(struct trackers *w)
{
	for (size_t i = 0; i < w->count; i++) {
		distribution_deinit(&w->at[i].ages);
		distribution_deinit(&w->at[i].steps);
	}
	free(w->at);
	free(w->first);
	free(w->of);
	*w = (struct trackers){ 0 };
}
