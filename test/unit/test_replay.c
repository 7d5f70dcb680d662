/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_replay.c: every birth and death of sessions of which they are known: one written down, one
 * made at random beside a plain model; and what the lifetimes of them add up to.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/time/lifetimes.h"
#include "../../src/base/mem.h"
#include "../lib/random.h"
#include "session_writer.h"

static char path[64];

static struct store *begin(unsigned processes, uint64_t duration, const uint64_t *forked)
{
	struct store *s = session_begin(path, duration);

	for (unsigned i = 0; i < processes; i++)
		put_process(s, (struct store_process){ .id = i + 1,
						       .parent = i,
						       .start = forked[i],
						       .forked = forked[i] });
	put_program(s);
	put_site(s, 1, "make");
	put_thread(s, 3);
	return s;
}

static void put(struct store *s, uint64_t time, uint32_t process, uint8_t kind, uint64_t address,
		uint64_t size, uint64_t old, uint32_t thread, uint32_t stack, uint8_t api)
{
	put_event(s, (struct event){ .time = time,
				     .address = address,
				     .size = size,
				     .old_address = old,
				     .process = process,
				     .thread = thread,
				     .stack = stack,
				     .kind = kind,
				     .api = api });
}

/* ---- a session that is written down ---- */

struct seen {
	uint64_t births, deaths[LIFE_ENDS], inherited, strays, grown, moments, live_at_moment,
		types;
};

static void on_birth(void *context, const struct replay_process *process, const struct life *life)
{
	((struct seen *)context)->births++;
}

static void on_death(void *context, const struct replay_process *process, const struct life *life,
		     const struct life_death *death)
{
	struct seen *s = context;

	s->deaths[death->end]++;
	s->inherited += life->inherited;
	s->grown +=
		death->end == LIFE_REALLOCED && death->next && death->next->size == 2 * life->size;
	s->types += replay_type(process, life);
}

static void on_stray(void *context, const struct replay_process *process, const struct event *event)
{
	((struct seen *)context)->strays++;
}

static uint64_t on_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct seen *s = context;

	s->moments++;
	s->live_at_moment = 0;
	for (size_t i = 0; i < replay->process_count; i++)
		replay_each(&replay->processes[i], life) s->live_at_moment++;
	return moment + 250;
}

struct followed {
	uint64_t births, moves, resizes, before, at, size, deaths, birth, typed;
};

static void follow_birth(void *context, const struct replay_process *process,
			 const struct life *life)
{
	struct followed *f = context;

	f->births++;
	f->typed += life->vtable == 3 && life->type == 7;
}

static void follow_move(void *context, const struct replay_process *process,
			const struct life *life, uint64_t before)
{
	struct followed *f = context;

	f->moves++;
	f->before = before;
	f->at = life->address;
	f->birth = replay_find(process, life->address) == life ? life->birth : 0;
}

static void follow_resize(void *context, const struct replay_process *process,
			  const struct life *life, uint64_t before)
{
	struct followed *f = context;

	f->resizes++;
	f->size = f->size * 1000 + life->size;
}

static void follow_death(void *context, const struct replay_process *process,
			 const struct life *life, const struct life_death *death)
{
	((struct followed *)context)->deaths++;
}

/* A collected object that is moved and resized is one life. */
static void collected(void)
{
	struct store *s = begin(1, 1000, (const uint64_t[]){ 0 });
	struct followed f = { 0 };
	struct replay_observer observer = { .context = &f,
					    .birth = follow_birth,
					    .move = follow_move,
					    .resize = follow_resize,
					    .death = follow_death };
	struct seen few = { 0 };
	struct replay_observer untyped = { .context = &few, .death = on_death, .untyped = true };
	struct lifetimes l;
	struct filter all;

	must(store_put_type(s, &(struct store_type){ .id = 7,
						     .name = "Node",
						     .form = "object",
						     .rule = "vptr",
						     .confidence = "exact",
						     .source = "collected" }));
	put_vtable(s, 3);
	must(store_put_stat(s, &(struct store_stat){
				       .process = 1, .stack = 1, .vtable = 3, .type = 7 }));
	put_event(s, (struct event){ .time = 100,
				     .address = 0x1000,
				     .size = 16,
				     .process = 1,
				     .thread = 1,
				     .stack = 1,
				     .vtable = 3,
				     .kind = EVENT_ALLOC,
				     .api = SHINY_API_COLLECTED });
	put(s, 102, 1, EVENT_ALLOC, 0x2000, 8, 0, 1, 0, SHINY_API_COLLECTED);
	put(s, 110, 1, EVENT_REALLOC, 0x1000, 24, 0x1000, 1, 1, SHINY_API_COLLECTED);
	put(s, 120, 1, EVENT_REALLOC, 0x0ff8, 24, 0x1000, 1, 1, SHINY_API_COLLECTED);
	put(s, 125, 1, EVENT_REALLOC, 0x0ff8, 12, 0x0ff8, 1, 1, SHINY_API_COLLECTED);
	/* nothing is there any more */
	put(s, 130, 1, EVENT_FREE, 0x1000, 0, 0, 1, 0, EVENT_END_RELEASED);
	put(s, 140, 1, EVENT_FREE, 0x0ff8, 0, 0, 1, 0, EVENT_END_RELEASED);
	must(store_finish(s, NULL));
	must(store_open(path, &s));
	must(filter_resolve(s, NULL, &all));
	must(replay_run(s, &all, &observer, 1, NULL));
	number("collected/births", f.births, 2);
	number("collected/typed at birth", f.typed, 1);
	number("collected/moves", f.moves, 1);
	number("collected/from", f.before, 0x1000);
	number("collected/to", f.at, 0x0ff8);
	number("collected/birth", f.birth, 100);
	number("collected/resizes", f.resizes, 2);
	number("collected/sizes", f.size, 24012);
	number("collected/deaths", f.deaths, 2); /* and the one that lives on */
	must(replay_run(s, &all, &untyped, 1, NULL));
	number("collected/type in an untyped pass", few.types, 7);
	few.types = f.typed = 0;
	must(replay_run(s, &all, (struct replay_observer[]){ observer, untyped }, 2, NULL));
	number("collected/type beside a typed observer", few.types, 7);
	number("collected/typed at birth beside an untyped one", f.typed, 1);
	/* 16 grew to 24 and shrank to 12: 24 were asked for; and 8 */
	must(lifetimes_load(s, &all, GROUP_TYPE, NULL, LIFETIMES_BY_BLOCKS, true, false, &l));
	number("collected/lifetimes/bytes", l.total.began.bytes, 24 + 8);
	lifetimes_deinit(&l);
	filter_deinit(&all);
	store_close(s);
}

static void written_down(void)
{
	const uint64_t forked[] = { 0, 500 };
	struct store *s = begin(2, 1000, forked);
	struct seen seen = { 0 };
	struct replay_observer observer = { .context = &seen,
					    .birth = on_birth,
					    .death = on_death,
					    .stray = on_stray,
					    .moment = on_moment,
					    .first_moment = 250 };
	struct filter all;
	struct lifetimes l;

	must(store_put_type(s, &(struct store_type){ .id = 7,
						     .name = "Widget",
						     .form = "object",
						     .rule = "vptr",
						     .confidence = "high",
						     .source = "rtti" }));
	put_vtable(s, 3);
	must(store_put_stat(s, &(struct store_stat){
				       .process = 1, .stack = 1, .vtable = 3, .type = 7 }));
	put(s, 100, 1, EVENT_ALLOC, 0x1000, 10, 0, 1, 1, SHINY_API_NEW);
	put(s, 110, 1, EVENT_FREE, 0x1000, 0, 0, 1, 0, SHINY_API_DELETE);         /* temporary */
	put(s, 120, 1, EVENT_ALLOC, 0x1000, 20, 0, 1, 1, SHINY_API_NEW);
	put(s, 130, 1, EVENT_VPTR, 0x1000, 0, 0, 1, 1, 0);
	put(s, 140, 1, EVENT_ALLOC, 0x2000, 30, 0, 1, 1, SHINY_API_MALLOC);
	/* in place; what was realloced was temporary */
	put(s, 150, 1, EVENT_REALLOC, 0x2000, 60, 0x2000, 1, 1, SHINY_API_REALLOC);
	put(s, 160, 1, EVENT_REALLOC, 0x3000, 40, 0, 1, 1, SHINY_API_REALLOC);      /* of NULL */
	put(s, 170, 1, EVENT_FREE, 0x9000, 0, 0, 1, 0, SHINY_API_FREE);             /* never seen */
	/* nor this one */
	put(s, 180, 1, EVENT_REALLOC, 0x4000, 8, 0x8000, 1, 1, SHINY_API_REALLOC);
	/* over one that lives */
	put(s, 190, 1, EVENT_ALLOC, 0x4000, 9, 0, 1, 1, SHINY_API_MALLOC);
	/* by another thread */
	put(s, 300, 1, EVENT_FREE, 0x3000, 0, 0, 2, 0, SHINY_API_FREE);
	put(s, 400, 1, EVENT_ALLOC, 0x5000, 16, 0, 1, 1, SHINY_API_COLLECTED);
	put(s, 410, 1, EVENT_FREE, 0x5000, 0, 0, 1, 0, EVENT_END_REUSED);
	/* the child's, of what it inherited */
	put(s, 600, 2, EVENT_FREE, 0x1000, 0, 0, 3, 0, SHINY_API_FREE);
	put(s, 900, 1, EVENT_FREE, 0x1000, 0, 0, 1, 0, SHINY_API_DELETE);
	must(store_finish(s, NULL));
	must(store_open(path, &s));
	must(filter_resolve(s, NULL, &all));
	must(replay_run(s, &all, &observer, 1, NULL));
	number("births", seen.births, 8);
	number("freed", seen.deaths[LIFE_FREED], 4);
	number("realloced", seen.deaths[LIFE_REALLOCED], 1);
	number("realloced: what it became", seen.grown, 1);
	number("reused", seen.deaths[LIFE_REUSED], 2);
	number("never", seen.deaths[LIFE_NEVER], 4); /* 0x2000 and 0x4000, twice */
	number("inherited", seen.inherited, 3);
	number("strays", seen.strays, 2);
	number("moments", seen.moments, 4);
	number("live at the last", seen.live_at_moment, 4);

	must(lifetimes_load(s, &all, GROUP_TYPE, NULL, LIFETIMES_BY_BLOCKS, true, false, &l));
	number("lifetimes/blocks", l.total.began.blocks, 8);
	number("lifetimes/destroyed", l.total.destroyed, 4);
	number("lifetimes/reused", l.total.reused, 2);
	number("lifetimes/persistent", l.total.persistent, 2);
	number("lifetimes/temporary", l.total.temporary, 2);
	number("lifetimes/elsewhere", l.total.elsewhere, 1);
	/* up to 10 ns: 0x1000, 0x2000, 0x4000 first, 0x5000 */
	number("lifetimes/short", l.total.population[POPULATION_SHORT], 4);
	number("lifetimes/middle", l.total.population[POPULATION_MIDDLE], 1); /* 0x3000: 140 ns */
	number("lifetimes/tail", l.total.population[POPULATION_TAIL], 3);
	number("lifetimes/p50", distribution_quantile(&l.total.ages, 0.5), 10);
	lifetimes_deinit(&l);
	must(lifetimes_load(s, &all, GROUP_SITE, "nothing*", LIFETIMES_BY_NAME, true, false, &l));
	number("lifetimes/no match", l.count, 0);
	lifetimes_deinit(&l);
	filter_deinit(&all);
	store_close(s);
}

/* A ring that the sidecar saw late: a parent's first event comes behind one of somebody else that
 * lies after the fork. */
static void late_ring(void)
{
	struct store *s = session_begin(path, 1000);
	struct seen seen = { 0 }, middle = { 0 };
	struct replay_observer observers[] = {
		{ .context = &seen, .birth = on_birth, .death = on_death, .stray = on_stray },
		{ .context = &middle, .moment = on_moment, .first_moment = 650 },
	};
	struct filter all;

	put_process(s, (struct store_process){ .id = 1 });
	put_process(s, (struct store_process){ .id = 2 });
	put_process(s, (struct store_process){ .id = 3, .parent = 2, .start = 500, .forked = 500 });
	put_process(s, (struct store_process){ .id = 4, .parent = 3, .start = 550, .forked = 550 });
	put_process(s, (struct store_process){ .id = 5, .parent = 2, .start = 560, .forked = 560 });
	put(s, 600, 1, EVENT_ALLOC, 0x1000, 10, 0, 1, 1, SHINY_API_MALLOC);
	put(s, 300, 2, EVENT_ALLOC, 0x2000, 20, 0, 2, 1, SHINY_API_MALLOC);
	put(s, 310, 2, EVENT_ALLOC, 0x3000, 30, 0, 2, 1, SHINY_API_MALLOC);
	put(s, 320, 2, EVENT_FREE, 0x2000, 0, 0, 2, 0, SHINY_API_FREE);
	put(s, 330, 2, EVENT_ALLOC, 0x4000, 40, 0, 2, 1, SHINY_API_MALLOC);
	put(s, 510, 2, EVENT_FREE, 0x4000, 0, 0, 2, 0, SHINY_API_FREE);
	put(s, 520, 2, EVENT_ALLOC, 0x5000, 50, 0, 2, 1, SHINY_API_MALLOC);
	put(s, 610, 3, EVENT_FREE, 0x3000, 0, 0, 3, 0, SHINY_API_FREE);
	put(s, 620, 4, EVENT_FREE, 0x4000, 0, 0, 4, 0, SHINY_API_FREE);
	put(s, 700, 1, EVENT_FREE, 0x1000, 0, 0, 1, 0, SHINY_API_FREE);
	must(store_finish(s, NULL));
	must(store_open(path, &s));
	must(filter_resolve(s, NULL, &all));
	must(replay_run(s, &all, observers, 2, NULL));
	number("late ring/births", seen.births, 5);
	number("late ring/freed", seen.deaths[LIFE_FREED], 5);
	/* 3 and 4: 0x3000, 0x4000; 5: 0x3000, 0x5000 */
	number("late ring/inherited", seen.inherited, 6);
	number("late ring/strays", seen.strays, 0);
	number("late ring/live at the end", seen.deaths[LIFE_NEVER], 6);
	number("late ring/live in the middle", middle.live_at_moment, 6);
	filter_deinit(&all);
	store_close(s);
}

/* ---- many, at random, beside a model ---- */

enum { PROCESSES = 3, PLACES = 3000, STEPS = 200000 };

struct place {
	uint64_t size, birth;
	bool live;
};
static struct place model[PROCESSES][PLACES];
static struct { uint64_t births, deaths, age, bytes; } expected, got;

static void end_place(struct place *p, uint64_t time)
{
	expected.deaths++;
	expected.age += time - p->birth;
	expected.bytes += p->size;
	p->live = false;
}

static void count_birth(void *context, const struct replay_process *process,
			const struct life *life)
{
	got.births++;
}

static void count_death(void *context, const struct replay_process *process,
			const struct life *life, const struct life_death *death)
{
	got.deaths++;
	got.age += death->time - life->birth;
	got.bytes += life->size;
}

static void at_random(void)
{
	const uint64_t forked[] = { 0, STEPS / 3 * 10 + 5, STEPS / 2 * 10 + 5 };
	struct store *s = begin(PROCESSES, STEPS * 10, forked);
	struct replay_observer observer = { .birth = count_birth, .death = count_death };
	unsigned alive = 1;
	struct filter all;

	for (uint64_t step = 1; step < STEPS; step++) {
		uint64_t time = step * 10, address;
		uint32_t process;
		struct place *p;

		if (alive < PROCESSES && time > forked[alive]) {
			memcpy(model[alive], model[alive - 1], sizeof(model[alive]));
			alive++;
		}
		process = (uint32_t)(next_random() % alive);
		address = next_random() % PLACES;
		p = &model[process][address];
		if (p->live) {
			end_place(p, time);
			put(s, time, process + 1, EVENT_FREE, 0x10000 + address * 16, 0, 0, 1, 0,
			    SHINY_API_FREE);
			continue;
		}
		*p = (struct place){ 1 + next_random() % 5000, time, true };
		expected.births++;
		put(s, time, process + 1, EVENT_ALLOC, 0x10000 + address * 16, p->size, 0, 1, 0,
		    SHINY_API_MALLOC);
	}
	for (unsigned i = 0; i < PROCESSES; i++)
		for (unsigned k = 0; k < PLACES; k++)
			if (model[i][k].live)
				end_place(&model[i][k], STEPS * 10);
	must(store_finish(s, NULL));
	must(store_open(path, &s));
	must(filter_resolve(s, NULL, &all));
	must(replay_run(s, &all, &observer, 1, NULL));
	number("model/births", got.births, expected.births);
	number("model/deaths", got.deaths, expected.deaths);
	number("model/ages", got.age, expected.age);
	number("model/bytes", got.bytes, expected.bytes);
	filter_deinit(&all);
	store_close(s);
}

/* ---- distributions ---- */

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static void quantiles(void)
{
	enum { COUNT = 20000 };
	uint64_t *values = mem_zero(COUNT, sizeof(*values));
	struct distribution d = { 0 }, half = { 0 }, empty = { 0 };
	double worst = 0, sum = 0, logs = 0;

	for (size_t i = 0; i < COUNT; i++) {
		values[i] = next_random() >> (next_random() % 60);
		sum += (double)values[i];
		logs += log(values[i] ? (double)values[i] : 1);
		distribution_add(i % 2 ? &d : &half, values[i], 1, false);
	}
	distribution_merge(&d, &half);
	qsort(values, COUNT, sizeof(*values), by_value);
	for (double q = 0.01; q < 1; q += 0.01) {
		double exact = (double)values[(size_t)ceil(q * COUNT) - 1],
		       is = (double)distribution_quantile(&d, q);

		if (exact > 0 && fabs(is - exact) / exact > worst)
			worst = fabs(is - exact) / exact;
	}
	check("distribution/quantiles", worst < 1.0 / 8,
	      "a quantile is further off than its bin is wide");
	check("distribution/mean", fabs(distribution_mean(&d) - sum / COUNT) <= sum / COUNT * 1e-9,
	      "not the mean");
	check("distribution/geometric mean",
	      fabs(log(distribution_geometric_mean(&d)) - logs / COUNT) < 1e-6,
	      "not the geometric mean");
	number("distribution/least", d.least, values[0]);
	number("distribution/most", d.most, values[COUNT - 1]);
	check("distribution/bins",
	      histogram_bin(15) == 15 && histogram_bin(UINT64_MAX) < 512,
	      "a value without a bin");
	for (unsigned bin = 0; bin < 500; bin++)
		if (histogram_bin_start(bin) != UINT64_MAX &&
		    histogram_bin(histogram_bin_start(bin)) != bin)
			check("distribution/bins agree", false, "a bin's first value is not in it");
	number("distribution/empty", distribution_quantile(&empty, 0.5), 0);
	distribution_deinit(&d);
	distribution_deinit(&half);
	free(values);
}

/* Two populations that share a bin: what is said of each lies within its own values. */
static void within_values(void)
{
	static const uint64_t from[] = { 940000000, 1000000000 };
	static const double at[] = { 0, 0.1, 0.5, 0.9, 0.99, 1 };
	struct distribution all = { 0 };
	char name[64];

	for (unsigned p = 0; p < 2; p++) {
		struct distribution d = { 0 };
		uint64_t last = 0;

		for (unsigned i = 0; i < 2000; i++)
			distribution_add(&d, from[p] + i * 100, 1, false);
		for (unsigned i = 0; i < sizeof(at) / sizeof(*at); i++) {
			uint64_t q = distribution_quantile(&d, at[i]);

			snprintf(name, sizeof(name), "distribution/within %u at %g", p, at[i]);
			check(name, q >= from[p] && q <= from[p] + 199900 && q >= last,
			      "outside its values");
			last = q;
		}
		number("distribution/half-life of what ended",
		       distribution_survival_quantile(&d, 0.5), distribution_quantile(&d, 0.5));
		distribution_add(&d, UINT64_C(1) << 40, 1, true);
		last = distribution_survival_quantile(&d, 0.5);
		check("distribution/half-life within", last >= from[p] && last <= from[p] + 199900,
		      "outside its values");
		distribution_merge(&all, &d);
		distribution_deinit(&d);
	}
	number("distribution/least of both", all.least, from[0]);
	number("distribution/most of both", all.most, from[1] + 199900);
	distribution_deinit(&all);
}

/* The textbook's example: 6 patients, ends at 3, 5 and 8, censored at 4, 6 and 9. */
static void kaplan_meier(void)
{
	struct distribution d = { 0 };

	distribution_add(&d, 3, 1, false);
	distribution_add(&d, 4, 1, true);
	distribution_add(&d, 5, 1, false);
	distribution_add(&d, 6, 1, true);
	distribution_add(&d, 8, 1, false);
	distribution_add(&d, 9, 1, true);
	check("survival/before any", fabs(distribution_survival(&d, 2) - 1) < 1e-12, "not 1");
	check("survival/after 3", fabs(distribution_survival(&d, 3) - 5.0 / 6) < 1e-12, "not 5/6");
	check("survival/after 5", fabs(distribution_survival(&d, 5) - 5.0 / 6 * 3 / 4) < 1e-12,
	      "not 5/6 * 3/4");
	check("survival/after 8", fabs(distribution_survival(&d, 8) - 5.0 / 6 * 3 / 4 / 2) < 1e-12,
	      "not 5/6 * 3/4 * 1/2");
	number("survival/median", distribution_survival_quantile(&d, 0.5), 8);
	number("survival/never so few", distribution_survival_quantile(&d, 0.1), UINT64_MAX);
	distribution_deinit(&d);
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/shiny-test-lives-%d.shiny", (int)getpid());
	collected();
	written_down();
	late_ring();
	at_random();
	quantiles();
	within_values();
	kaplan_meier();
	unlink(path);
	return failures != 0;
}
