/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_diff.c: rows of two written-down sessions: what of one is what of the other (lines shifted,
 * sites added, functions renamed and moved, files renamed, no names at all), and the numbers that
 * are compared.
 */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/compare/diff.h"
#include "../../src/base/mem.h"
#include "check.h"

enum { BASE, NEW };
static char paths[2][64];
static struct store *session;
static uint32_t frames, stacks;

/* ---- writing ---- */

enum { PROGRAM = 1, LIBRARY, LIBC };

static bool early; /* the program ended before the session's end */
static struct store_stat stats[64]; /* put when all stacks are */
static size_t stat_count;

static void stat_later(struct store_stat row)
{
	stats[stat_count++] = row;
}

/* `stripped`: the program's frames have no names. The program has another file in each session; the
 * library another version. */
static void begin(int side, const char *const build_ids[2])
{
	const char *program = side ? "/new/prog-2" : "/old/prog";

	must(store_create(paths[side], true, true, &session));
	must(store_put_number(session, "duration_ns", 100000));
	must(store_put_text(session, "executable", program));
	must(store_put_process(session, &(struct store_process){ .id = 1,
								 .pid = 100,
								 .name = program + 5,
								 .role = "",
								 .executable = program,
								 .command = "",
								 .ending = "exited",
								 .attach = "symbols",
								 .attach_text = "",
								 .end = 90000,
								 .early = early }));
	must(store_put_module(session, &(struct store_module){ .id = PROGRAM,
							       .path = program,
							       .build_id = build_ids[side],
							       .symbols = "dwarf",
							       .note = "" }));
	must(store_put_module(session, &(struct store_module){ .id = LIBRARY,
							       .path = side ? "/lib/libfoo.so.1.3"
									    : "/lib/libfoo.so.1.2",
							       .build_id = side ? "f2" : "f1",
							       .symbols = "dwarf",
							       .note = "" }));
	must(store_put_module(session, &(struct store_module){ .id = LIBC,
							       .path = "/lib/libc.so.6",
							       .build_id = "cc",
							       .symbols = "dynsym",
							       .note = "" }));
	must(store_put_type(session, &(struct store_type){ .id = 1,
							   .name = "Widget",
							   .form = "object",
							   .rule = "vptr",
							   .confidence = side ? "low" : "exact",
							   .source = "rtti",
							   .bytes = 32 }));
	must(store_put_type(session, &(struct store_type){ .id = 2,
							   .name = "Gadget",
							   .form = "object",
							   .rule = "constructor",
							   .confidence = "exact",
							   .source = "site" }));
	frames = stacks = 0;
}

/* A frame; NULL: without a name. */
static uint32_t frame(uint32_t module, uint64_t vaddr, const char *function, const char *file,
		      uint32_t line)
{
	struct store_frame_line at = { function, file, line, false };

	must(store_put_frame(session, ++frames, module, vaddr, &at, function ? 1 : 0));
	return frames;
}

/* Blocks of a stack: `allocs`, of which `live` live at the end. Its id. */
static uint32_t blocks(const uint32_t *of, size_t depth, uint32_t type, uint64_t size,
		       uint64_t allocs, uint64_t live)
{
	must(store_put_stack(session, ++stacks, of, depth));
	stat_later((struct store_stat){ .process = 1,
					.stack = stacks,
					.type = type,
					.allocs = allocs,
					.frees = allocs - live,
					.bytes = allocs * size,
					.live = live,
					.live_bytes = live * size,
					.min_size = size,
					.max_size = size,
					.api = SHINY_API_NEW });
	return stacks;
}

static uint32_t site(uint32_t module, uint64_t vaddr, const char *function, const char *file,
		     uint32_t line, uint32_t type, uint64_t size, uint64_t allocs, uint64_t live)
{
	uint32_t f = frame(module, vaddr, function, file, line);

	return blocks(&f, 1, type, size, allocs, live);
}

static void event(uint64_t time, uint8_t kind, uint64_t address, uint64_t size, uint32_t stack)
{
	struct event e = { .time = time,
			   .address = address,
			   .size = size,
			   .process = 1,
			   .thread = 1,
			   .stack = stack,
			   .kind = kind };

	must(store_put_events(session, &e, 1));
}

static void end(void)
{
	for (size_t i = 0; i < stat_count; i++)
		must(store_put_stat(session, &stats[i]));
	stat_count = 0;
	must(store_finish(session, NULL));
}

/* ---- reading ---- */

static void compare(enum breakdown_by by, struct diff *out)
{
	struct store *stores[2];
	struct filter filters[2];

	for (int side = 0; side < 2; side++) {
		must(store_open(paths[side], &stores[side]));
		must(filter_resolve(stores[side], NULL, &filters[side]));
	}
	must(diff_load(stores, filters,
		       &(struct diff_request){ .by = by, .order = DIFF_BLOCKS }, out));
	for (int side = 0; side < 2; side++) {
		filter_deinit(&filters[side]);
		store_close(stores[side]);
	}
}

static const struct diff_row *row_named(const struct diff *d, const char *name)
{
	for (size_t i = 0; i < d->count; i++)
		if (strcmp(d->rows[i].name, name) == 0)
			return &d->rows[i];
	return NULL;
}

/* The row has these numbers of blocks, and was matched so. */
static void is_row(const struct diff *d, const char *name, uint64_t base, uint64_t new,
		   enum match_how how)
{
	const struct diff_row *row = row_named(d, name);
	char *why = row ? mem_format("%llu -> %llu, matched by %s",
				     (unsigned long long)row->sides[0].sums.allocs,
				     (unsigned long long)row->sides[1].sums.allocs,
				     match_names[row->how])
			: mem_text("no such row is different");

	check(name,
	      row && row->sides[0].sums.allocs == base && row->sides[1].sums.allocs == new &&
		      row->how == how,
	      why);
	free(why);
}

/* ---- call sites with names ---- */

static void write_named(int side)
{
	static const char *const builds[2] = { "a1", "a2" };
	uint32_t down = side ? 50 : 0; /* somebody wrote 50 lines at the top of the file */

	begin(side, builds);
	/* the same, with other lines and addresses */
	site(PROGRAM, 0x1000 + 0x900 * side, "same(int)", "/src/a.c", 10 + down, 2, 16, 5, 0);
	/* three in one function; in the newer session, one more between the first and the second,
	 * of the same kind */
	site(PROGRAM, 0x2000, "three(int)", "/src/a.c", 20 + down, 1, 32, 100, 0);
	if (side)
		site(PROGRAM, 0x2010, "three(int)", "/src/a.c", 22 + down, 1, 32, 70, 0);
	site(PROGRAM, 0x2020, "three(int)", "/src/a.c", 24 + down + 3 * side, 2, 48, 200, 0);
	site(PROGRAM, 0x2030, "three(int)", "/src/a.c", 28 + down + 3 * side, 1, 32,
	     side ? 301 : 300, 0);
	/* a clone, other parameters, another file, a lambda with another number */
	site(PROGRAM, 0x3000, side ? "cloned(int) [clone .isra.0]" : "cloned(int)", "/src/a.c", 40,
	     2, 16, 7, 0);
	site(PROGRAM, 0x4000, side ? "changed(long, int)" : "changed(int)", "/src/a.c", 50, 2, 16,
	     side ? 9 : 8, 0);
	site(PROGRAM, 0x5000, "moved()", side ? "/src/b.c" : "/src/a.c", 60, 2, 16, side ? 4 : 3,
	     0);
	site(PROGRAM, 0x6000,
	     side ? "run()::{lambda()#3}::operator()() const"
		  : "run()::{lambda()#1}::operator()() const",
	     "/src/a.c", 70, 2, 16, side ? 2 : 1, 0);
	/* of one name in two files, and in a library whose version is another */
	site(PROGRAM, 0x7000, "init()", "/src/x.c", 5, 2, 16, 1, 0);
	site(PROGRAM, 0x7100, "init()", "/src/y.c", 5, 2, 16, side ? 3 : 2, 0);
	site(LIBRARY, 0x100 + side, "init()", "/foo/x.c", 5 + side, 2, 16, side ? 6 : 5, 0);
	/* two that only their types tell apart, the first of which is gone */
	if (!side)
		site(PROGRAM, 0x9000, "kinds()", "/src/a.c", 100, 1, 32, 13, 0);
	site(PROGRAM, 0x9010, "kinds()", "/src/a.c", side ? 101 : 110, 2, 32, side ? 13 : 12, 0);
	/* of one name and line in two directories */
	if (side)
		site(PROGRAM, 0xa000, "twin()", "/src/2/t.c", 5, 2, 16, 16, 0);
	site(PROGRAM, 0xa100, "twin()", "/src/1/t.c", 5, 2, 16, side ? 15 : 14, 0);
	if (!side)
		site(PROGRAM, 0xa200, "twin()", "/src/2/t.c", 5, 2, 16, 16, 0);
	/* gone, and new */
	site(PROGRAM, 0x8000, side ? "fresh()" : "former()", "/src/a.c", 90, 2, 16, 11, 0);
	end();
}

static void named(void)
{
	struct diff d;

	write_named(BASE);
	write_named(NEW);
	compare(BREAKDOWN_SITE, &d);
	check("lines are not names",
	      !row_named(&d, "same(int) (a.c:60)") && !row_named(&d, "same(int) (a.c:10)"),
	      "it is different");
	is_row(&d, "three(int) (a.c:72)", 0, 70, MATCH_ONLY);
	is_row(&d, "three(int) (a.c:81)", 300, 301, MATCH_ORDER);
	check("clones are their function",
	      !row_named(&d, "cloned(int) [clone .isra.0] (a.c:40)") &&
		      !row_named(&d, "cloned(int) (a.c:40)"),
	      "it is different");
	is_row(&d, "changed(long, int) (a.c:50)", 8, 9, MATCH_MOVED);
	is_row(&d, "moved() (b.c:60)", 3, 4, MATCH_MOVED);
	is_row(&d, "run()::{lambda()#3}::operator()() const (a.c:70)", 1, 2, MATCH_MOVED);
	is_row(&d, "init() (y.c:5)", 2, 3, MATCH_NAME);
	is_row(&d, "init() (x.c:6)", 5, 6, MATCH_NAME);
	is_row(&d, "kinds() (a.c:100)", 13, 0, MATCH_ONLY);
	is_row(&d, "kinds() (a.c:101)", 12, 13, MATCH_ORDER);
	is_row(&d, "twin() (t.c:5)", 14, 15, MATCH_ORDER);
	is_row(&d, "fresh() (a.c:90)", 0, 11, MATCH_ONLY);
	is_row(&d, "former() (a.c:90)", 11, 0, MATCH_ONLY);
	number("nothing else is different", d.count, 12);
	number("the same", d.same, 6);
	check("what grew most comes first",
	      d.count && strcmp(d.rows[0].name, "three(int) (a.c:72)") == 0,
	      d.count ? d.rows[0].name : "nothing");
	check("what is less comes last",
	      d.count && strcmp(d.rows[d.count - 1].name, "former() (a.c:90)") == 0, "it does not");
	diff_deinit(&d);

	compare(BREAKDOWN_TYPE, &d);
	is_row(&d, "Widget", 413, 471, MATCH_NAME); /* how surely it is known is not its name */
	number("types", d.count, 2);
	check("mostly",
	      row_named(&d, "Widget") &&
		      strcmp(row_named(&d, "Widget")->mostly, "three(int) (a.c:72)") == 0,
	      "another site");
	diff_deinit(&d);
	compare(BREAKDOWN_ROLE, &d);
	/* the program, whatever its file is called */
	is_row(&d, "prog-2", 643 + 13 + 12 + 14 + 16, 719 + 13 + 15 + 16, MATCH_NAME);
	number("roles", d.count, 1);
	diff_deinit(&d);
}

/* ---- samples ---- */

/* `draws` blocks of a sample, each for 100 of 64 bytes, live at the end. */
static void drawn(const char *function, uint64_t vaddr, uint64_t draws)
{
	struct store_stat *row = &stats[stat_count];

	if (!draws)
		return;
	site(PROGRAM, vaddr, function, "/src/s.c", 1, 2, 64, 100 * draws, 100 * draws);
	row->allocs_variance = row->live_variance = 9900 * draws;
	row->bytes_variance = row->live_bytes_variance = 9900 * draws * 64 * 64 / (1 << 20);
}

/* By the binomial distribution of one side's share at even odds, 5 of 5 have p = 0.06, 7 of 7
 * 0.016, 12 of 22 0.83 and 160 of 260 0.0002. */
static void sampled(void)
{
	static const char *const builds[2] = { "a1", "a2" };
	struct diff d;

	for (int side = 0; side < 2; side++) {
		begin(side, builds);
		drawn("five()", 0x1000, side ? 5 : 0);
		drawn("seven()", 0x2000, side ? 0 : 7);
		drawn("even()", 0x3000, side ? 12 : 10);
		drawn("more()", 0x4000, side ? 160 : 100);
		end();
	}
	compare(BREAKDOWN_SITE, &d);
	is_row(&d, "seven() (s.c:1)", 700, 0, MATCH_ONLY);
	is_row(&d, "more() (s.c:1)", 10000, 16000, MATCH_NAME);
	number("samples: nothing else is different", d.count, 2);
	diff_deinit(&d);
}

/* ---- the very same file ---- */

static void same_file(void)
{
	static const char *const builds[2] = { "a1", "a1" };
	struct diff d;

	for (int side = 0; side < 2; side++) {
		begin(side, builds);
		site(PROGRAM, 0x1000, NULL, NULL, 0, 2, 16, side ? 6 : 5, 0);
		/* of equal size and number, but not the same */
		site(PROGRAM, side ? 0x1010 : 0x1020, NULL, NULL, 0, 2, 16, 3, 0);
		if (!side)
			site(PROGRAM, 0x2000, "f()", "/src/a.c", 10, 2, 16, 3, 0);
		site(PROGRAM, 0x2010, "f()", "/src/a.c", 12, 2, 16, side ? 4 : 5, 0);
		if (side)
			site(PROGRAM, 0x2020, "f()", "/src/a.c", 14, 2, 16, 3, 0);
		end();
	}
	compare(BREAKDOWN_SITE, &d);
	is_row(&d, "prog-2+0x1000", 5, 6, MATCH_ADDRESS);
	is_row(&d, "prog-2+0x1010", 0, 3, MATCH_ONLY);
	is_row(&d, "prog+0x1020", 3, 0, MATCH_ONLY);
	is_row(&d, "f() (a.c:10)", 3, 0, MATCH_ONLY);
	is_row(&d, "f() (a.c:12)", 5, 4, MATCH_NAME);
	is_row(&d, "f() (a.c:14)", 0, 3, MATCH_ONLY);
	number("same file: nothing else", d.count, 6);
	diff_deinit(&d);
}

/* ---- no names, another build ---- */

/* Functions A and B, called by main, which libc called; each makes blocks in several places. In the
 * newer session B stands in front of A. */
static void write_stripped(int side)
{
	static const char *const builds[2] = { "b1", "b2" };
	uint64_t a = side ? 0x9000 : 0x1000, b = side ? 0x1100 : 0x7000, c = 0x5000;
	uint64_t d = side ? 0x3000 : 0xb000;
	uint32_t start, main_a, main_b, main_c, main_d;

	begin(side, builds);
	start = frame(LIBC, 0x50, "__libc_start_main", NULL, 0);
	main_a = frame(PROGRAM, side ? 0x100 : 0x4100, NULL, NULL, 0);
	main_b = frame(PROGRAM, side ? 0x140 : 0x4140, NULL, NULL, 0);
	main_c = frame(PROGRAM, side ? 0x180 : 0x4180, NULL, NULL, 0);
	main_d = frame(PROGRAM, side ? 0x1c0 : 0x41c0, NULL, NULL, 0);
	/* A: sizes tell its two apart; the newer session has 1 more of the second */
	blocks((uint32_t[]){ frame(PROGRAM, a + 8, NULL, NULL, 0), main_a, start }, 3, 0, 24, 10,
	       0);
	blocks((uint32_t[]){ frame(PROGRAM, a + (side ? 48 : 40), NULL, NULL, 0), main_a, start },
	       3, 0, 40, side ? 21 : 20, 0);
	/* B: two that only their distance orders; one grew */
	blocks((uint32_t[]){ frame(PROGRAM, b + 8, NULL, NULL, 0), main_b, start }, 3, 0, 64, 30,
	       0);
	blocks((uint32_t[]){ frame(PROGRAM, b + 56, NULL, NULL, 0), main_b, start }, 3, 0, 64,
	       side ? 44 : 40, 0);
	/* C: two that nothing tells apart, as its code is another now */
	blocks((uint32_t[]){ frame(PROGRAM, c + 8, NULL, NULL, 0), main_c, start }, 3, 0, 128, 7,
	       0);
	blocks((uint32_t[]){ frame(PROGRAM, c + (side ? 72 : 56), NULL, NULL, 0), main_c, start },
	       3, 0, 128, side ? 9 : 8, 0);
	/* D: two that the call alone tells apart, new and malloc; they have changed places */
	for (int i = 0; i < 2; i++) {
		bool is_new = i == side;

		blocks((uint32_t[]){ frame(PROGRAM, d + (i ? 40 : 8), NULL, NULL, 0), main_d,
				     start },
		       3, 0, 200, is_new ? 50 + (uint64_t)side : 60, 0);
		if (!is_new)
			stats[stat_count - 1].api = SHINY_API_MALLOC;
	}
	end();
}

static void stripped(void)
{
	struct diff d;

	write_stripped(BASE);
	write_stripped(NEW);
	compare(BREAKDOWN_SITE, &d);
	is_row(&d, "prog-2+0x9030 ← __libc_start_main", 20, 21, MATCH_CALLS);
	is_row(&d, "prog-2+0x1138 ← __libc_start_main", 40, 44, MATCH_CALLS);
	is_row(&d, "prog-2+0x5008 ← __libc_start_main and 1 more", 15, 16, MATCH_TOGETHER);
	is_row(&d, "prog-2+0x3028 ← __libc_start_main", 50, 51, MATCH_CALLS);
	number("stripped: nothing else", d.count, 4);
	number("stripped: by calls", d.sites[MATCH_CALLS], 6);
	number("stripped: together", d.sites[MATCH_TOGETHER], 1);
	number("stripped: only", d.sites[MATCH_ONLY], 0);
	diff_deinit(&d);
}

/* ---- numbers over time ---- */

/* Ten blocks one after the other, with so many others meanwhile; then one that stays, and two at
 * once. */
static void write_lives(int side)
{
	static const char *const builds[2] = { "a1", "a1" };
	uint64_t time = 100, address = 0x1000;
	uint32_t slow, other, leak, wide;

	early = true;
	begin(side, builds);
	early = false;
	/* every other block of slow() is of another type, as its vtable says */
	slow = site(PROGRAM, 0x1000, "slow()", "/src/a.c", 1, 2, 16, 5, 0);
	stat_later((struct store_stat){ .process = 1,
					.stack = slow,
					.vtable = 8,
					.type = 1,
					.allocs = 5,
					.frees = 5,
					.bytes = 80,
					.min_size = 16,
					.max_size = 16 });
	other = site(PROGRAM, 0x2000, "other()", "/src/a.c", 2, 1, 32, side ? 29 : 30, 0);
	leak = site(PROGRAM, 0x3000, "leak()", "/src/a.c", 3, 2, 100, 1, side);
	wide = site(PROGRAM, 0x4000, "wide()", "/src/a.c", 4, 2, side ? 56 : 40, 2, 0);
	if (side) /* the vptr of one of other()'s blocks was not read in time */
		stat_later((struct store_stat){ .process = 1,
						.stack = other,
						.vtable = 9,
						.type = 0,
						.allocs = 1,
						.frees = 1,
						.bytes = 32,
						.min_size = 32,
						.max_size = 32 });
	/* another process, when the first one is gone */
	must(store_put_process(session, &(struct store_process){ .id = 2,
								 .pid = 101,
								 .name = "late",
								 .role = "",
								 .executable = "/late",
								 .command = "",
								 .ending = "exited",
								 .attach = "symbols",
								 .attach_text = "",
								 .start = 91000,
								 .end = 99000 }));
	stat_later((struct store_stat){ .process = 2,
					.stack = leak,
					.type = 2,
					.allocs = 1,
					.bytes = 200,
					.live = 1,
					.live_bytes = 200,
					.min_size = 200,
					.max_size = 200 });
	for (int i = 0; i < 10; i++) {
		event(time += 10, EVENT_ALLOC, 0x900000, 16, slow);
		if (i % 2)
			must(store_put_events(session,
					      &(struct event){ .time = time,
							       .address = 0x900000,
							       .vtable = 8,
							       .process = 1,
							       .thread = 1,
							       .kind = EVENT_VPTR },
					      1));
		if (!side)
			event(time += 10, EVENT_FREE, 0x900000, 0, 0);
		for (int k = 0; k < 3; k++, address += 0x40) {
			event(time += 10, EVENT_ALLOC, address, 32, other);
			event(time += 10, EVENT_FREE, address, 0, 0);
		}
		if (side)
			event(time += 10, EVENT_FREE, 0x900000, 0, 0);
	}
	event(time += 10, EVENT_ALLOC, 0xa00000, 100, leak);
	if (!side)
		event(time += 10, EVENT_FREE, 0xa00000, 0, 0);
	event(time += 10, EVENT_ALLOC, 0xb00000, side ? 56 : 40, wide);
	event(time += 10, EVENT_ALLOC, 0xb10000, side ? 56 : 40, wide);
	event(time += 10, EVENT_FREE, 0xb00000, 0, 0);
	event(time += 10, EVENT_FREE, 0xb10000, 0, 0);
	if (!side) { /* its process has ended when its free comes: it holds nothing any more */
		event(time += 10, EVENT_ALLOC, 0xd00000, 201, slow);
		event(94000, EVENT_FREE, 0xd00000, 0, 0);
	}
	must(store_put_events(session,
			      &(struct event){ .time = 95000,
					       .address = 0xc00000,
					       .size = 200,
					       .process = 2,
					       .thread = 2,
					       .stack = leak,
					       .kind = EVENT_ALLOC },
			      1));
	end();
}

static void over_time(void)
{
	const struct diff_row *row;
	struct diff d;

	write_lives(BASE);
	write_lives(NEW);
	compare(BREAKDOWN_SITE, &d);
	number("lives: rows", d.count, 3);
	row = row_named(&d, "slow() (a.c:1)");
	check("lives: a longer one",
	      row && row->places[DIFF_LIFETIME] == 1 && row->ranks[DIFF_LIFETIME] > 0 &&
		      !row->places[DIFF_BLOCKS],
	      "no");
	number("lives: p50 in the base", row ? row->sides[0].p50_steps : 99, 0);
	number("lives: p50 in the new one", row ? row->sides[1].p50_steps : 99, 3);
	number("lives: episodes", row ? row->sides[1].episodes : 0, 10);
	check("lives: others are not", d.counts[DIFF_LIFETIME] == 1, "another one");
	row = row_named(&d, "leak() (a.c:3)");
	check("lives: the leak",
	      row && row->places[DIFF_LIVE] == 1 && d.counts[DIFF_LIVE] == 1 &&
		      row->sides[1].sums.live_bytes == 300,
	      "no");
	row = row_named(&d, "wide() (a.c:4)");
	check("lives: the size",
	      row && row->places[DIFF_SIZE] == 1 && row->sides[0].size == 40 &&
		      row->sides[1].size == 56 && row->ranks[DIFF_SIZE] == 32,
	      "no");
	number("lives: the peak", row ? row->sides[1].peak_bytes : 0, 112);
	number("lives: all peaks", d.sessions[0].peak_bytes, 201);
	/* the leak is there until its process ends, and not longer */
	number("lives: all peaks, new", d.sessions[1].peak_bytes, 100 + 112);
	diff_deinit(&d);
	compare(BREAKDOWN_TYPE, &d);
	check("lives: without a type", !row_named(&d, "(no type)"), "a row");
	diff_deinit(&d);
}

int main(void)
{
	for (int side = 0; side < 2; side++)
		snprintf(paths[side], sizeof(paths[side]), "/tmp/shiny-test-diff-%d-%d.shiny",
			 (int)getpid(), side);
	named();
	same_file();
	sampled();
	stripped();
	over_time();
	for (int side = 0; side < 2; side++)
		unlink(paths[side]);
	return failures != 0;
}
