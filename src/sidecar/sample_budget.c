/* SPDX-License-Identifier: Apache-2.0 */
/* sample_budget.c: see sample_budget.h. */
#include "sample_budget.h"

#include <time.h>

#include <shiny/wire/sample_weight.h>

#include "state/session.h"

#define PERIOD (500 * UINT64_C(1000000)) /* ns */
enum { SAMPLE_RECORD_NS = 1000 };

static uint64_t clock_of(clockid_t clock)
{
	struct timespec t;

	return clock_gettime(clock, &t)
		       ? 0
		       : (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Returns the processor time of the programs that run, ns. That of one that has ended is missing:
 * the sum may be less than before. */
static uint64_t program_time(const struct people *people)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < people->running.count; i++) {
		const struct process *p = people->running.at[i];
		clockid_t clock;

		if (p->pid && !p->within && !clock_getcpuclockid((pid_t)p->pid, &clock))
			sum += clock_of(clock);
	}
	return sum;
}

/* Returns the cost in parts of the budget; negative: nothing has run. */
static double compare(int64_t budget, const struct sample_costs *before,
		      const struct sample_costs *now)
{
	uint64_t program = now->program > before->program ? now->program - before->program : 0;
	double cost = (double)(now->own - before->own) +
		      (double)(now->events - before->events) * SAMPLE_RECORD_NS;

	if (budget < 0)
		return (double)(now->blocks - before->blocks) * 1e9 /
		       (double)(now->wall - before->wall) / (double)-budget;
	return program ? cost / ((double)program * (double)budget / 1e6) : -1;
}

/* Tells the rings the level. Returns their mean of level 0; 0: there is none. */
static uint64_t tell_level(struct rings *rings, uint32_t level)
{
	uint64_t first = 0;

	for (size_t i = 0; i < rings->present.count; i++) {
		struct ring_file *ring = rings->present.at[i];

		__atomic_store_n(&ring->header->sample_level, level, __ATOMIC_RELAXED); /* [ctl] */
		if (ring->sample)
			first = ring->sample;
	}
	return first;
}

static void set_level(struct session *session, uint64_t first, uint32_t level)
{
	struct output *output = &session->output;

	session->sample.level = level;
	OUTPUT_PUT(output, store_put_sample_rate,
		   &(struct store_sample_rate){
			   .time = ticks_ns(&output->ticks, ticks_now(&output->ticks)),
			   .mean = shiny_sample_mean(first, level) });
}

void sample_budget_follow(struct session *session)
{
	struct sample_costs *b = &session->sample, now = *b;
	uint32_t level = b->level;
	uint64_t first;
	double cost;

	if (!session->options->budget || session->output.ticks.foreign)
		return;
	first = tell_level(&session->rings, level);
	now.wall = ticks_wall_ns();
	if (!first || now.wall - b->wall < PERIOD)
		return;
	now.program = program_time(&session->people);
	now.own = clock_of(CLOCK_PROCESS_CPUTIME_ID);
	now.events = session->output.total_events;
	now.blocks = session->output.allocs;
	cost = b->wall ? compare(session->options->budget, b, &now) : -1;
	*b = now;
	if (cost > 1 && level < SHINY_LEVELS - 1)
		level += 1 + (cost > 2 && level < SHINY_LEVELS - 2);
	else if (cost >= 0 && cost < 0.375 && level > 0)
		level--;
	if (level != b->level)
		set_level(session, first, level);
}
