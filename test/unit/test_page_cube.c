/* SPDX-License-Identifier: Apache-2.0 */
/* test_page_cube.c: the page's live bytes over time are those of activity, late events and edges of
 * intervals included. Cells of rows and of makers that are folded into one are added up, and they
 * are folded when there are too many, not at the end. */
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/time/activity.h"
#include "../../src/view/page_cube.h"
#include "session_writer.h"

enum { INTERVAL = 1000, INTERVALS = 10, SIZE = 64, SHORT_LIVES = 20 };
static char path[64];
static struct store *session;

static void put(enum event_kind kind, uint64_t address, uint64_t time)
{
	put_event(session, (struct event){ .time = time,
					   .address = address,
					   .size = kind == EVENT_ALLOC ? SIZE : 0,
					   .process = 1,
					   .thread = 1,
					   .stack = 1,
					   .kind = kind });
}

/* Behind all other births: an object that a collector resizes, a block whose type becomes known. */
static void put_changing(void)
{
	struct event object = { .time = 7 * INTERVAL + 1,
				.address = 0x5000,
				.size = SIZE,
				.process = 1,
				.thread = 1,
				.stack = 1,
				.kind = EVENT_ALLOC,
				.api = SHINY_API_COLLECTED },
		     typed = object;

	put_event(session, object);
	typed.address = 0x6000;
	typed.stack = 2;
	typed.api = SHINY_API_MALLOC;
	put_event(session, typed);
	object.time = typed.time = 8 * INTERVAL + 1;
	object.kind = EVENT_REALLOC;
	object.old_address = object.address;
	object.size = 3 * SIZE;
	put_event(session, object);
	typed.kind = EVENT_VPTR;
	typed.vtable = 1;
	put_event(session, typed);
	put(EVENT_FREE, 0x6000, 9 * INTERVAL + 1);
}

static void make_session(void)
{
	session = session_begin(path, INTERVAL * INTERVALS);
	put_program(session);
	put_process(session, (struct store_process){ .id = 1 });
	must(store_put_thread(session,
			      &(struct store_thread){
				      .id = 1, .process = 1, .tid = 101, .name = "prog" }));
	put_site(session, 1, "site");
	put_site(session, 2, "other");
	put_type(session, (struct store_type){ .id = 1, .name = "T" });
	put(EVENT_ALLOC, 0x1000, 1);
	for (uint64_t i = 0; i < SHORT_LIVES; i++) { /* so that cells are worked out ahead */
		put(EVENT_ALLOC, 0x9000, 2);
		put(EVENT_FREE, 0x9000, 2);
	}
	put(EVENT_ALLOC, 0x2000, INTERVAL); /* on an edge */
	put(EVENT_ALLOC, 0x3000, INTERVAL + 1);
	put(EVENT_ALLOC, 0x4000, 4 * INTERVAL + 500);
	put(EVENT_FREE, 0x1000, 3 * INTERVAL + 100); /* late: it stands in the fifth interval */
	put(EVENT_FREE, 0x2000, 6 * INTERVAL);       /* on an edge */
	put_changing();
	put(EVENT_FREE, 0x3000, 9 * INTERVAL + 999);
	must(store_put_stat(session, &(struct store_stat){ .process = 1, .stack = 1 }));
	must(store_put_stat(session, &(struct store_stat){ .process = 1, .stack = 2 }));
	must(store_put_stat(session, &(struct store_stat){
					     .process = 1, .stack = 2, .vtable = 1, .type = 1 }));
	must(store_finish(session, NULL));
	must(store_open(path, &session));
}

/* The block of stack 2 has been of its type since its birth. */
static void typed_block(const struct page_cube *cube)
{
	for (size_t i = 0; i < cube->changes.count; i++) {
		const struct cube_cell *cell = &cube->changes.at[i];
		const struct profile_sample *sample;
		int64_t want;

		checkf("of a sample", cube_cell_sample(cell), "cell %zu is of none", i);
		if (!cube_cell_sample(cell))
			continue;
		sample = &cube->profile->samples[cube_cell_sample(cell) - 1];
		want = !sample->type			? 0
		       : cube_cell_interval(cell) == 7	? 1
		       : cube_cell_interval(cell) == 9	? -1
							: 0;
		if (sample->stack == 2)
			checkf("blocks of a type", cell->blocks == want,
			       "type %u, interval %d: %d", sample->type,
			       cube_cell_interval(cell), (int)cell->blocks);
	}
}

/* Rows 0 and 2 become one, row 1 stays. */
static void fold(void)
{
	const struct cube_cell cells[] = {
		{ cube_place(0, 0, 1), .blocks = 1, .bytes = 10 },
		{ cube_place(1, 0, 1), .blocks = 2, .bytes = 20 },
		{ cube_place(2, 0, 1), .blocks = 4, .bytes = 40 },
		{ cube_place(2, 0, 0), .blocks = 8, .bytes = 80 },
		{ cube_place_of_life(cube_place(2, 0, 1), 3, 0), .blocks = 16, .bytes = 160 },
	};
	const struct cube_cell want[] = {
		{ cube_place(0, 0, 1), .blocks = 2, .bytes = 20 },
		{ cube_place(1, 0, 0), .blocks = 8, .bytes = 80 },
		{ cube_place(1, 0, 1), .blocks = 5, .bytes = 50 },
		{ cube_place_of_life(cube_place(1, 0, 1), 3, 0), .blocks = 16, .bytes = 160 },
	};
	const uint32_t into[] = { 1, 0, 1 };
	struct page_cube cube = { 0 };
	struct cube_cells *tables[] = { &cube.lives, &cube.changes };

	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
			cube_cells_add(tables[t], cells[i].place, cells[i].blocks, cells[i].bytes);
	page_cube_fold(&cube, into);
	page_cube_sort(&cube);
	for (size_t t = 0; t < 2; t++) {
		number("folded cells", tables[t]->count, sizeof(want) / sizeof(*want));
		for (size_t i = 0; i < tables[t]->count && i < 4; i++) {
			const struct cube_cell *cell = &tables[t]->at[i];

			checkf("folded cell",
			       cell->place == want[i].place && cell->blocks == want[i].blocks &&
				       cell->bytes == want[i].bytes,
			       "table %zu, cell %zu", t, i);
		}
	}
	page_cube_deinit(&cube);
}

/* Cells of two makers become one. */
static void fold_makers(void)
{
	struct page_cube cube = { 0 };
	struct cube_cells *tables[] = { &cube.lives, &cube.changes };

	for (uint16_t maker = 0; maker < 2; maker++) {
		*vec_push(&cube.makers) = (struct cube_maker){ maker, 0 };
		for (size_t t = 0; t < 2; t++)
			cube_cells_add(tables[t], cube_place(7, maker, 3), 1, 10);
	}
	page_cube_fold_makers(&cube);
	page_cube_sort(&cube);
	check("that they are one is said", cube.makers_folded, "it is not");
	for (size_t t = 0; t < 2; t++) {
		number("cells of makers", tables[t]->count, 1);
		number("blocks of makers", (uint64_t)tables[t]->at[0].blocks, 2);
		number("bytes of makers", (uint64_t)tables[t]->at[0].bytes, 20);
		number("their sample", cube_cell_sample(&tables[t]->at[0]), 7);
	}
	page_cube_deinit(&cube);
}

struct full {
	struct page_cube cube;
	size_t calls, cells;
};

static void on_full(void *context)
{
	struct full *full = context;

	full->calls++;
	full->cells = page_cube_cells(&full->cube);
	page_cube_fold_makers(&full->cube);
	full->cube.most = SIZE_MAX;
}

/* Three cells are too many: what comes behind that has no maker any more, and all is counted. */
static void fold_when_full(const struct filter *all, const struct page_cube *whole)
{
	struct full full = { .cube = { .profile = whole->profile,
				       .kept = whole->kept,
				       .finest = whole->finest,
				       .interval = INTERVAL,
				       .most = 2,
				       .fold = on_full,
				       .context = &full } };
	const struct cube_cells *cells = &full.cube.changes;
	int64_t blocks = 0;

	must(page_cube_load(session, all, false, &full.cube));
	number("calls", full.calls, 1);
	number("makers", full.cube.makers.count, 1);
	number("cells when it is called", full.cells, 4); /* an end may bring two */
	page_cube_sort(&full.cube);
	number("cells in the end", page_cube_cells(&full.cube), page_cube_cells(whole));
	for (size_t i = 0; i < cells->count; i++) {
		number("maker", cube_cell_maker(&cells->at[i]), 0);
		blocks += cells->at[i].blocks;
	}
	number("live in the end", (uint64_t)blocks, 2);
	page_cube_deinit(&full.cube);
}

int main(void)
{
	struct filter all;
	struct profile profile;
	struct activity activity;
	struct page_cube cube = { .profile = &profile, .interval = INTERVAL };
	uint32_t *kept;
	int64_t bytes[INTERVALS] = { 0 }, now = 0;

	snprintf(path, sizeof(path), "/tmp/shiny-test-cube-%d.shiny", (int)getpid());
	make_session();
	must(filter_resolve(session, NULL, &all));
	must(profile_load(session, session, &all, PROFILE_PEAK, &profile));
	kept = mem_zero(profile.sample_count + 1, sizeof(*kept));
	for (uint32_t i = 0; i <= profile.sample_count; i++)
		kept[i] = i;
	cube.kept = cube.finest = kept;
	must(page_cube_load(session, &all, false, &cube));
	page_cube_sort(&cube);
	must(activity_load(session, &all, INTERVAL, 0, &activity));
	for (size_t i = 0; i < cube.changes.count; i++)
		bytes[cube_cell_interval(&cube.changes.at[i])] += cube.changes.at[i].bytes;
	number("as many intervals", activity.total.first + activity.total.count, INTERVALS);
	for (size_t i = 0; i < activity.total.count; i++) {
		now += bytes[activity.total.first + i];
		number("live at the interval's end", (uint64_t)now,
		       activity.total.points[i].live.bytes);
	}
	typed_block(&cube);
	fold();
	fold_makers();
	fold_when_full(&all, &cube);
	page_cube_deinit(&cube);
	activity_deinit(&activity);
	profile_deinit(&profile);
	free(kept);
	store_close(session);
	unlink(path);
	return failures != 0;
}
