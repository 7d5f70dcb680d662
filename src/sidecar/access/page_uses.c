/* SPDX-License-Identifier: Apache-2.0 */
/* page_uses.c: see page_uses.h. */
#define _GNU_SOURCE
#include "page_uses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock_pair.h"
#include "referenced.h"

#define MS UINT64_C(1000000)

static const uint64_t retry_ns = 1000 * MS, credit_ns = 5 * MS;

enum { SHORT_ROUNDS = 2 /* before each long one */, TOLD_ERRORS = 4 };
static const uint64_t short_round[REFERENCED_READINGS] = { 100 * MS, 1000 * MS };
static const uint64_t long_round[REFERENCED_READINGS] = { 100 * MS, 1000 * MS, 3000 * MS,
							  10000 * MS };

struct page_uses_process {
	struct process *process; /* NULL: no round yet */
	bool under_way, never;   /* never: its marks may not be cleared */
	unsigned rounds;
	uint64_t began, paid, not_before; /* wall ns */
	int told[TOLD_ERRORS]; /* errors already noted */
};

struct page_uses {
	struct referenced *referenced; /* NULL: off, or failed with `error` */
	int error;
	bool ever; /* it was on at some time */
	uint64_t rows, paid;
	uint64_t off; /* wall ns of the last switching off; 0: never */
	struct page_uses_process *processes; /* by id - 1 */
	size_t process_room;
};

static struct page_uses_process *page_uses_of(struct page_uses *u, uint32_t process)
{
	u->processes = mem_reach(u->processes, &u->process_room, process - 1,
				 sizeof(*u->processes), 8);
	return &u->processes[process - 1];
}

/* ---- notes about missing data ---- */

static void note_missing(struct output *output, uint32_t process, int error)
{
	const char *reason =
		error == EACCES || error == EPERM
			? "the kernel does not let this user clear its page marks (clear_refs)"
		: error == ENOTSUP || error == ENOENT
			? "this kernel has no page marks that can be cleared and counted"
		: error == EAGAIN
			? "the kernel reclaims memory, and clears the page marks for that"
			: strerror(error);
	char *text = mem_format("touched pages are not known: %s", reason);

	OUTPUT_PUT(output, store_put_note, process, text);
	free(text);
}

static void take_failure(struct page_uses *u, struct output *output, uint32_t process, int error)
{
	struct page_uses_process *state = page_uses_of(u, process);

	if (error == ESRCH || error == ENODATA || error == ENOENT)
		return; /* the process has ended or called exec */
	state->never = error == EACCES || error == EPERM;
	for (int i = 0; i < TOLD_ERRORS; i++) {
		if (state->told[i] == error)
			return;
		if (state->told[i])
			continue;
		state->told[i] = error;
		note_missing(output, process, error);
		return;
	}
}

/* ---- readings ---- */

struct area_marks {
	const struct referenced_reading *reading;
	bool *held; /* an element per area: it has a live block */
	size_t last;
};

static void mark_area(void *context, const struct entry *entry)
{
	struct area_marks *m = context;
	const struct referenced_area *areas = m->reading->areas;
	size_t from = 0, to = m->reading->count;

	if (entry->address >= areas[m->last].start && entry->address < areas[m->last].end)
		return; /* already marked */
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (areas[middle].end <= entry->address)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == m->reading->count || areas[from].start > entry->address)
		return;
	m->last = from;
	m->held[from] = true;
}

static void put_areas(struct page_uses *u, struct output *output, struct process *p,
		      const struct referenced_reading *reading)
{
	struct area_marks marks = { .reading = reading, .last = reading->count };
	struct clock_pair clocks;

	clock_pair_read(&output->ticks, &clocks);
	marks.held = mem_zero(reading->count + 1, sizeof(*marks.held));
	if (reading->count)
		registry_each(&p->registry, mark_area, &marks);
	for (size_t i = 0; i < reading->count; i++) {
		const struct referenced_area *a = &reading->areas[i];
		struct store_page_use row = {
			.process = p->id,
			.start = a->start,
			.end = a->end,
			.from = ticks_ns(&output->ticks,
					 clock_pair_ticks(&output->ticks, &clocks, reading->from)),
			.until = ticks_ns(&output->ticks, clock_pair_ticks(&output->ticks, &clocks,
									   reading->until)),
			.pages = a->pages,
			.touched = a->touched,
		};

		if (!marks.held[i])
			continue;
		OUTPUT_PUT(output, store_put_page_use, &row);
		u->rows++;
	}
	free(marks.held);
}

static void take_readings(struct page_uses *u, struct output *output)
{
	struct referenced_reading reading;

	while (referenced_take(u->referenced, &reading)) {
		struct page_uses_process *state = page_uses_of(u, reading.process);

		state->paid += reading.cost;
		u->paid += reading.cost;
		if (reading.error)
			take_failure(u, output, reading.process, reading.error);
		else if (!reading.last && !state->process->settled)
			put_areas(u, output, state->process, &reading);
		if (reading.last) {
			state->under_way = false;
			state->not_before = ticks_wall_ns() + (reading.error ? retry_ns : 0);
		}
		referenced_drop(&reading);
	}
}

/* ---- rounds ---- */

static void next_round(struct page_uses *u, struct process *p, uint64_t now)
{
	struct page_uses_process *state = page_uses_of(u, p->id);
	struct referenced_order order = { .process = p->id, .pid = p->pid };
	bool is_long = state->rounds % (SHORT_ROUNDS + 1) == SHORT_ROUNDS;

	if (!p->pid || p->gone || p->replaced || p->pending || p->said_end || state->under_way ||
	    state->never || now < state->not_before)
		return;
	if (!state->process) {
		state->process = p;
		state->began = now;
	}
	if (state->paid > credit_ns + (now - state->began) / REFERENCED_SHARE)
		return;
	memcpy(order.readings, is_long ? long_round : short_round, sizeof(order.readings));
	if (!referenced_order(u->referenced, &order))
		return;
	state->under_way = true;
	state->rounds++;
}

bool page_uses_on(struct page_uses **uses)
{
	struct page_uses *u = *uses;

	if (!u)
		u = *uses = mem_zero(1, sizeof(*u));
	u->error = referenced_probe();
	if (!u->error)
		u->referenced = referenced_start();
	if (!u->error && !u->referenced)
		u->error = errno;
	if (u->error)
		return false;
	/* time without rounds does not pay for rounds */
	for (size_t i = 0; u->off && i < u->process_room; i++)
		u->processes[i].began += ticks_wall_ns() - u->off;
	u->ever = true;
	return true;
}

void page_uses_off(struct page_uses *u, struct output *output)
{

	referenced_stop(u->referenced);
	take_readings(u, output);
	for (size_t i = 0; i < u->process_room; i++)
		u->processes[i].under_way = false; /* orders that have not begun */
	referenced_destroy(u->referenced);
	u->referenced = NULL;
	u->off = ticks_wall_ns();
}

void page_uses_serve(struct page_uses *u, struct output *output, const struct people *people)
{
	uint64_t now = ticks_wall_ns();

	if (!u || !u->referenced || output->ticks.foreign)
		return;
	take_readings(u, output);
	for (size_t i = 0; i < people->running.count; i++)
		next_round(u, people->running.at[i], now);
}

void page_uses_end(struct page_uses *u, struct output *output)
{

	if (!u)
		return;
	if (u->error)
		note_missing(output, 0, u->error);
	if (!u->ever)
		return;
	OUTPUT_PUT(output, store_put_text, "access_pages", "clear_refs");
	OUTPUT_PUT(output, store_put_number, "access_pages_rows", u->rows);
	OUTPUT_PUT(output, store_put_number, "access_pages_cost_ns", u->paid);
}

void page_uses_destroy(struct page_uses *u)
{
	if (!u)
		return;
	if (u->referenced) { /* the session has failed before page_uses_off */
		referenced_stop(u->referenced);
		referenced_destroy(u->referenced);
	}
	free(u->processes);
	free(u);
}
