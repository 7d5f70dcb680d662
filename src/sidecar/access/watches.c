/* SPDX-License-Identifier: Apache-2.0 */
/* watches.c: see watches.h. */
#define _GNU_SOURCE
#include "watches.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "breakpoint_event.h"
#include "breakpoints.h"
#include "clock_pair.h"
#include "watch_draw.h"

#define MS UINT64_C(1000000)

enum { PATIENCE_ERRORS = 8 };
static const uint64_t candidates_ns = 100 * MS, refused_ns = 1000 * MS, credit_ns = 5 * MS;

/*
 * The windows, by a random number below 200: 192 draws of 200 get the first, 7 the second, 1 the
 * third. An unused block holds its registers for 0.18 s on average. Only one block of a process at
 * a time has the longest window, or it might have no other for ten seconds.
 */
static const struct watch_window {
	unsigned below;
	uint64_t ns;
} windows[] = { { 192, 100 * MS }, { 199, 1000 * MS }, { 200, 10000 * MS } };
enum { WINDOWS = sizeof(windows) / sizeof(*windows) };
static const uint64_t longest_ns = 10000 * MS;

struct watched {
	struct store_access row; /* its times are set at the end */
	struct process *process;
	struct entry entry;
	uint32_t site;
	bool cancelled, over; /* over: `result` is set */
	struct breakpoint_result result;
	uint64_t armed, until; /* ticks, from `result` */
	uint64_t death;        /* ticks; 0: unknown */
	bool moved;
};

/* A process's watched blocks and draws. */
struct watched_process {
	uint32_t under_way, longest; /* blocks; longest: those with the longest window */
	bool never;          /* it cannot be watched */
	uint64_t not_before; /* wall ns: not to be tried before */
	int told[PATIENCE_ERRORS]; /* errors already noted */
	struct watch_draw draws[DRAWS_MOST];
	size_t draw_count;
	uint64_t drawn, pass; /* wall ns of the last draw; processor ns it took */
};

/* A row that is written already, and gets its type at the end. */
struct watched_row {
	struct store_access row;
	const struct process *process;
	uint32_t site;
};

struct watches {
	struct breakpoints *breakpoints; /* NULL: off, or refused */
	int error; /* an error to be noted once the session file exists; 0 none */
	bool ever; /* they were on at some time */
	uint64_t seed, began, paid;      /* began: wall ns of the start, plus the time off */
	uint64_t off;                    /* wall ns of the last switching off */
	uint32_t numbers;
	size_t turn; /* index of the process that draws first */
	VEC(struct watched) watched;
	VEC(struct watched_row) rows;
	struct watched_process *processes; /* by id - 1 */
	size_t process_room;
};

static struct watched_process *state_of(struct watches *w, const struct process *p)
{
	w->processes = mem_reach(w->processes, &w->process_room, p->id - 1, sizeof(*w->processes),
				 8);
	return &w->processes[p->id - 1];
}

/* ---- ends and results ---- */

static struct watched *watched_of(struct watches *w, uint32_t number)
{
	for (size_t i = 0; i < w->watched.count; i++)
		if (w->watched.at[i].row.id == number)
			return &w->watched.at[i];
	return NULL;
}

static void note_ends(struct watches *w, struct output *output)
{

	for (size_t i = 0; i < output->watched_ends.count; i++) {
		const struct watched_end *end = &output->watched_ends.at[i];

		for (size_t k = 0; k < w->watched.count; k++) {
			struct watched *d = &w->watched.at[k];

			if (d->process->id != end->process || d->death ||
			    d->entry.address != end->entry.address ||
			    d->entry.birth != end->entry.birth)
				continue;
			d->death = end->time;
			d->moved = end->moved;
			d->entry.vtable = end->entry.vtable;
		}
	}
	output->watched_ends.count = 0;
}

static void cancel_what_ended(struct watches *w)
{
	for (size_t i = 0; i < w->watched.count; i++) {
		struct watched *d = &w->watched.at[i];

		if (d->over || d->cancelled || !(d->death || d->process->gone))
			continue;
		d->cancelled = true;
		breakpoints_cancel(w->breakpoints, d->row.id);
	}
}

static void put_reason(struct output *output, uint32_t process, int error)
{
	char *text = mem_format("accesses are not known: %s", breakpoint_event_reason(error));

	OUTPUT_PUT(output, store_put_note, process, text);
	free(text);
}

/* Takes a failure to watch a block of the process. */
static void take_refusal(struct watches *w, struct output *output, struct process *p, int error)
{
	struct watched_process *state = state_of(w, p);

	/* a thread that inherited another block's events may have no register left */
	if (error == ESRCH || (error == ENOSPC && state->under_way > 1))
		return;
	state->not_before = ticks_wall_ns() + refused_ns;
	state->never = error == EACCES || error == EPERM || error == EINVAL || error == E2BIG;
	for (int i = 0; i < PATIENCE_ERRORS; i++) {
		if (state->told[i] == error)
			return;
		if (state->told[i])
			continue;
		state->told[i] = error;
		put_reason(output, p->id, error);
		return;
	}
}

/* Ends the watch of a block. */
static void release(struct watches *w, struct watched *d)
{
	struct watched_process *state = state_of(w, d->process);
	struct entry *entry =
		d->process->settled ? NULL
				    : registry_find(&d->process->registry, d->entry.address);

	state->under_way--;
	state->longest -= d->row.window == longest_ns;
	if (entry && entry->birth == d->entry.birth) {
		d->entry.vtable = entry->vtable;
		entry->flags &= ~(unsigned)ENTRY_WATCHED;
	}
}

static void drop(struct watches *w, size_t index)
{
	w->watched.at[index] = w->watched.at[--w->watched.count];
}

static void take_results(struct watches *w, struct output *output)
{
	struct breakpoint_result result;

	while (breakpoints_take(w->breakpoints, &result)) {
		struct watched *d = watched_of(w, result.number);
		struct clock_pair clocks;

		if (!d)
			continue;
		w->paid += result.hits * WATCH_HIT + result.arming;
		if (result.error) {
			take_refusal(w, output, d->process, result.error);
			release(w, d);
			drop(w, (size_t)(d - w->watched.at));
			continue;
		}
		clock_pair_read(&output->ticks, &clocks);
		d->result = result;
		d->over = true;
		d->armed = clock_pair_ticks(&output->ticks, &clocks, result.armed);
		d->until = clock_pair_ticks(&output->ticks, &clocks, result.time);
	}
}

/* ---- rows ---- */

/* Fills in when and how the watch ended; false: it has no result. */
static bool fill_row(struct output *output, struct watched *d)
{
	const struct process *p = d->process;
	uint64_t blur = clock_pair_span(&output->ticks, WATCH_BLUR), until = d->until;
	bool used = d->result.used;

	d->row.ending = used ? "used"
			: d->until - d->armed < clock_pair_span(&output->ticks, d->row.window)
				? "ended"
				: "unused";
	if (p->end && p->end < until) {
		until = p->end;
		d->row.ending = "ended";
		used = false;
	}
	if (d->death && d->death < until + blur) {
		until = d->death;
		d->row.ending = d->moved ? "moved" : "freed";
		used = false;
	}
	if (until <= d->armed)
		return false;
	d->row.armed = ticks_ns(&output->ticks, d->armed);
	d->row.until = ticks_ns(&output->ticks, until);
	d->row.kind = !used ? NULL : d->result.written ? "write" : "read";
	d->row.frame = used && d->result.pc >> 63 == 0
			       ? space_frame(&d->process->space, &output->ids, d->result.pc)
			       : 0;
	d->row.vtable = d->entry.vtable;
	return true;
}

static void put_row(struct watches *w, struct output *output, struct watched *d)
{

	release(w, d);
	if (!fill_row(output, d))
		return;
	d->row.id = (uint32_t)w->rows.count + 1;
	OUTPUT_PUT(output, store_put_access, &d->row);
	*vec_push(&w->rows) = (struct watched_row){ d->row, d->process, d->site };
}

/* Writes the rows whose outcome is final; with `all` also the others that are over. */
static void put_rows(struct watches *w, struct output *output, bool all)
{

	for (size_t i = w->watched.count; i-- > 0;) {
		struct watched *d = &w->watched.at[i];

		if (!d->over || (!all && d->until >= output->applied_until && !d->process->closed))
			continue;
		put_row(w, output, d);
		drop(w, i);
	}
}

/* ---- draws ---- */

/* True if the watches have cost less than their share of the time. */
static bool can_pay(const struct watches *w, uint64_t now)
{
	return w->paid < credit_ns + (now - w->began) / WATCH_SHARE;
}

static void ignore_library(const struct output *output, const struct process *p,
			   struct breakpoint_order *order)
{
	int count = 0;

	for (size_t i = 0; i < p->space.live.count && count < BREAKPOINT_IGNORED; i++) {
		const struct mapping *m = &p->space.live.at[i];
		const char *path = output->ids.modules.at[m->module - 1].path;
		const char *slash = strrchr(path, '/');

		if (!strcmp(slash ? slash + 1 : path, "libshiny.so"))
			order->ignored[count++] = (struct breakpoint_range){ m->start, m->end };
	}
}

static uint64_t take_window(struct watches *w, const struct watched_process *state)
{
	unsigned last = WINDOWS - 1 - (state->longest > 0);
	uint64_t number = draw_below(&w->seed, windows[last].below);
	const struct watch_window *window = windows;

	while (number >= window->below)
		window++;
	return window->ns;
}

static void order(struct watches *w, const struct output *output, struct process *p,
		  const struct watch_draw *draw)
{
	struct entry *entry = registry_find(&p->registry, draw->entry.address);
	const struct site_stats *site = &p->stats.sites.at[draw->entry.site];
	struct watched_process *state = state_of(w, p);
	struct watched d = { .process = p, .entry = draw->entry, .site = draw->entry.site };
	struct breakpoint_order order = { .pid = p->pid,
					  .address = draw->entry.address + draw->offset,
					  .bytes = draw->bytes };

	if (!entry || entry->birth != draw->entry.birth || entry->size != draw->entry.size ||
	    entry->flags & ENTRY_WATCHED)
		return; /* the block has ended since, or was drawn twice */
	order.number = ++w->numbers;
	order.window = take_window(w, state);
	ignore_library(output, p, &order);
	d.row = (struct store_access){ .id = order.number,
				       .process = p->id,
				       .stack = site->stack,
				       .tag = site->tag,
				       .address = entry->address,
				       .size = entry->size,
				       .offset = draw->offset,
				       .bytes = draw->bytes,
				       .pick = draw->pick == PICK_BLOCK ? "block" : "byte",
				       .weight = draw->weight,
				       .born = ticks_ns(&output->ticks, entry->birth),
				       .window = order.window };
	if (!breakpoints_order(w->breakpoints, &order))
		return;
	entry->flags |= ENTRY_WATCHED;
	state->under_way++;
	state->longest += order.window == longest_ns;
	*vec_push(&w->watched) = d;
}

/* Processor time of this thread, in ns, which a busy machine does not lengthen. */
static uint64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Draws new blocks, unless it is too early for another pass: the last one took so long, or was just
 * now. */
static void draw_again(struct watches *w, struct process *p, struct watched_process *state)
{
	uint64_t now = ticks_wall_ns(), keep = state->pass * WATCH_SHARE, begun;

	if (now - state->drawn < keep)
		return;
	if (state->draw_count && now - state->drawn < candidates_ns)
		return;
	begun = processor_ns();
	state->draw_count = draw_blocks(p, &w->seed, state->draws);
	state->pass = processor_ns() - begun;
	state->drawn = now;
}

static void draw_of(struct watches *w, const struct output *output, struct process *p, uint64_t now)
{
	struct watched_process *state = state_of(w, p);

	if (!p->pid || p->gone || p->replaced || p->pending || p->said_end || state->never ||
	    now < state->not_before)
		return;
	if (state->under_way < BREAKPOINT_WORDS)
		draw_again(w, p, state);
	while (state->under_way < BREAKPOINT_WORDS && state->draw_count && can_pay(w, now))
		order(w, output, p, &state->draws[--state->draw_count]);
}

/* ---- called by the session ---- */

bool watches_on(struct watches **watches)
{
	struct watches *w = *watches;

	if (!w) {
		w = *watches = mem_zero(1, sizeof(*w));
		w->seed = UINT64_C(0x5eed);
		w->off = w->began = ticks_wall_ns();
	}
	w->breakpoints = breakpoints_start();
	w->error = w->breakpoints ? 0 : errno;
	if (w->error)
		return false;
	w->began += ticks_wall_ns() - w->off;
	w->ever = true;
	return true;
}

/* Drops the watches that have no result, as they had not begun. */
static void drop_unbegun(struct watches *w)
{
	for (size_t i = w->watched.count; i-- > 0;)
		if (!w->watched.at[i].over) {
			release(w, &w->watched.at[i]);
			drop(w, i);
		}
}

void watches_off(struct watches *w, struct output *output)
{

	breakpoints_stop(w->breakpoints);
	note_ends(w, output);
	take_results(w, output);
	drop_unbegun(w);
	breakpoints_destroy(w->breakpoints);
	w->breakpoints = NULL;
	w->off = ticks_wall_ns();
}

static void tell_refusal(struct watches *w, struct output *output)
{

	if (w->error)
		put_reason(output, 0, w->error);
	w->error = 0;
}

void watches_serve(struct watches *w, struct output *output, const struct people *people)
{
	uint64_t now = ticks_wall_ns();

	if (!w || output->ticks.foreign)
		return;
	tell_refusal(w, output);
	note_ends(w, output);
	if (w->breakpoints) {
		cancel_what_ended(w);
		take_results(w, output);
	}
	put_rows(w, output, false);
	if (!w->breakpoints)
		return;
	w->turn++;
	for (size_t i = 0; i < people->running.count; i++)
		draw_of(w, output, people->running.at[(i + w->turn) % people->running.count], now);
}

void watches_end(struct watches *w, struct output *output)
{

	if (!w)
		return;
	tell_refusal(w, output);
	if (!w->ever)
		return;
	note_ends(w, output);
	put_rows(w, output, true);
	OUTPUT_PUT(output, store_put_number, "access_watched", w->rows.count);
	OUTPUT_PUT(output, store_put_number, "access_cost_ns", w->paid);
}

/* Returns the type of the row's site and vtable; if there is none, the type of the site without a
 * vtable. */
static uint32_t type_of(const struct watched_row *r)
{
	uint32_t type = 0;

	for (const struct tally *t = r->process->stats.sites.at[r->site].stats; t; t = t->next) {
		if (t->vtable == r->row.vtable)
			return t->type;
		if (!t->vtable)
			type = t->type;
	}
	return type;
}

void watches_put_types(struct watches *w, struct output *output)
{

	for (size_t i = 0; w && i < w->rows.count; i++) {
		w->rows.at[i].row.type = type_of(&w->rows.at[i]);
		OUTPUT_PUT(output, store_put_access, &w->rows.at[i].row);
	}
}

void watches_destroy(struct watches *w)
{
	if (!w)
		return;
	if (w->breakpoints) { /* the session has failed before watches_off */
		breakpoints_stop(w->breakpoints);
		breakpoints_destroy(w->breakpoints);
	}
	free(w->watched.at);
	free(w->rows.at);
	free(w->processes);
	free(w);
}
