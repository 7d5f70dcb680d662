/* SPDX-License-Identifier: Apache-2.0 */
/* ending.c: see ending.h. */
#include "ending.h"

#include "../ring/ring_file.h"
#include "../state/session_stream.h"
#include "../vm/mappings.h"
#include "answers.h"

bool process_called_exec(const struct process *p)
{
	const struct shiny_process *from = &p->ring->processes[p->slot];

	return !p->closed &&
	       __atomic_load_n(&from->generation, __ATOMIC_RELAXED) == p->generation &&
	       __atomic_load_n(&from->exec, __ATOMIC_RELAXED) == 1;
}

static void tell_end(struct process *p, uint64_t time)
{
	if (p->ends)
		return;
	p->ends = true;
	for (struct process *heap = p; heap; heap = heap->above)
		total_ends(heap->stats.total, &heap->stats.live, time, p->replaced);
}

/* `time`: end in ticks, for a process that did not announce it; 0: the current time. */
void process_end_at(struct people *people, struct output *output, struct process *p, uint64_t time)
{
	if (p->gone)
		return;
	p->gone = true;
	answers_remove(people->answers, &p->ring->processes[p->slot]);
	p->replaced = p->replaced || process_called_exec(p);
	process_read_counters(p);
	if (p->said_end > ticks_latest(&output->ticks)) {
		p->ring->lies = true;
		p->said_end = 0;
	}
	p->end = p->said_end || output->ticks.foreign ? p->said_end
		 : time				      ? time
						      : ticks_now(&output->ticks);
	if (p->end < p->last)
		p->end = p->last;
	stream_reap(p->ring, p);
	tell_end(p, p->end);
}

void process_end(struct people *people, struct output *output, struct process *p)
{
	process_end_at(people, output, p, 0);
}

void process_look_for_ends(const struct people *people, struct output *output)
{
	for (size_t i = 0; i < people->running.count; i++) {
		struct process *p = people->running.at[i];
		const struct shiny_process *from = &p->ring->processes[p->slot];
		uint64_t end;

		if (p->gone || p->ends ||
		    __atomic_load_n(&from->generation, __ATOMIC_RELAXED) != p->generation)
			continue;
		end = __atomic_load_n(&from->exit_at, __ATOMIC_ACQUIRE); /* [slot] */
		if (end && end <= ticks_latest(&output->ticks))
			tell_end(p, end);
	}
}

/* Frees the process's slots for another one. */
static void free_slots(struct process *p)
{
	struct shiny_process *slot = &p->ring->processes[p->slot];
	uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE); /* [slot] */

	/* thread slots that it claimed and never used */
	for (uint32_t i = 0, used = ring_threads_used(p->ring); i < used; i++) {
		struct shiny_thread *t = &p->ring->threads[i];
		uint32_t thread_state = __atomic_load_n(&t->state, __ATOMIC_ACQUIRE); /* [slot] */

		if ((thread_state == SHINY_SLOT_LIVE || thread_state == SHINY_SLOT_DONE) &&
		    !p->ring->streams[i] &&
		    __atomic_load_n(&t->process_slot, __ATOMIC_RELAXED) == p->slot &&
		    __atomic_compare_exchange_n(&t->state, &thread_state, SHINY_SLOT_FREE, 0,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			shiny_given(p->ring->header, &p->ring->header->thread_hint, i); /* [slot] */
	}
	if (__atomic_load_n(&slot->generation, __ATOMIC_RELAXED) == p->generation &&
	    (state == SHINY_SLOT_LIVE || state == SHINY_SLOT_DONE) &&
	    __atomic_compare_exchange_n(&slot->state, &state, SHINY_SLOT_FREE, 0, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED)) /* [slot] */
		shiny_given(p->ring->header, &p->ring->header->process_hint, p->slot);
	if (p->ring->slots[p->slot] == p)
		p->ring->slots[p->slot] = NULL;
}

void process_free_slots(struct people *people)
{
	for (size_t i = 0; i < people->slots_due.count; i++)
		if (people->slots_due.at[i]->ring->header)
			free_slots(people->slots_due.at[i]);
	people->slots_due.count = 0;
}

void process_close(struct people *people, struct output *output, struct process *p)
{
	if (p->closed)
		return;
	process_end(people, output, p);
	process_read_counters(p);
	process_read_status(p);
	if (p->end < p->last)
		p->end = p->last;
	/* in case events followed its announced end */
	for (struct process *heap = p; heap; heap = heap->above)
		total_ends(heap->stats.total, &heap->stats.live, p->end, p->replaced);
	p->closed = true;
	p->closed_wall = ticks_wall_ns();
	for (size_t i = 0; i < people->running.count; i++)
		if (people->running.at[i] == p)
			people->running.at[i] = people->running.at[--people->running.count];
	*vec_push(&people->ended) = p;
	mappings_end(people->memory, output, p);
	*vec_push(&people->slots_due) = p;
	for (struct process *heap = p; heap; heap = heap->above)
		output_put_process(output, heap);
}
