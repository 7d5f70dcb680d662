/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracker.c: see tracker.h.
 *
 * The replay's thread finds a block's cell. Another thread applies the changes to its trackers, in
 * their order: trackers and their bins are mostly in no cache, so they are prefetched some changes
 * ahead.
 *
 * Whether a change begins or ends a block cannot be predicted, so no branch depends on it: both add
 * to the live sums, and ends are collected and counted in histograms in a loop of their own.
 */
#include "tracker.h"

#include <stdalign.h>
#include <stdlib.h>

#include "../../base/mem.h"
#include "../replay/change_queue.h"
#include "../replay/replay.h"
#include "../replay/process_ends.h"

/*
 * The cells last found for a stack, by the low bits of the process: nearly always the ones needed
 * next. Blocks with a vtable have their own entry: those of a stack are born without one, in
 * between. A stack's entries fill a cache line. Ids too large for a key are looked up each time.
 */
enum { PROCESS_BITS = 2, KEY_PROCESS_BITS = 12, KEY_VTABLE_BITS = 20 };
struct remembered {
	uint32_t key; /* vtable << KEY_PROCESS_BITS | process; 0: empty */
	uint32_t cell;
};
struct remembered_stack {
	alignas(64) struct remembered of[2][1 << PROCESS_BITS]; /* [1]: with a vtable */
};
_Static_assert(sizeof(struct remembered_stack) == 64, "a stack is a cache line");
/* A change of a set's trackers; four fill a cache line. */
struct tracker_change {
	uint64_t bytes;         /* gained by the set, modulo 2^64; of a leak: the block's */
	uint32_t set;
	unsigned age_bin : 9;   /* of an ended block */
	unsigned steps_bin : 9;
	signed blocks : 2;      /* blocks gained: 1, 0 or -1 */
	unsigned ended : 1;     /* the change is a seen end of a block */
	unsigned leak : 1;      /* the change only counts a leak */
	unsigned weight : 1;    /* it says that the next one is of `bytes` blocks */
};
_Static_assert(sizeof(struct tracker_change) == 16, "a change is a quarter of a cache line");
_Static_assert(sizeof(struct tracker) == 128, "what every change touches is a cache line");
_Static_assert(HISTOGRAM_BINS <= 1 << 9, "a bin's number has its place in a change");
/* Changes between the prefetch of a tracker and its use, and ends between that of bins and their
 * use. */
enum { AHEAD_TRACKER = 12, AHEAD_BIN = 8 };
enum { APPLIED_TOGETHER = 256 };

struct follower {
	const struct breakdown *breakdown;
	struct change_queue *queue;     /* of tracker_change */
	struct trackers *trackers;
	struct tracker_extent *extents; /* one for each set */
	bool targets; /* a tracker has a target */
	uint64_t weight; /* blocks of the next change that is applied */
	struct remembered_stack *stacks; /* indexed by stack id */
	size_t stack_count;
	struct replay_rows stack_rows; /* `stacks`, to prefetch */
	struct process_ends ends;
	bool *ended; /* process id - 1 → it has ended; NULL before the first moment */
};

/* Returns the cell of a block with this vtable; the same at its birth and its end. */
static uint32_t cell_of(const struct follower *f, const struct replay_process *p,
			const struct life *life, uint32_t vtable)
{
	uint32_t process = p->id, stack = life->stack;
	uint32_t key = vtable << KEY_PROCESS_BITS | process;
	struct remembered *r;

	if (stack >= f->stack_count || process >> KEY_PROCESS_BITS || vtable >> KEY_VTABLE_BITS)
		return breakdown_cell(f->breakdown, process, stack, vtable);
	r = &f->stacks[stack].of[vtable != 0][process & ((1 << PROCESS_BITS) - 1)];
	if (r->key != key)
		*r = (struct remembered){ key,
					  breakdown_cell(f->breakdown, process, stack, vtable) };
	return r->cell;
}

static bool has_ended(const struct follower *f, const struct replay_process *process)
{
	return f->ended && f->ended[process->id - 1];
}

/* ---- applying changes ---- */

/* Loops over the trackers of a set. */
#define each_of_set(trackers, set, w)                                                  \
	for (const uint32_t *of_ = (trackers)->of + (trackers)->first[set],            \
			    *end_ = (trackers)->of + (trackers)->first[(set) + 1];     \
	     of_ < end_; of_++)                                                        \
		for (struct tracker *w = &(trackers)->at[*of_]; w; w = NULL)

static void look_at_parts(const struct trackers *t, uint32_t set)
{
	each_of_set(t, set, w)
	{
		if (!w->target || w->bytes < w->target)
			continue;
		w->target = 0;
		for (size_t p = w->parts; p < w->parts + w->part_count; p++)
			t->at[p].at_target = t->at[p].bytes;
	}
}

static void add_leak(const struct trackers *t, const struct tracker_change *c, uint64_t blocks)
{
	each_of_set(t, c->set, w)
	{
		w->leaks += blocks;
		w->leaked_bytes += c->bytes;
	}
}

static inline void add_live(struct tracker *w, const struct tracker_change *c, uint64_t blocks)
{
	w->episodes += !w->blocks & (c->blocks > 0);
	w->blocks += (uint64_t)(int64_t)c->blocks * blocks;
	w->bytes += c->bytes;
	w->peak_bytes = w->bytes > w->peak_bytes ? w->bytes : w->peak_bytes;
}

/* always_inline: gcc 12 removes calls whose only effect is a prefetch. */
static inline __attribute__((always_inline)) void expect_tracker(const struct trackers *t,
								 const struct tracker_change *c)
{
	const struct tracker *w = &t->at[t->of[t->first[c->set]]];

	__builtin_prefetch(w, 1);
	__builtin_prefetch(&w->ages);
}

static inline __attribute__((always_inline)) void expect_bins(const struct trackers *t,
							      const struct tracker_change *c)
{
	const struct tracker *w = &t->at[t->of[t->first[c->set]]];

	histogram_expect(&w->ages, c->age_bin);
	histogram_expect(&w->steps, c->steps_bin);
}

/* `weights`: the number of blocks of each. */
static void count_ends(const struct trackers *t, const struct tracker_change *const *ends,
		       const uint64_t *weights, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i + AHEAD_BIN < count)
			expect_bins(t, ends[i + AHEAD_BIN]);
		each_of_set(t, ends[i]->set, w)
		{
			if (!w->lifetimes)
				continue;
			histogram_add(&w->ages, ends[i]->age_bin, weights[i]);
			histogram_add(&w->steps, ends[i]->steps_bin, weights[i]);
		}
	}
}

/* Applies `count` of the `left` changes from c on; prefetches beyond `count`. */
static void apply_some(struct follower *f, const struct tracker_change *c, size_t count,
		       size_t left)
{
	const struct trackers *t = f->trackers;
	const struct tracker_change *ends[APPLIED_TOGETHER];
	uint64_t weights[APPLIED_TOGETHER];
	size_t end_count = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t blocks = f->weight;

		if (i + AHEAD_TRACKER < left)
			expect_tracker(t, &c[i + AHEAD_TRACKER]);
		f->weight = c[i].weight ? c[i].bytes : 1;
		if (c[i].weight)
			continue;
		if (c[i].leak) {
			add_leak(t, &c[i], blocks);
			continue;
		}
		each_of_set(t, c[i].set, w)
			add_live(w, &c[i], blocks);
		if (f->targets)
			look_at_parts(t, c[i].set);
		ends[end_count] = &c[i];
		weights[end_count] = blocks;
		end_count += c[i].ended;
	}
	count_ends(t, ends, weights, end_count);
}

static void apply(void *context, const void *changes, size_t count)
{
	const struct tracker_change *c = changes;

	for (size_t at = 0, some; at < count; at += some) {
		some = count - at < APPLIED_TOGETHER ? count - at : APPLIED_TOGETHER;
		apply_some(context, c + at, some, count - at);
	}
}

/* ---- events of the replay ---- */

/* Returns the set of trackers of a cell; BREAKDOWN_NO_CELL: none. */
static uint32_t set_of(const struct follower *f, uint32_t cell)
{
	return cell == BREAKDOWN_NO_CELL ? cell : f->trackers->set_of[cell];
}

#define give(f, of_cell, ...)                                                              \
	change_queue_give((f)->queue,                                                      \
			  ((struct tracker_change){ .set = (f)->trackers->set_of[of_cell], \
						    __VA_ARGS__ }))

/* Says of how many blocks the next change is. */
static void give_weight(struct follower *f, uint32_t cell, uint64_t blocks)
{
	if (blocks != 1)
		give(f, cell, .bytes = blocks, .weight = true);
}

static void give_live(struct follower *f, uint32_t cell, const struct replay_process *process,
		      const struct life *life, int blocks)
{
	uint64_t weight = replay_weight(process, life), bytes = life->size * weight;

	if (cell == BREAKDOWN_NO_CELL)
		return;
	give_weight(f, cell, weight);
	give(f, cell, .bytes = blocks < 0 ? -bytes : bytes, .blocks = blocks);
}

static void tracker_on_birth(void *context, const struct replay_process *process,
			     const struct life *life)
{
	struct follower *f = context;

	if (!has_ended(f, process))
		give_live(f, cell_of(f, process, life, life->vtable), process, life, 1);
}

static bool is_leak(const struct follower *f, const struct life *life)
{
	return !f->trackers->hidden || !suppressions_hide(f->trackers->hidden, life->stack);
}

static inline void extend(struct tracker_extent *e, const struct tracker_extent *by)
{
	e->least_age = by->least_age < e->least_age ? by->least_age : e->least_age;
	e->most_age = by->most_age > e->most_age ? by->most_age : e->most_age;
	e->least_steps = by->least_steps < e->least_steps ? by->least_steps : e->least_steps;
	e->most_steps = by->most_steps > e->most_steps ? by->most_steps : e->most_steps;
}

static void tracker_on_death(void *context, const struct replay_process *process,
			     const struct life *life, const struct life_death *death)
{
	struct follower *f = context;
	bool live = !has_ended(f, process);
	uint64_t age = death->time > life->birth ? death->time - life->birth : 0,
		 steps = process->births - life->number, weight = replay_weight(process, life);
	uint32_t cell = life->inherited ? BREAKDOWN_NO_CELL
					: cell_of(f, process, life, life->vtable);

	if (cell == BREAKDOWN_NO_CELL)
		return;
	/* the birth of a realloc's new block comes before the death of its old one, and does not
	 * count */
	steps -= death->end == LIFE_REALLOCED && steps;
	if (death->end != LIFE_NEVER)
		extend(&f->extents[f->trackers->set_of[cell]],
		       &(struct tracker_extent){ age, age, steps, steps });
	give_weight(f, cell, weight);
	give(f, cell, .bytes = live ? -life->size * weight : 0, .age_bin = histogram_bin(age),
	     .steps_bin = histogram_bin(steps), .blocks = -live,
	     .ended = death->end != LIFE_NEVER);
	if (death->end == LIFE_NEVER && is_leak(f, life)) {
		give_weight(f, cell, weight);
		give(f, cell, .bytes = life->size * weight, .leak = true);
	}
}

static void tracker_on_resize(void *context, const struct replay_process *process,
			      const struct life *life, uint64_t before)
{
	struct follower *f = context;
	uint32_t cell;

	if (life->inherited || has_ended(f, process))
		return;
	cell = cell_of(f, process, life, life->vtable);
	if (cell != BREAKDOWN_NO_CELL)
		give(f, cell, .bytes = life->size - before);
}

static void on_vtable(void *context, const struct replay_process *process, const struct life *life,
		      uint32_t before)
{
	struct follower *f = context;
	uint32_t old, cell;

	if (life->inherited || has_ended(f, process))
		return;
	old = cell_of(f, process, life, before);
	cell = cell_of(f, process, life, life->vtable);
	if (set_of(f, old) == set_of(f, cell))
		return; /* a type that becomes known does not end an episode */
	give_live(f, old, process, life, -1);
	give_live(f, cell, process, life, 1);
}

/* Ends processes at their time: their blocks are no longer live, though the replay reports their
 * deaths later. */
static uint64_t tracker_on_moment(void *context, const struct replay *replay, uint64_t moment)
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
				give_live(f, cell_of(f, p, life, life->vtable), p, life, -1);
		}
		f->ended[p->id - 1] = true;
	}
	return process_ends_time(&f->ends, replay);
}

static struct tracker_extent *extents_create(size_t count)
{
	struct tracker_extent *e = mem_alloc((count + 1) * sizeof(*e));

	for (size_t i = 0; i < count; i++)
		e[i] = (struct tracker_extent){ .least_age = UINT64_MAX,
						.least_steps = UINT64_MAX };
	return e;
}

/* Extends each tracker's extent by those of its sets. */
static void take_extents(struct follower *f)
{
	const struct trackers *t = f->trackers;

	for (size_t set = 0; set < t->sets; set++)
		each_of_set(t, set, w)
			extend(&t->extents[w - t->at], &f->extents[set]);
	free(f->extents);
}

struct shiny_err *tracker_run(struct store *store, const struct filter *filter,
			      const struct breakdown *breakdown, struct trackers *trackers,
			      const char *title)
{
	struct follower f = { .breakdown = breakdown,
			      .trackers = trackers,
			      .weight = 1,
			      .stack_count = breakdown->stack_count };
	struct replay_observer observer = { .context = &f,
					    .birth = tracker_on_birth,
					    .death = tracker_on_death,
					    .resize = tracker_on_resize,
					    .vtable = on_vtable,
					    .moment = tracker_on_moment,
					    .untyped = true,
					    .by_stack = &f.stack_rows };
	struct shiny_err *err;

	for (size_t i = 0; i < trackers->count; i++)
		f.targets |= trackers->at[i].target != 0;
	f.extents = extents_create(trackers->sets);
	f.stacks = mem_pages((f.stack_count + 1) * sizeof(*f.stacks));
	f.stack_rows = (struct replay_rows){ .at = f.stacks,
					     .count = f.stack_count,
					     .each = sizeof(*f.stacks) };
	f.queue = change_queue_create(sizeof(struct tracker_change), apply, &f);
	err = replay_run(store, filter, &observer, 1, title);
	change_queue_settle(f.queue);
	change_queue_destroy(f.queue);
	take_extents(&f);
	free(f.ended);
	process_ends_deinit(&f.ends);
	mem_pages_free(f.stacks, (f.stack_count + 1) * sizeof(*f.stacks));
	return err;
}

void trackers_init(struct trackers *t, size_t count, size_t cells, size_t sets, size_t members)
{
	t->count = count;
	t->sets = sets;
	t->extents = extents_create(count);
	t->at = mem_pages((count + 1) * sizeof(*t->at));
	t->set_of = mem_zero(cells + 1, sizeof(*t->set_of));
	t->first = mem_zero(sets + 1, sizeof(*t->first));
	t->of = mem_zero(members + 1, sizeof(*t->of));
}

struct histogram_range trackers_age(const struct trackers *t, size_t tracker, double q)
{
	const struct tracker_extent *e = &t->extents[tracker];

	return histogram_quantile(&t->at[tracker].ages, q, e->least_age, e->most_age);
}

struct histogram_range trackers_steps(const struct trackers *t, size_t tracker, double q)
{
	const struct tracker_extent *e = &t->extents[tracker];

	return histogram_quantile(&t->at[tracker].steps, q, e->least_steps, e->most_steps);
}

void trackers_deinit(struct trackers *t)
{
	for (size_t i = 0; i < t->count; i++) {
		histogram_deinit(&t->at[i].ages);
		histogram_deinit(&t->at[i].steps);
	}
	mem_pages_free(t->at, (t->count + 1) * sizeof(*t->at));
	free(t->extents);
	free(t->set_of);
	free(t->first);
	free(t->of);
	*t = (struct trackers){ 0 };
}
