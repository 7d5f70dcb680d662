/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_activity.c: every number of every interval and phase of a session that is made at random,
 * beside a plain model: what is live stands in an array, and is added up anew at the end of each
 * interval, byte by byte where it is about pages and lines.
 */
#include <string.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/replay/page_count.h"
#include "../../src/analysis/time/activity.h"
#include "../../src/base/mem.h"
#include "../lib/random.h"
#include "session_writer.h"

static char path[64];
static struct store *session;

/* ---- the model ---- */

enum {
	PROCESSES = 3, PLACES = 1500, STEPS = 40000, STACKS = 24, VTABLE = 1, TYPES = 2 * STACKS,
	STRIDE = 0x300, SPACE = PLACES * STRIDE + 0x10000,
	DURATION = 100500, INTERVAL = 1000, COUNT = 101, FORKED = 30300, EXITED = 71500,
};
static const uint64_t base = 0x7f0000000200;

struct block {
	uint64_t birth, death, size; /* ns; death UINT64_MAX: never, or behind the last interval's
	                              * beginning */
	uint32_t stack, type;
};
static VEC(struct block) blocks;

struct place {
	bool live;
	uint32_t stack, vtable;
	uint64_t size;
	size_t block;
	bool inherited; /* it stands apart, and has no block */
};
static struct side { /* a process, or all */
	uint64_t bytes, blocks;
	struct activity_point now, points[COUNT];
	uint64_t peak_bytes, peak_time;
} sides[PROCESSES + 1];
static struct place places[PROCESSES][PLACES];
static size_t at; /* interval */

static uint32_t type_of(uint32_t stack, uint32_t vtable)
{
	return vtable ? STACKS + stack : stack;
}

static void more(uint32_t process, int64_t bytes, int blocks_more, uint64_t time)
{
	for (unsigned i = process;; i = PROCESSES) {
		struct side *s = &sides[i];

		s->bytes += (uint64_t)bytes;
		s->blocks += (uint64_t)(int64_t)blocks_more;
		if (s->blocks > s->now.most.blocks)
			s->now.most.blocks = s->blocks;
		if (s->bytes > s->now.most.bytes)
			s->now.most.bytes = s->bytes;
		if (s->bytes > s->peak_bytes) {
			s->peak_bytes = s->bytes;
			s->peak_time = time;
		}
		if (i == PROCESSES)
			return;
	}
}

static void count_event(uint32_t process, bool birth, uint64_t size)
{
	for (unsigned i = process;; i = PROCESSES) {
		struct activity_point *now = &sides[i].now;

		estimated_add(birth ? &now->began : &now->ended, size, 1);
		if (i == PROCESSES)
			return;
	}
}

/* What it grew by was asked for, what it shrank by given back. */
static void count_resize(uint32_t process, uint64_t before, uint64_t size)
{
	for (unsigned i = process;; i = PROCESSES) {
		*(size > before ? &sides[i].now.began.bytes : &sides[i].now.ended.bytes) +=
			size > before ? size - before : before - size;
		if (i == PROCESSES)
			return;
	}
}

static void put_block(uint32_t process, uint64_t place, uint64_t size, uint32_t stack,
		      uint64_t time)
{
	places[process][place] = (struct place){ true, stack, 0, size, blocks.count, false };
	*vec_push(&blocks) = (struct block){ time, UINT64_MAX, size, stack, type_of(stack, 0) };
}

static void end_block(uint32_t process, uint64_t place, uint64_t time)
{
	if (!places[process][place].inherited)
		blocks.at[places[process][place].block].death = time;
	places[process][place].live = false;
}

/* What is live in these processes. */
static void add_up(uint32_t first, uint32_t last, struct activity_point *out)
{
	static uint8_t lines[SPACE / 64 + 1], pages[SPACE / 4096 + 1];
	bool types[TYPES + 1] = { false };

	for (uint32_t p = first; p <= last; p++) {
		memset(lines, 0, sizeof(lines));
		memset(pages, 0, sizeof(pages));
		for (size_t i = 0; i < PLACES; i++) {
			const struct place *place = &places[p][i];
			uint64_t from = (base & 0xfffff) + i * STRIDE;

			if (!place->live || place->inherited)
				continue;
			estimated_add(&out->live, place->size, 1);
			types[type_of(place->stack, place->vtable)] = true;
			for (uint64_t byte = from; byte < from + (place->size ? place->size : 1);
			     byte++)
				lines[byte / 64] = pages[byte / 4096] = 1;
		}
		for (size_t i = 0; i < sizeof(lines); i++)
			out->lines += lines[i];
		for (size_t i = 0; i < sizeof(pages); i++)
			out->pages += pages[i];
	}
	for (unsigned i = 1; i <= TYPES; i++)
		out->types += types[i];
}

static void end_interval(void)
{
	for (uint32_t i = 0; i <= PROCESSES; i++) {
		struct side *s = &sides[i];

		add_up(i < PROCESSES ? i : 0, i < PROCESSES ? i : PROCESSES - 1, &s->now);
		s->points[at] = s->now;
		s->now = (struct activity_point){ .most.bytes = s->bytes,
						 .most.blocks = s->blocks };
	}
	at++;
}

static void fork_now(void)
{
	for (uint64_t i = 0; i < PLACES; i++) {
		const struct place from = places[0][i];

		if (!from.live)
			continue;
		places[1][i] = from;
		places[1][i].inherited = true;
	}
}

static void exit_now(void)
{
	for (uint64_t i = 0; i < PLACES; i++)
		if (places[1][i].live) {
			sides[PROCESSES].bytes -= places[1][i].inherited ? 0 : places[1][i].size;
			sides[PROCESSES].blocks -= !places[1][i].inherited;
			end_block(1, i, EXITED);
		}
	sides[1].bytes = sides[1].blocks = 0;
}

/* Forks, ends of processes and of intervals that lie before an event of this time. */
static void advance(uint64_t time)
{
	static bool forked, exited;

	for (;;) {
		uint64_t edge = (at + 1) * INTERVAL;

		if (!forked && FORKED < time && FORKED <= edge) {
			forked = true;
			fork_now();
		} else if (!exited && EXITED < time && EXITED <= edge) {
			exited = true;
			exit_now();
		} else if (edge < time && at < COUNT) {
			end_interval();
		} else {
			return;
		}
	}
}

/* ---- the session ---- */

static void put(uint64_t time, uint32_t process, uint8_t kind, uint64_t place, uint64_t size,
		uint64_t old, uint32_t stack, uint8_t api)
{
	put_event(session, (struct event){ .time = time,
					   .address = base + place * STRIDE,
					   .size = size,
					   .old_address = old ? base + place * STRIDE : 0,
					   .process = process + 1,
					   .thread = 1,
					   .stack = stack,
					   .kind = kind,
					   .api = api,
					   .vtable = kind == EVENT_VPTR ? VTABLE : 0 });
}

static void put_names(void)
{
	put_program(session);
	for (uint32_t i = 1; i <= TYPES; i++) {
		char *name = mem_format("T%u", i);

		put_type(session,
			 (struct store_type){ .id = i, .name = name, .confidence = "exact" });
		free(name);
	}
	for (uint32_t i = 1; i <= STACKS; i++) {
		char *name = mem_format("site_%u", i);

		put_site(session, i, name);
		free(name);
	}
	must(store_put_vtable(session, &(struct store_vtable){ .id = VTABLE,
							       .module = 1,
							       .vaddr = 0x3000,
							       .source = "symbol",
							       .type = "T" }));
	for (uint32_t i = 1; i <= STACKS; i++)
		for (uint32_t p = 1; p <= PROCESSES; p++) {
			must(store_put_stat(session,
					    &(struct store_stat){ .process = p,
								  .stack = i,
								  .type = type_of(i, 0) }));
			must(store_put_stat(session,
					    &(struct store_stat){ .process = p,
								  .stack = i,
								  .vtable = VTABLE,
								  .type = type_of(i, VTABLE) }));
		}
	for (uint32_t p = 1; p <= PROCESSES; p++)
		put_process(session, (struct store_process){ .id = p,
							     .parent = p == 2,
							     .role = p == 3 ? "helper" : "",
							     .start = 1,
							     .end = p == 2   ? EXITED
								    : p == 3 ? DURATION - 100
									     : 0,
							     .forked = p == 2 ? FORKED : 0,
							     .early = p == 2 });
}

static void step(uint64_t time)
{
	bool rising = time / 10000 % 2 == 0;
	uint32_t process = (uint32_t)random_below(PROCESSES),
		 stack = 1 + (uint32_t)random_below(1 + random_below(STACKS));
	uint64_t i = random_below(PLACES), size = random_below(STRIDE - 16);
	struct place *place;

	/* what comes late is no further behind */
	if (process == 1 && (time <= FORKED || time > EXITED - 20))
		process = 0;
	place = &places[process][i];
	if (place->live && random_below(10) == 0) {
		put(time, process, EVENT_VPTR, i, 0, 0, place->stack, 0);
		place->vtable = VTABLE;
		if (!place->inherited)
			blocks.at[place->block].type = type_of(place->stack, VTABLE);
	} else if (place->live && random_below(12) == 0) {
		uint32_t vtable = place->vtable;
		uint64_t before = place->inherited ? 0 : place->size;

		put(time, process, EVENT_REALLOC, i, size, 1, stack, SHINY_API_REALLOC);
		count_event(process, false, before);
		more(process, (int64_t)size - (int64_t)before, place->inherited, time);
		end_block(process, i, time);
		put_block(process, i, size, stack, time);
		count_event(process, true, size);
		place->vtable = vtable;
		blocks.at[place->block].type = type_of(stack, vtable);
	} else if (place->live && random_below(12) == 0) {
		/* a collected object that changes its size */
		put(time, process, EVENT_REALLOC, i, size, 1, stack, SHINY_API_COLLECTED);
		if (!place->inherited) {
			more(process, (int64_t)size - (int64_t)place->size, 0,
			     (at + 1) * INTERVAL - INTERVAL);
			count_resize(process, place->size, size);
			blocks.at[place->block].size = size;
		}
		place->size = size;
	} else if (place->live && (!rising || random_below(6) == 0)) {
		put(time, process, EVENT_FREE, i, 0, 0, 0, SHINY_API_FREE);
		uint64_t bytes = place->inherited ? 0 : place->size;

		count_event(process, false, bytes);
		more(process, -(int64_t)bytes, place->inherited ? 0 : -1, time);
		end_block(process, i, time);
	} else if (!place->live && (rising || random_below(20) == 0)) {
		put(time, process, EVENT_ALLOC, i, size, 0, stack, SHINY_API_MALLOC);
		put_block(process, i, size, stack, time);
		count_event(process, true, size);
		more(process, (int64_t)size, 1, time);
	}
}

static void record(void)
{
	uint64_t time = 5;

	session = session_begin(path, DURATION);
	put_names();
	for (size_t i = 0; i < STEPS; i++) {
		uint64_t told;

		time += random_below(6);
		if (i == STEPS / 4 || i == STEPS / 2)
			time += 3 * INTERVAL; /* nothing for a while */
		if (time > DURATION - 50)
			break;
		/* some come late */
		told = random_below(50) == 0 && time > 20 && time < FORKED ? time - random_below(20)
									   : time;
		if (told / INTERVAL == time / INTERVAL)
			advance(time);
		step(told < (at * INTERVAL) + 1 ? time : told);
	}
	advance(DURATION + 1);
	while (at < COUNT)
		end_interval();
	must(store_finish(session, NULL));
}

/* ---- comparing ---- */

static void compare(const char *name, const struct activity_series *got, const struct side *want)
{
	uint64_t wrong = 0, seen = 0;

	for (size_t i = 0; i < COUNT; i++) {
		static const struct activity_point none;
		const struct activity_point *p = i >= got->first && i - got->first < got->count
							 ? &got->points[i - got->first]
							 : &none;
		const struct activity_point *w = &want->points[i];

		seen += w->live.blocks > 0;
		if (memcmp(p, w, sizeof(*p)) == 0)
			continue;
		if (!wrong++)
			printf("not ok %s/interval %zu: blocks %" PRIu64 " %" PRIu64
			       ", bytes %" PRIu64 " %" PRIu64 ", types %" PRIu64 " %" PRIu64
			       ", pages %" PRIu64 " %" PRIu64 ", lines %" PRIu64 " %" PRIu64
			       ", most %" PRIu64 " %" PRIu64 ", allocs %" PRIu64 " %" PRIu64
			       ", frees %" PRIu64 " %" PRIu64 "\n",
			       name, i, p->live.blocks, w->live.blocks, p->live.bytes,
			       w->live.bytes, p->types, w->types, p->pages, w->pages, p->lines,
			       w->lines, p->most.bytes, w->most.bytes, p->began.blocks,
			       w->began.blocks, p->ended.blocks, w->ended.blocks);
	}
	number(name, wrong, 0);
	if (seen < 30) {
		printf("not ok %s: in %" PRIu64 " intervals only something was live\n", name, seen);
		failures++;
	}
	number("peak", got->peak.bytes, want->peak_bytes);
	number("peak's time", got->peak_time, want->peak_time);
}

static size_t phase_of(const struct activity *a, uint64_t time)
{
	for (size_t i = 0; i < a->phase_count; i++)
		if (time <= a->phases[i].end)
			return i;
	return a->phase_count;
}

static const struct phase_row *find_row(const struct phase_row rows[PHASE_ROWS], const char *name)
{
	for (unsigned i = 0; i < PHASE_ROWS && rows[i].name; i++)
		if (strncmp(rows[i].name, name, strlen(name)) == 0)
			return &rows[i];
	return NULL;
}

/* The rows are what the blocks say, and no group that is left out weighs more than one that is
 * there. */
static uint64_t wrong_rows(const struct activity *a, size_t phase, bool by_type)
{
	struct phase_row want[TYPES + 1] = { 0 };
	const struct phase *p = &a->phases[phase];
	uint64_t least = UINT64_MAX, wrong = 0, found = 0, there = 0;

	for (size_t i = 0; i < blocks.count; i++) {
		const struct block *b = &blocks.at[i];
		size_t born = phase_of(a, b->birth), died = phase_of(a, b->death);
		struct phase_row *row = &want[by_type ? b->type : b->stack];

		estimated_add(&row->began, b->size, born == phase);
		estimated_add(&row->kept, b->size, born == phase && died > phase);
		estimated_add(&row->ended, b->size, born < phase && died == phase);
	}
	for (unsigned i = 1; i <= (by_type ? TYPES : STACKS); i++) {
		char *name = mem_format(by_type ? "T%u" : "site_%u (", i);
		const struct phase_row *row = find_row(by_type ? p->types : p->sites, name);

		if (row && by_type && strcmp(row->name, name) != 0)
			row = NULL; /* T1 of T12 */
		want[i].name = row ? name : NULL;
		if (row && phase_weight(p, row) < least)
			least = phase_weight(p, row);
		if (row)
			wrong += memcmp(&row->began, &want[i].began, sizeof(row->began)) ||
				 memcmp(&row->kept, &want[i].kept, sizeof(row->kept)) ||
				 memcmp(&row->ended, &want[i].ended, sizeof(row->ended));
		found += row != NULL;
		there += phase_weight(p, &want[i]) > 0;
		free(name);
	}
	for (unsigned i = 1; i <= (by_type ? TYPES : STACKS); i++)
		wrong += !want[i].name && phase_weight(p, &want[i]) > least;
	return wrong + (found != (there < PHASE_ROWS ? there : PHASE_ROWS));
}

static void check_phases(const struct activity *a)
{
	size_t next = 0;
	uint64_t wrong = 0, allocs = 0;

	for (size_t i = 0; i < a->phase_count; i++) {
		const struct phase *p = &a->phases[i];

		wrong += p->first != next ||
			 p->at_begin.bytes != (next ? a->total.points[next - 1].live.bytes : 0) ||
			 p->at_end.bytes != a->total.points[p->last].live.bytes;
		wrong += p->end != (p->last + 1 == COUNT ? (uint64_t)DURATION
							 : (p->last + 1) * INTERVAL) ||
			 p->begin != p->first * INTERVAL;
		next = p->last + 1;
		allocs += p->began.blocks;
		number("phase/types", wrong_rows(a, i, true), 0);
		number("phase/sites", wrong_rows(a, i, false), 0);
	}
	number("phases/follow each other", wrong + (next != COUNT), 0);
	number("phases/allocations", allocs, a->total.began.blocks);
	number("phases/rises and falls", a->phase_count > 8, 1);
}

static void add_row(void *context, const struct phase_log_row *row)
{
	struct phase_log_row *sum = context;

	for (unsigned i = 0; i < 2; i++)
		sum->groups[i] += row->has[i] ? (uint32_t)row->sum.blocks * row->groups[i] : 0;
	if (!row->has[0])
		return;
	sum->sum.blocks += row->sum.blocks;
	sum->sum.bytes += row->sum.bytes;
	sum->born += row->sum.blocks * row->born;
	sum->died += row->sum.blocks * row->died;
}

/* All that was added is in the log, or it says that it is not. */
static void check_log(size_t most, bool all)
{
	static const size_t groups[2] = { 300, 70000 };
	struct phase_log *log = phase_log_create(INTERVAL, COUNT, groups);
	struct phase_log_row want = { 0 }, sum = { 0 };
	const size_t was = phase_log_most;

	phase_log_most = most;
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t birth = i * 7 % DURATION, end = birth + i % 13 * (i % 3 * INTERVAL) + 1;
		uint64_t born = birth ? (birth - 1) / INTERVAL : 0, died = (end - 1) / INTERVAL;
		const uint32_t of[2] = { (uint32_t)(i % 300), (uint32_t)(i * i % 70000) };

		phase_log_add(log, birth, end, i % 17 == 0, of[0], of[1], i << 20);
		want.born += born;
		want.died += i % 17 == 0 ? born : died < COUNT ? died : COUNT - 1;
		want.groups[0] += of[0];
		want.groups[1] += of[1];
		want.sum.bytes += i << 20;
		want.sum.blocks++;
	}
	number("log/has all", phase_log_read(log, add_row, &sum), all);
	number("log/blocks", sum.sum.blocks, all ? want.sum.blocks : 0);
	number("log/bytes", sum.sum.bytes, all ? want.sum.bytes : 0);
	number("log/births", sum.born, all ? want.born : 0);
	number("log/ends", sum.died, all ? want.died : 0);
	number("log/types", sum.groups[0], all ? want.groups[0] : 0);
	number("log/sites", sum.groups[1], all ? want.groups[1] : 0);
	phase_log_destroy(log);
	phase_log_most = was;
}

/* The same rows from the log of one pass, and from a second pass where that has no room. */
static void check_both(const struct filter *all)
{
	const size_t most = phase_log_most;
	struct activity a;

	for (unsigned without = 0; without < 2; without++) {
		phase_log_most = without ? 0 : most;
		must(activity_load(session, all, INTERVAL, ACTIVITY_PHASE_ROWS, &a));
		check_phases(&a);
		activity_deinit(&a);
	}
	phase_log_most = most;
}

/* Without pages and types all else is the same. */
static void check_bare(const struct filter *all)
{
	struct activity a, bare;

	must(activity_load(session, all, INTERVAL, 0, &a));
	must(activity_load(session, all, INTERVAL, ACTIVITY_NO_PAGES | ACTIVITY_NO_TYPES, &bare));
	for (size_t i = 0; i < a.count; i++) {
		struct activity_point *point = &a.total.points[i];

		point->pages = point->lines = point->types = 0;
		number("bare point", memcmp(point, &bare.total.points[i], sizeof(*point)), 0);
	}
	number("bare/peak", bare.total.peak.bytes, a.total.peak.bytes);
	number("bare/processes", bare.process_count, a.process_count);
	activity_deinit(&a);
	activity_deinit(&bare);
}

/* Long intervals end where short ones do: of these, pages are counted while the replay goes on, as
 * soon as so many blocks wait for that. */
static void check_long(const struct filter *all, size_t waiting)
{
	enum { TIMES = 50 };
	const size_t most = page_counts_most;
	struct activity a;

	page_counts_most = waiting;
	must(activity_load(session, all, TIMES * INTERVAL, 0, &a));
	number("long intervals", a.count, (COUNT + TIMES - 1) / TIMES);
	for (size_t i = 0; i < a.count; i++) {
		size_t last = (i + 1) * TIMES < COUNT ? (i + 1) * TIMES - 1 : COUNT - 1;
		const struct activity_point *point = &a.total.points[i];

		number("long/pages", point->pages, sides[PROCESSES].points[last].pages);
		number("long/lines", point->lines, sides[PROCESSES].points[last].lines);
	}
	activity_deinit(&a);
	page_counts_most = most;
}

int main(void)
{
	struct activity a;
	struct filter all;
	struct shiny_err *err;

	snprintf(path, sizeof(path), "/tmp/shiny-test-activity-%d.shiny", (int)getpid());
	record();
	must(store_open(path, &session));
	must(filter_resolve(session, NULL, &all));
	must(activity_load(session, &all, INTERVAL, ACTIVITY_PHASE_ROWS, &a));
	number("intervals", a.count, COUNT);
	number("processes", a.process_count, PROCESSES);
	compare("all", &a.total, &sides[PROCESSES]);
	for (size_t i = 0; i < a.process_count && i < PROCESSES; i++)
		compare(i == 2 ? "helper" : "prog", &a.processes[i], &sides[i]);
	number("the role is the name", strcmp(a.processes[2].name, "helper"), 0);
	activity_deinit(&a);
	check_both(&all);
	check_bare(&all);
	check_long(&all, page_counts_most);
	check_long(&all, 16);
	check_log(phase_log_most, true);
	check_log(1 << 20, false);

	must(activity_load(session, &all, 0, 0, &a));
	number("usual interval", a.interval, 2000);
	number("no phases", a.phase_count, 0);
	activity_deinit(&a);
	err = activity_load(session, &all, 1, 0, &a);
	number("too many intervals", err ? err->code : 0, SHINY_ERR_USAGE);
	shiny_err_free(err);
	filter_deinit(&all);

	must(filter_resolve(session, "id:2", &all));
	must(activity_load(session, &all, INTERVAL, 0, &a));
	compare("one process of them", &a.total, &sides[1]);
	activity_deinit(&a);
	filter_deinit(&all);
	store_close(session);
	unlink(path);
	free(blocks.at);
	return failures != 0;
}
