/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <string.h>

#include <shiny/wire/wire.h>

#include "../../../src/base/mem.h"
#include "books.h"
#include "plan.h"
#include "session.h"

enum {
	BURST = 128,
	NEAR = 65536,
	FAR = 4096,
	STRAY_EVERY = 100003,
	WRONG_EVERY = 10007,
	VPTR_AFTER = 8,
	NONE = 0
};

struct thread {
	uint8_t process;
	uint64_t clock; /* its events so far */
	uint32_t near[NEAR], far[FAR], ready; /* lists of blocks that end then */
	uint32_t routine, step, young[VPTR_AFTER], young_at;
};

struct program program;
const uint8_t thread_process[THREADS + 1] = { 0, 1, 1, 1, 1, 3, 3, 3, 4, 2, 2 };

static const uint8_t thread_share[THREADS + 1] = { 0, 24, 12, 8, 6, 12, 4, 4, 15, 10, 5 };
static struct thread *threads; /* ids from 1 */
static VEC(struct block) blocks;
static uint32_t spare; /* list of unused blocks */

static void tell(struct event event)
{
	event.time = program.clock_ns += chance_about(200);
	program.events++;
	session_put_event(&event);
}

/* ---- addresses ---- */

static unsigned class_of(uint32_t size)
{
	uint32_t granules = (size + 8 + 15) / 16, octave;

	if (granules <= 64)
		return granules < 2 ? 2 : granules;
	octave = 31 - (uint32_t)__builtin_clz(granules);
	return 64 + (octave - 6) * 4 + (granules >> (octave - 2) & 3) + 1;
}

static uint64_t class_bytes(unsigned class)
{
	uint32_t octave;

	if (class <= 64)
		return class * 16;
	octave = (class - 65) / 4 + 6;
	return ((UINT64_C(1) << octave) + ((uint64_t)((class - 65) % 4 + 1) << (octave - 2))) * 16;
}

static uint64_t take_address(struct process *p, uint32_t size)
{
	unsigned class = class_of(size);
	uint64_t address;

	if (p->freed[class].count)
		return p->freed[class].at[--p->freed[class].count];
	address = p->fresh;
	p->fresh += class_bytes(class);
	return address;
}

static void give_back(struct process *p, uint64_t address, uint32_t size)
{
	unsigned class = class_of(size);

	*vec_push(&p->freed[class]) = address;
}

/* ---- lives ---- */

static uint32_t new_block(void)
{
	uint32_t n = spare;

	if (n) {
		spare = blocks.at[n].next;
		return n;
	}
	if (!blocks.count)
		memset(vec_push(&blocks), 0, sizeof(*blocks.at)); /* 0 ends lists */
	vec_push(&blocks);
	return (uint32_t)blocks.count - 1;
}

/* Block `n` ends after `delay` more events of thread `t`. */
static void schedule(struct thread *t, uint32_t n, uint64_t delay)
{
	uint64_t when = t->clock + delay;
	uint32_t *list;

	if (when / NEAR > t->clock / NEAR + FAR - 1)
		when = (t->clock / NEAR + FAR - 1) * NEAR;
	list = when / NEAR == t->clock / NEAR ? &t->near[when % NEAR] : &t->far[when / NEAR % FAR];
	/* which event of a far list's it is need not be exact */
	blocks.at[n].next = *list;
	*list = n;
}

static void decide_end(uint32_t thread, uint32_t n)
{
	const struct plan *plan = &plans[blocks.at[n].stack];
	struct thread *t = &threads[thread];
	double mean = plan->stays == FEW_EVENTS	   ? 12
		      : plan->stays == SOME_EVENTS ? 5000
						   : (double)program.wanted / 40;

	if (plan->stays == OFTEN_FOR_EVER && !chance_one_in(4))
		return;
	if (chance_one_in(10)) {
		uint32_t other = 1 + chance_below(THREADS);

		if (thread_process[other] == t->process)
			t = &threads[other];
	}
	schedule(t, n, plan->stays == FEW_EVENTS && chance_one_in(5) ? 1 : chance_about(mean));
}

static void allocate(uint32_t thread)
{
	struct thread *t = &threads[thread];
	struct process *p = &program.processes[t->process];
	uint32_t stack = steps[routines[t->routine].first + t->step], n = new_block();
	const struct plan *plan = &plans[stack];
	struct block *b = &blocks.at[n];

	*b = (struct block){ .stack = stack, .size = plan->varies ? 1 + (uint32_t)chance_about(plan->size) : plan->size, .process = t->process,
			     .thread = (uint8_t)thread, .number = ++p->births, .live = true };
	b->address = take_address(p, b->size);
	tell((struct event){ .kind = EVENT_ALLOC,
			     .process = t->process,
			     .thread = thread,
			     .stack = stack,
			     .address = b->address,
			     .size = b->size,
			     .api = plan->api });
	b->birth = program.clock_ns;
	books_began(b);
	t->young[t->young_at] = n;
	t->young_at = (t->young_at + 1) % VPTR_AFTER;
	decide_end(thread, n);
	if (++t->step == routines[t->routine].count) {
		t->routine = chance_one_in(4)
				     ? chance_below(1 + chance_below(1 + chance_below(ROUTINES)))
				     : routines[t->routine].next;
		t->step = 0;
	}
}

static void grow(uint32_t thread, uint32_t n)
{
	struct block *b = &blocks.at[n], old = *b;
	struct process *p = &program.processes[b->process];

	p->births++;
	b->size = b->size * 2;
	b->steps++;
	if (class_of(b->size) != class_of(old.size)) {
		b->address = take_address(p, b->size);
		give_back(p, old.address, old.size);
	}
	tell((struct event){ .kind = EVENT_REALLOC,
			     .process = b->process,
			     .thread = thread,
			     .stack = b->stack,
			     .address = b->address,
			     .old_address = old.address,
			     .size = b->size,
			     .api = SHINY_API_REALLOC });
	books_ended(&old, (uint8_t)thread, true);
	b->number = p->births;
	b->birth = program.clock_ns;
	b->thread = (uint8_t)thread;
	b->inherited = false;
	program.reallocs++;
	books_began(b);
	schedule(&threads[thread], n, chance_about(40));
}

static void end(uint32_t thread, uint32_t n)
{
	struct block *b = &blocks.at[n];
	const struct plan *plan = &plans[b->stack];
	bool wrong = plan->api == SHINY_API_NEW_ARRAY && program.frees % WRONG_EVERY == 0;

	if (plan->grows && b->steps < 6 && !b->inherited) {
		grow(thread, n);
		return;
	}
	tell((struct event){ .kind = EVENT_FREE,
			     .process = b->process,
			     .thread = thread,
			     .stack = STACKS + 1 + threads[thread].routine % FREERS,
			     .address = b->address,
			     .api = wrong ? SHINY_API_FREE : plan->freed,
			     .size = !wrong && plan->freed == SHINY_API_DELETE ? b->size : 0 });
	program.frees++;
	program.wrong_family += wrong;
	books_ended(b, (uint8_t)thread, false);
	give_back(&program.processes[b->process], b->address, b->size);
	b->live = false;
	b->next = spare;
	spare = n;
}

/* The young block that is VPTR_AFTER allocations old, if it has a vptr and lives. */
static bool read_vptr(uint32_t thread)
{
	struct thread *t = &threads[thread];
	uint32_t n = t->young[t->young_at];
	struct block *b = &blocks.at[n];

	t->young[t->young_at] = NONE;
	if (!n || !b->live || b->vptr || b->inherited || b->process != t->process ||
	    plans[b->stack].type % VPTR_EVERY)
		return false;
	tell((struct event){ .kind = EVENT_VPTR,
			     .process = t->process,
			     .thread = thread,
			     .address = b->address,
			     .vtable = plans[b->stack].type,
			     .api = SHINY_VPTR_SETTLED });
	b->vptr = true;
	program.vptrs++;
	return true;
}

static void stray(uint32_t thread)
{
	tell((struct event){ .kind = EVENT_FREE,
			     .process = threads[thread].process,
			     .thread = thread,
			     .stack = STACKS + 1,
			     .address = UINT64_C(0x10000) + 16 * program.strays++,
			     .api = SHINY_API_FREE });
}

static void step(uint32_t thread)
{
	struct thread *t = &threads[thread];
	uint32_t n, list;

	t->clock++;
	if (t->clock % NEAR == 0) {
		list = t->far[t->clock / NEAR % FAR];
		t->far[t->clock / NEAR % FAR] = NONE;
		for (; list; list = n) {
			n = blocks.at[list].next;
			schedule(t, list, chance_below(NEAR));
		}
	}
	for (list = t->near[t->clock % NEAR]; list; list = n) {
		n = blocks.at[list].next;
		blocks.at[list].next = t->ready;
		t->ready = list;
	}
	t->near[t->clock % NEAR] = NONE;
	if (program.events % STRAY_EVERY == STRAY_EVERY - 1) {
		stray(thread);
	} else if (!read_vptr(thread)) {
		n = t->ready;
		if (n) {
			t->ready = blocks.at[n].next;
			end(thread, n);
		} else {
			allocate(thread);
		}
	}
}

/* Process 2 begins with what process 1 holds, and frees an eighth of it in time. */
static void fork_now(void)
{
	size_t count = blocks.count;
	uint64_t births = program.processes[2].births;

	program.processes[2] = program.processes[1];
	program.processes[2].births = births;
	for (unsigned c = 0; c < CLASSES; c++) {
		size_t freed = program.processes[1].freed[c].count;

		program.processes[2].freed[c].at =
			mem_zero(program.processes[1].freed[c].room + 1, sizeof(uint64_t));
		if (freed)
			memcpy(program.processes[2].freed[c].at, program.processes[1].freed[c].at,
			       freed * sizeof(uint64_t));
	}
	program.processes[2].forked = program.clock_ns;
	program.clock_ns += 1000;
	for (size_t i = 1; i < count; i++) {
		uint32_t n;

		if (!blocks.at[i].live || blocks.at[i].process != 1)
			continue;
		n = new_block();
		blocks.at[n] = blocks.at[i];
		blocks.at[n].process = 2;
		blocks.at[n].inherited = true;
		blocks.at[n].steps = 0;
		program.inherited++;
		books_live(&blocks.at[n], 1);
		if (chance_one_in(8))
			schedule(&threads[9 + chance_below(2)], n,
				 chance_about((double)program.wanted / 100));
	}
}

void program_run(uint64_t wanted)
{
	uint32_t thread = 1;

	program.wanted = wanted;
	threads = mem_zero(THREADS + 1, sizeof(*threads));
	for (uint32_t p = 1; p <= PROCESSES; p++)
		program.processes[p].fresh = UINT64_C(0x550000000000) + p * UINT64_C(0x10000000000);
	for (uint32_t t = 1; t <= THREADS; t++)
		threads[t].process = thread_process[t];
	for (uint64_t left = 0; program.events < program.wanted; left--) {
		if (!left) {
			int chance;

			if (!program.processes[2].forked && program.events >= program.wanted / 2)
				fork_now();
			do {
				chance = (int)chance_below(100);
				for (thread = 1; (chance -= thread_share[thread]) >= 0; thread++)
					;
			} while (thread_process[thread] == 2 && !program.processes[2].forked);
			left = chance_about(BURST);
		}
		step(thread);
	}
	for (size_t i = 1; i < blocks.count; i++)
		if (blocks.at[i].live)
			books_stayed(&blocks.at[i]);
}
