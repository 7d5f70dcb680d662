/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_make: writes a session of any number of events whose every number is known, and prints them: for tests of what reading a large one
 * costs, and whether it is still right.
 * Usage: session_make FILE EVENTS. Lines: "total KEY VALUE"; "type NAME" and "site NAME", each with blocks, bytes, live, live_bytes, destroyed,
 * persistent, elsewhere, temporary as `shinyctl types`, `sites` and `lifetimes` call them.
 *
 * Runs: CLI, in tests. Allocates: about 400 bytes a live block and 150 MB; only the file grows with EVENTS. Threads: one.
 *
 * Ten threads of four processes, one of which is forked by another in the middle, take turns. Each runs routines, which are fixed sequences of
 * allocations, and three times of four are followed by the same one; 10,000 call sites make 2,000 types. A site's blocks live for a few events
 * of their thread, for thousands, for a fortieth of all events on the average, or for ever, so that about a hundredth as many blocks are live as
 * there are events. Some are buffers that grow by realloc; a tenth are freed by another thread. The allocator hands out the address that was
 * freed last in a size class. All choices come from one generator with a fixed seed; as what happens next is drawn, it is harder to predict,
 * and so to pack and to read, than what programs do.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shiny/wire.h>

#include "../../src/base/mem.h"
#include "../../src/store/store.h"

enum {
	PROCESSES = 4, THREADS = 10, STACKS = 10000, TYPES = 2000, FREERS = 2000, ROUTINES = 3000, CLASSES = 160,
	BATCH = 4096, BURST = 128, NEAR = 65536, FAR = 4096, BINS = STORE_LIFETIME_BINS, BUCKETS = 400,
	STRAY_EVERY = 100003, WRONG_EVERY = 10007, VPTR_AFTER = 8, NONE = 0,
};

enum stays { FEW_EVENTS, SOME_EVENTS, MANY_EVENTS, OFTEN_FOR_EVER };

struct plan { /* of a call site */
	uint32_t type, size;
	enum stays stays;
	uint8_t api, freed;
	bool varies, grows, untyped; /* untyped: only a vptr tells its blocks' type */
};

struct block {
	uint64_t address, birth, number;
	uint32_t size, stack, next; /* next: in a list */
	uint8_t process, thread, steps;
	bool vptr, inherited, live;
};

struct process {
	struct { uint64_t *at; size_t count, room; } freed[CLASSES];
	uint64_t fresh, births, forked;
	uint64_t live, live_bytes;
};

struct thread {
	uint8_t process;
	uint64_t clock; /* its events so far */
	uint32_t near[NEAR], far[FAR], ready; /* lists of blocks that end then */
	uint32_t routine, step, young[VPTR_AFTER], young_at;
};

struct fate { uint64_t destroyed, persistent, elsewhere, temporary; };
struct bin { uint64_t bytes, count; };
struct routine { uint32_t first, count, next; };

static struct plan plans[STACKS + 1];
static struct routine routines[ROUTINES];
static uint32_t steps[ROUTINES * 8];
static struct process processes[PROCESSES + 1];
static struct thread *threads; /* ids from 1 */
static const uint8_t thread_process[THREADS + 1] = { 0, 1, 1, 1, 1, 3, 3, 3, 4, 2, 2 }, thread_share[THREADS + 1] = { 0, 24, 12, 8, 6, 12, 4, 4, 15, 10, 5 };
static VEC(struct block) blocks;
static uint32_t spare; /* list of unused blocks */
static struct store_stat (*stats)[STACKS + 1][2];
static struct bin (*bins)[STACKS + 1][2][BINS];
static struct store_peak (*peaks)[STACKS + 1];
static struct { uint64_t blocks, bytes; } (*now_live)[STACKS + 1];
static struct store_bucket *buckets[PROCESSES + 1];
static struct fate by_type[TYPES + 1], by_site[STACKS + 1];
static struct store *store;
static struct event waiting[BATCH];
static size_t waiting_count;
static uint64_t clock_ns, events, wanted, total_frees, reallocs, inherited, strays, wrong_family, vptrs, live_now, live_most, bucket_ns;
static uint64_t state = 20261121;

static void must(struct shiny_err *err)
{
	if (!err)
		return;
	fprintf(stderr, "session_make: %s\n", err->message);
	exit(4);
}

/* ---- chance ---- */

/* S. Vigna's splitmix64 */
static uint64_t draw(void)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint32_t below(uint32_t limit)
{
	return (uint32_t)((draw() >> 32) * limit >> 32);
}

static bool one_in(uint32_t n)
{
	return below(n) == 0;
}

/* Exponentially distributed, at least 1. */
static uint64_t about(double mean)
{
	return 1 + (uint64_t)(-log((double)((draw() >> 11) + 1) / (double)(UINT64_C(1) << 53)) * mean);
}

static void make_plans(void)
{
	static const struct { uint8_t made, freed; } calls[] = {
		{ SHINY_API_NEW, SHINY_API_DELETE }, { SHINY_API_MALLOC, SHINY_API_FREE }, { SHINY_API_NEW_ARRAY, SHINY_API_DELETE_ARRAY },
		{ SHINY_API_CALLOC, SHINY_API_FREE },
	};
	uint32_t used = 0;

	for (uint32_t i = 1; i <= STACKS; i++) {
		struct plan *p = &plans[i];
		uint32_t kind = below(4), chance = below(100);

		p->type = 1 + (i < TYPES ? i : below(TYPES)) % TYPES;
		p->varies = p->type % 10 >= 7;
		p->size = 8 * (1 + (uint32_t)about(8 + p->type % 16));
		p->stays = chance < 60 ? FEW_EVENTS : chance < 90 ? SOME_EVENTS : chance < 98 ? MANY_EVENTS : OFTEN_FOR_EVER;
		p->grows = p->varies && one_in(6);
		p->api = p->grows ? SHINY_API_MALLOC : calls[kind].made;
		p->freed = p->grows ? SHINY_API_FREE : calls[kind].freed;
		p->untyped = p->type % 4 == 0 && one_in(3);
	}
	for (uint32_t i = 0; i < ROUTINES; i++) {
		routines[i] = (struct routine){ used, 1 + below(8), below(1 + below(ROUTINES)) };
		for (uint32_t k = 0; k < routines[i].count; k++)
			steps[used + k] = 1 + (used + k < STACKS ? used + k : below(STACKS)) % STACKS;
		used += routines[i].count;
	}
}

/* ---- the session's tables ---- */

static void put_names(void)
{
	char function[32], file[32];

	must(store_put_number(store, "with_events", 1));
	must(store_put_text(store, "version", "made"));
	must(store_put_text(store, "command", "made"));
	must(store_put_module(store, &(struct store_module){ .id = 1, .path = "/opt/made/bin/made", .build_id = "", .symbols = "dwarf" }));
	for (uint32_t i = 1; i <= STACKS + FREERS; i++) {
		snprintf(function, sizeof function, i <= STACKS ? "make_%" PRIu32 : "drop_%" PRIu32, i);
		snprintf(file, sizeof file, "/src/part%" PRIu32 ".cc", i % 97);
		must(store_put_frame(store, i, 1, UINT64_C(0x1000) + 16 * i, &(struct store_frame_line){ function, file, i, false }, 1));
	}
	for (uint32_t i = 1; i <= STACKS + FREERS; i++) {
		uint32_t frames[] = { i, 1 + i / 10, 1 + i / 100, 1 };

		must(store_put_stack(store, i, frames, 4));
	}
	for (uint32_t i = 1; i <= TYPES; i++) {
		snprintf(function, sizeof function, "made::Type%" PRIu32, i);
		must(store_put_type(store, &(struct store_type){ .id = i, .name = function, .form = "object", .rule = i % 4 ? "variable" : "vptr",
			.confidence = "high", .source = i % 4 ? "site" : "symbol" }));
		if (i % 4 == 0)
			must(store_put_vtable(store, &(struct store_vtable){ .id = i, .module = 1, .vaddr = 0x900000 + 64 * i, .source = "symbol",
				.type = function }));
	}
}

static void put_process(uint32_t id, uint64_t end)
{
	char role[16];

	snprintf(role, sizeof role, "part-%" PRIu32, id);
	must(store_put_process(store, &(struct store_process){ .id = id, .parent = id == 2 ? 1 : 0, .pid = 1000 + id, .name = "made", .role = role,
		.executable = "/opt/made/bin/made", .command = "made", .start = processes[id].forked, .end = end, .ending = "exited",
		.attach = "symbols", .attach_text = "made up", .forked = processes[id].forked, .status = 0 }));
}

static uint32_t type_of(uint32_t stack, bool vptr)
{
	return plans[stack].untyped && !vptr ? 0 : plans[stack].type;
}

static void put_numbers(void)
{
	for (uint32_t p = 1; p <= PROCESSES; p++) {
		for (uint32_t s = 1; s <= STACKS; s++) {
			for (unsigned v = 0; v < 2; v++) {
				struct store_stat *row = &stats[p][s][v];

				if (!row->allocs && !row->inherited)
					continue;
				row->process = p;
				row->stack = s;
				row->vtable = v ? plans[s].type : 0;
				row->type = type_of(s, v);
				row->api = plans[s].api;
				row->size_step = row->min_size != row->max_size;
				must(store_put_stat(store, row));
				for (unsigned b = 0; b < BINS; b++)
					if (bins[p][s][v][b].count)
						must(store_put_lifetime(store, &(struct store_lifetime){ p, s, row->type, (uint8_t)b, false,
							bins[p][s][v][b].count, bins[p][s][v][b].bytes }));
			}
			if (peaks[p][s].peak_blocks) {
				peaks[p][s].process = p;
				peaks[p][s].stack = s;
				must(store_put_peak(store, &peaks[p][s]));
			}
		}
		for (uint32_t b = 0; b <= BUCKETS; b++)
			if (buckets[p][b].length)
				must(store_put_bucket(store, &buckets[p][b]));
		put_process(p, clock_ns);
	}
	for (uint32_t t = 1; t <= THREADS; t++)
		must(store_put_thread(store, &(struct store_thread){ .id = t, .process = thread_process[t], .tid = 2000 + t, .name = "made", .end = clock_ns }));
	must(store_put_number(store, "duration_ns", clock_ns));
	must(store_put_number(store, "records", events));
}

/* ---- events ---- */

static void tell(struct event event)
{
	event.time = clock_ns += about(200);
	waiting[waiting_count++] = event;
	events++;
	if (waiting_count == BATCH) {
		must(store_put_events(store, waiting, BATCH));
		waiting_count = 0;
	}
}

static struct store_bucket *bucket_of(uint32_t process)
{
	uint64_t i = clock_ns / bucket_ns < BUCKETS ? clock_ns / bucket_ns : BUCKETS;
	struct store_bucket *b = &buckets[process][i];

	b->process = process;
	b->start = i * bucket_ns;
	b->length = bucket_ns;
	b->live_blocks = processes[process].live;
	b->live_bytes = processes[process].live_bytes;
	return b;
}

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

/* ---- accounts ---- */

static void count_live(const struct block *b, int sign)
{
	struct process *p = &processes[b->process];
	struct store_peak *peak = &peaks[b->process][b->stack];

	p->live += (uint64_t)sign;
	p->live_bytes += (uint64_t)((int64_t)b->size * sign);
	live_now += (uint64_t)sign;
	if (live_now > live_most)
		live_most = live_now;
	now_live[b->process][b->stack].blocks += (uint64_t)sign;
	now_live[b->process][b->stack].bytes += (uint64_t)((int64_t)b->size * sign);
	if (now_live[b->process][b->stack].blocks > peak->peak_blocks)
		peak->peak_blocks = now_live[b->process][b->stack].blocks;
	if (now_live[b->process][b->stack].bytes > peak->peak_bytes) {
		peak->peak_bytes = now_live[b->process][b->stack].bytes;
		peak->peak_time = clock_ns;
	}
}

static void count_sizes(struct store_stat *row, uint32_t size)
{
	if (!row->max_size || size < row->min_size)
		row->min_size = size;
	if (size > row->max_size)
		row->max_size = size;
}

static void count_began(const struct block *b)
{
	struct store_bucket *bucket;

	count_live(b, 1);
	bucket = bucket_of(b->process);
	bucket->allocs++;
	bucket->alloc_bytes += b->size;
}

/* A block is counted in its row when it ends, or at the end: only then it is known whether its vptr was seen. */
static struct store_stat *count_row(const struct block *b)
{
	struct store_stat *row = &stats[b->process][b->stack][b->vptr];

	count_sizes(row, b->size);
	if (b->inherited) {
		row->inherited++;
		row->inherited_bytes += b->size;
	} else {
		row->allocs++;
		row->bytes += b->size;
		row->reallocs += b->steps > 0;
	}
	return row;
}

static void count_ended(const struct block *b, uint8_t by, bool by_realloc)
{
	uint64_t age = clock_ns - b->birth;
	struct bin *bin = &bins[b->process][b->stack][b->vptr][age ? 63 - __builtin_clzll(age) : 0];
	struct fate *fates[] = { &by_type[type_of(b->stack, b->vptr)], &by_site[b->stack] };
	struct store_bucket *bucket;

	count_row(b)->frees++;
	count_live(b, -1);
	bucket = bucket_of(b->process);
	bucket->frees++;
	bucket->free_bytes += b->size;
	if (b->inherited)
		return;
	bin->count++;
	bin->bytes += b->size;
	for (int i = 0; i < 2; i++) {
		fates[i]->destroyed++;
		fates[i]->elsewhere += by != b->thread;
		fates[i]->temporary += processes[b->process].births == b->number + by_realloc;
	}
}

static void count_stayed(const struct block *b)
{
	struct store_stat *row = count_row(b);

	row->live++;
	row->live_bytes += b->size;
	if (b->inherited)
		return;
	by_type[type_of(b->stack, b->vptr)].persistent++;
	by_site[b->stack].persistent++;
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
		memset(vec_push(&blocks), 0, sizeof *blocks.at); /* 0 ends lists */
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
	double mean = plan->stays == FEW_EVENTS ? 12 : plan->stays == SOME_EVENTS ? 5000 : (double)wanted / 40;

	if (plan->stays == OFTEN_FOR_EVER && !one_in(4))
		return;
	if (one_in(10)) {
		uint32_t other = 1 + below(THREADS);

		if (thread_process[other] == t->process)
			t = &threads[other];
	}
	schedule(t, n, plan->stays == FEW_EVENTS && one_in(5) ? 1 : about(mean));
}

static void allocate(uint32_t thread)
{
	struct thread *t = &threads[thread];
	struct process *p = &processes[t->process];
	uint32_t stack = steps[routines[t->routine].first + t->step], n = new_block();
	const struct plan *plan = &plans[stack];
	struct block *b = &blocks.at[n];

	*b = (struct block){ .stack = stack, .size = plan->varies ? 1 + (uint32_t)about(plan->size) : plan->size, .process = t->process,
			     .thread = (uint8_t)thread, .number = ++p->births, .live = true };
	b->address = take_address(p, b->size);
	tell((struct event){ .kind = EVENT_ALLOC, .process = t->process, .thread = thread, .stack = stack, .address = b->address, .size = b->size,
			     .api = plan->api });
	b->birth = clock_ns;
	count_began(b);
	t->young[t->young_at] = n;
	t->young_at = (t->young_at + 1) % VPTR_AFTER;
	decide_end(thread, n);
	if (++t->step == routines[t->routine].count) {
		t->routine = one_in(4) ? below(1 + below(1 + below(ROUTINES))) : routines[t->routine].next;
		t->step = 0;
	}
}

static void grow(uint32_t thread, uint32_t n)
{
	struct block *b = &blocks.at[n], old = *b;
	struct process *p = &processes[b->process];

	p->births++;
	b->size = b->size * 2;
	b->steps++;
	if (class_of(b->size) != class_of(old.size)) {
		b->address = take_address(p, b->size);
		give_back(p, old.address, old.size);
	}
	tell((struct event){ .kind = EVENT_REALLOC, .process = b->process, .thread = thread, .stack = b->stack, .address = b->address,
			     .old_address = old.address, .size = b->size, .api = SHINY_API_REALLOC });
	count_ended(&old, (uint8_t)thread, true);
	b->number = p->births;
	b->birth = clock_ns;
	b->thread = (uint8_t)thread;
	b->inherited = false;
	reallocs++;
	count_began(b);
	schedule(&threads[thread], n, about(40));
}

static void end(uint32_t thread, uint32_t n)
{
	struct block *b = &blocks.at[n];
	const struct plan *plan = &plans[b->stack];
	bool wrong = plan->api == SHINY_API_NEW_ARRAY && total_frees % WRONG_EVERY == 0;

	if (plan->grows && b->steps < 6 && !b->inherited) {
		grow(thread, n);
		return;
	}
	tell((struct event){ .kind = EVENT_FREE, .process = b->process, .thread = thread, .stack = STACKS + 1 + threads[thread].routine % FREERS, .address = b->address,
			     .api = wrong ? SHINY_API_FREE : plan->freed, .size = !wrong && plan->freed == SHINY_API_DELETE ? b->size : 0 });
	total_frees++;
	wrong_family += wrong;
	count_ended(b, (uint8_t)thread, false);
	give_back(&processes[b->process], b->address, b->size);
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
	if (!n || !b->live || b->vptr || b->inherited || b->process != t->process || plans[b->stack].type % 4)
		return false;
	tell((struct event){ .kind = EVENT_VPTR, .process = t->process, .thread = thread, .address = b->address, .vtable = plans[b->stack].type,
			     .api = SHINY_VPTR_SETTLED });
	b->vptr = true;
	vptrs++;
	return true;
}

static void stray(uint32_t thread)
{
	tell((struct event){ .kind = EVENT_FREE, .process = threads[thread].process, .thread = thread, .stack = STACKS + 1,
			     .address = UINT64_C(0x10000) + 16 * strays++, .api = SHINY_API_FREE });
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
			schedule(t, list, below(NEAR));
		}
	}
	for (list = t->near[t->clock % NEAR]; list; list = n) {
		n = blocks.at[list].next;
		blocks.at[list].next = t->ready;
		t->ready = list;
	}
	t->near[t->clock % NEAR] = NONE;
	if (events % STRAY_EVERY == STRAY_EVERY - 1) {
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
	uint64_t births = processes[2].births;

	processes[2] = processes[1];
	processes[2].births = births;
	processes[2].live = processes[2].live_bytes = 0;
	for (unsigned c = 0; c < CLASSES; c++) {
		processes[2].freed[c].at = mem_zero(processes[1].freed[c].room + 1, sizeof(uint64_t));
		memcpy(processes[2].freed[c].at, processes[1].freed[c].at, processes[1].freed[c].count * sizeof(uint64_t));
	}
	processes[2].forked = clock_ns;
	clock_ns += 1000;
	for (size_t i = 1; i < count; i++) {
		uint32_t n;

		if (!blocks.at[i].live || blocks.at[i].process != 1)
			continue;
		n = new_block();
		blocks.at[n] = blocks.at[i];
		blocks.at[n].process = 2;
		blocks.at[n].inherited = true;
		blocks.at[n].steps = 0;
		inherited++;
		count_live(&blocks.at[n], 1);
		if (one_in(8))
			schedule(&threads[9 + below(2)], n, about((double)wanted / 100));
	}
}

static void run(void)
{
	uint32_t thread = 1;

	for (uint64_t left = 0; events < wanted; left--) {
		if (!left) {
			int chance;

			if (!processes[2].forked && events >= wanted / 2)
				fork_now();
			do {
				chance = (int)below(100);
				for (thread = 1; (chance -= thread_share[thread]) >= 0; thread++)
					;
			} while (thread_process[thread] == 2 && !processes[2].forked);
			left = about(BURST);
		}
		step(thread);
	}
	must(store_put_events(store, waiting, waiting_count));
}

static void print(const char *kind, const char *name, const struct store_stat *sum, const struct fate *fate)
{
	printf("%s %s %lu %lu %lu %lu %lu %lu %lu %lu\n", kind, name, sum->allocs, sum->bytes, sum->live, sum->live_bytes, fate->destroyed,
	       fate->persistent, fate->elsewhere, fate->temporary);
}

static void add(struct store_stat *to, const struct store_stat *row)
{
	to->allocs += row->allocs;
	to->bytes += row->bytes;
	to->frees += row->frees;
	to->live += row->live;
	to->live_bytes += row->live_bytes;
}

static void print_all(void)
{
	static struct store_stat types[TYPES + 1], all;
	char name[32];

	for (uint32_t s = 1; s <= STACKS; s++) {
		struct store_stat site = { 0 };

		for (uint32_t p = 1; p <= PROCESSES; p++)
			for (unsigned v = 0; v < 2; v++) {
				add(&site, &stats[p][s][v]);
				add(&types[type_of(s, v)], &stats[p][s][v]);
			}
		add(&all, &site);
		snprintf(name, sizeof name, "make_%" PRIu32, s);
		if (site.allocs)
			print("site", name, &site, &by_site[s]);
	}
	for (uint32_t i = 0; i <= TYPES; i++) {
		snprintf(name, sizeof name, i ? "made::Type%" PRIu32 : "-", i);
		if (types[i].allocs)
			print("type", name, &types[i], &by_type[i]);
	}
	printf("total events %lu\ntotal duration_ns %lu\ntotal allocs %lu\ntotal bytes %lu\ntotal frees %lu\ntotal live %lu\ntotal live_bytes %lu\n", events,
	       clock_ns, all.allocs, all.bytes, all.frees, all.live, all.live_bytes);
	printf("total reallocs %lu\ntotal inherited %lu\ntotal most_live %lu\ntotal vptrs %lu\ntotal strays %lu\ntotal wrong_family %lu\n", reallocs, inherited,
	       live_most, vptrs, strays, wrong_family);
}

int main(int argc, char **argv)
{
	if (argc != 3 || (wanted = strtoull(argv[2], NULL, 10)) < 1000) {
		fprintf(stderr, "usage: session_make FILE EVENTS, at least 1000\n");
		return 2;
	}
	stats = mem_zero(PROCESSES + 1, sizeof *stats);
	bins = mem_zero(PROCESSES + 1, sizeof *bins);
	peaks = mem_zero(PROCESSES + 1, sizeof *peaks);
	now_live = mem_zero(PROCESSES + 1, sizeof *now_live);
	threads = mem_zero(THREADS + 1, sizeof *threads);
	bucket_ns = wanted * 201 / BUCKETS + 1;
	for (uint32_t p = 1; p <= PROCESSES; p++) {
		buckets[p] = mem_zero(BUCKETS + 1, sizeof *buckets[p]);
		processes[p].fresh = UINT64_C(0x550000000000) + p * UINT64_C(0x10000000000);
	}
	for (uint32_t t = 1; t <= THREADS; t++)
		threads[t].process = thread_process[t];
	make_plans();
	must(store_create(argv[1], true, true, &store));
	put_names();
	run();
	for (size_t i = 1; i < blocks.count; i++)
		if (blocks.at[i].live)
			count_stayed(&blocks.at[i]);
	put_numbers();
	must(store_finish(store, NULL));
	print_all();
	return fflush(stdout) == 0 ? 0 : 4;
}
