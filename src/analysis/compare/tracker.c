/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker.h"

#include <stdlib.h>

#include "../../base/mem.h"
#include "../replay/replay.h"
#include "../replay/process_ends.h"

/* What was last asked about a stack, by processes of equal last bits: nearly always what is asked
 * next. */
enum { PROCESS_BITS = 2 };
struct remembered {
	uint32_t process, vtable, cell;
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
enum { LINE = 16 };

struct follower {
	const struct breakdown *breakdown;
	struct followed_end line[LINE]; /* a ring */
	unsigned next;
	struct trackers *trackers;
	struct remembered *stacks; /* by id and process; process 0: nothing */
	size_t stack_count;
	struct process_ends ends;
	bool *ended; /* by process id - 1; NULL before the first moment */
};

static uint32_t cell_of(struct follower *f, uint32_t process, uint32_t stack, uint32_t vtable)
{
	struct remembered *r;

	if (stack >= f->stack_count)
		return breakdown_cell(f->breakdown, process, stack, vtable);
	r = &f->stacks[(size_t)stack << PROCESS_BITS | (process & ((1 << PROCESS_BITS) - 1))];
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
	for (uint32_t i = f->trackers->first[cell]; i < f->trackers->first[cell + 1]; i++) {
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

static void on_birth(void *context, const struct replay *replay,
		     const struct replay_process *process, const struct life *life)
{
	struct follower *f = context;
	uint32_t cell = cell_of(f, process->id, life->stack, life->vtable);

	if (cell != BREAKDOWN_NO_CELL && !has_ended(f, process))
		come(f, cell, life->size, life->birth);
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

static void on_death(void *context, const struct replay *replay,
		     const struct replay_process *process, const struct life *life,
		     const struct life_death *death)
{
	struct follower *f = context;
	uint32_t cell = cell_of(f, process->id, life->stack, life->vtable);
	uint64_t age = death->time > life->birth ? death->time - life->birth : 0,
		 steps = process->births - life->number;
	bool leak = death->end == LIFE_NEVER && !life->inherited && !process->replaced &&
		    !(f->trackers->hidden && suppressions_hide(f->trackers->hidden, life->stack));

	if (cell == BREAKDOWN_NO_CELL)
		return;
	if (life->inherited)
		return;
	if (!has_ended(f, process))
		go(f, cell, life->size);
	/* a realloc's own birth is counted already when its old block's death arrives */
	steps -= death->end == LIFE_REALLOCED && steps;
	for (uint32_t i = f->trackers->first[cell]; i < f->trackers->first[cell + 1]; i++) {
		struct tracker *w = &f->trackers->at[f->trackers->of[i]];

		w->leaks += leak;
		w->leaked_bytes += leak ? life->size : 0;
		if (w->lifetimes)
			enter_line(f, &(struct followed_end){
					      w, age, steps, death->end == LIFE_NEVER });
	}
}

static void on_resize(void *context, const struct replay *replay,
		      const struct replay_process *process, const struct life *life,
		      uint64_t before)
{
	struct follower *f = context;
	uint32_t cell = cell_of(f, process->id, life->stack, life->vtable);

	if (cell == BREAKDOWN_NO_CELL || life->inherited || has_ended(f, process))
		return;
	for (uint32_t i = f->trackers->first[cell]; i < f->trackers->first[cell + 1]; i++) {
		struct tracker *w = &f->trackers->at[f->trackers->of[i]];

		w->bytes += life->size - before;
		w->peak_bytes = w->bytes > w->peak_bytes ? w->bytes : w->peak_bytes;
	}
	look_at_parts(f, cell);
}

static void on_vtable(void *context, const struct replay *replay,
		      const struct replay_process *process, const struct life *life,
		      uint32_t before)
{
	struct follower *f = context;
	uint32_t old = cell_of(f, process->id, life->stack, before),
		 cell = cell_of(f, process->id, life->stack, life->vtable);

	if (old == cell || life->inherited || has_ended(f, process))
		return;
	if (old != BREAKDOWN_NO_CELL)
		go(f, old, life->size);
	if (cell != BREAKDOWN_NO_CELL)
		come(f, cell, life->size, life->birth);
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
			uint32_t cell = cell_of(f, p->id, life->stack, life->vtable);

			if (cell != BREAKDOWN_NO_CELL && !life->inherited)
				go(f, cell, life->size);
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
					    .moment = on_moment };
	struct shiny_err *err;

	f.stacks = mem_zero((f.stack_count + 1) << PROCESS_BITS, sizeof(*f.stacks));
	err = replay_run(store, filter, &observer, 1, title);
	empty_line(&f);
	free(f.ended);
	process_ends_deinit(&f.ends);
	free(f.stacks);
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
