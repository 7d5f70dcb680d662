/* SPDX-License-Identifier: Apache-2.0 */
/* test_sizes.c: a session that is written down, of which every sum is known: by size class, octave,
 * type and call site. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/space/sizes.h"
#include "session_writer.h"

static char path[64];
static struct store *session;

static void near(const char *name, double got, double want)
{
	checkf(name, fabs(got - want) <= want * 1e-9, "got %g, want %g", got, want);
}

/* Call sites, a stack each, all but the last with a type. */
enum { SMALL = 1, LARGE, KEPT, RAW, OBJECT, SITES };
static const char *const functions[SITES] = {
	[SMALL] = "small", [LARGE] = "large", [KEPT] = "kept", [RAW] = "raw", [OBJECT] = "object"
};

static void process(uint32_t id, uint32_t parent, const char *role, const char *attach,
		    const char *ending, uint64_t forked)
{
	put_process(session, (struct store_process){ .id = id,
						     .parent = parent,
						     .role = role,
						     .ending = ending,
						     .attach = attach,
						     .forked = forked });
}

static void event(uint64_t time, uint32_t in, uint8_t kind, uint64_t address, uint64_t size,
		  uint32_t site, uint8_t api)
{
	put_event(session, (struct event){ .time = time,
					   .address = address,
					   .size = size,
					   .old_address = kind == EVENT_REALLOC ? address : 0,
					   .process = in,
					   .thread = 1,
					   .stack = site,
					   .kind = kind,
					   .api = api });
}

static void record(void)
{
	session = session_begin(path, 100000);
	process(1, 0, "", "symbols", "exited", 0);
	process(2, 1, "", "symbols", "exited", 50000); /* a fork */
	process(3, 0, "renderer", "partition_alloc", "exited", 0);
	process(4, 0, "", "symbols", "replaced", 0);
	put_program(session);
	for (uint32_t i = 1; i < SITES; i++) {
		put_site(session, i, functions[i]);
		if (i != RAW)
			put_type(session, (struct store_type){ .id = i, .name = functions[i] });
	}
	for (uint32_t i = 1; i < SITES; i++)
		for (uint32_t p = 1; p <= 4; p++)
			must(store_put_stat(session,
					    &(struct store_stat){ .process = p,
								  .stack = i,
								  .type = i == RAW ? 0 : i }));
	/* glibc: 1, 24 and 25 bytes have 24, 24 and 40; they live 100, 100 and 10,000 ns */
	event(1000, 1, EVENT_ALLOC, 0x10020, 1, SMALL, SHINY_API_MALLOC);
	event(1100, 1, EVENT_FREE, 0x10020, 0, 0, SHINY_API_FREE);
	event(1200, 1, EVENT_ALLOC, 0x10020, 24, SMALL, SHINY_API_MALLOC);
	event(1300, 1, EVENT_FREE, 0x10020, 0, 0, SHINY_API_FREE);
	event(1400, 1, EVENT_ALLOC, 0x10020, 25, SMALL, SHINY_API_MALLOC);
	event(11400, 1, EVENT_FREE, 0x10020, 0, 0, SHINY_API_FREE);
	/* 200,000 in a mapping of its own: 49 pages less 16; 200,000 in the heap: 200,008 */
	event(12000, 1, EVENT_ALLOC, 0x7f0000000010, 200000, LARGE, SHINY_API_MALLOC);
	event(12001, 1, EVENT_FREE, 0x7f0000000010, 0, 0, SHINY_API_FREE);
	event(12100, 1, EVENT_ALLOC, 0x20020, 200000, LARGE, SHINY_API_MALLOC);
	event(12101, 1, EVENT_FREE, 0x20020, 0, 0, SHINY_API_FREE);
	/* two that stay, one by a realloc of 10 bytes to 100: 24 and 104; the child of the fork
	 * holds both, too, and frees one */
	event(13000, 1, EVENT_ALLOC, 0x30020, 10, KEPT, SHINY_API_MALLOC);
	event(14000, 1, EVENT_REALLOC, 0x30020, 100, KEPT, SHINY_API_REALLOC);
	event(15000, 1, EVENT_ALLOC, 0x40020, 8, RAW, SHINY_API_MEMALIGN);
	event(60000, 2, EVENT_FREE, 0x40020, 0, 0, SHINY_API_FREE);
	/* PartitionAlloc with 4 bytes at the end: 13 have 28; Oilpan: 9 have 16, later 20, then 19
	 * have 24: 20 bytes were asked for */
	event(20000, 3, EVENT_ALLOC, 0x50000, 13, OBJECT, SHINY_API_EITHER_ALLOC);
	event(21000, 3, EVENT_ALLOC, 0x60000, 9, OBJECT, SHINY_API_COLLECTED);
	event(22000, 3, EVENT_REALLOC, 0x60000, 20, OBJECT, SHINY_API_COLLECTED);
	event(23000, 3, EVENT_REALLOC, 0x60000, 19, OBJECT, SHINY_API_COLLECTED);
	/* what exec replaced is not live */
	event(30000, 4, EVENT_ALLOC, 0x70020, 8, RAW, SHINY_API_MALLOC);
	must(store_finish(session, NULL));
	must(store_open(path, &session));
}

static const struct sizes_row *row_of(const struct sizes_rows *rows, const char *name)
{
	static const struct sizes_row none = { .least = UINT64_MAX };

	for (size_t i = 0; i < rows->count; i++)
		if (strncmp(rows->rows[i].name, name, strlen(name)) == 0)
			return &rows->rows[i];
	return &none;
}

int main(void)
{
	struct sizes sizes;
	const struct sizes_row *row, *extremes[2];
	struct filter all;

	snprintf(path, sizeof(path), "/tmp/shiny-test-sizes-%d.shiny", (int)getpid());
	record();
	must(filter_resolve(session, NULL, &all));
	must(sizes_load(session, &all, NULL, SIZES_BY_LIVE_SLOP, true, false, &sizes));

	row = &sizes.total;
	number("all/blocks", row->sums.blocks, 11);
	number("all/bytes", row->sums.bytes,
	       1 + 24 + 25 + 200000 + 200000 + 10 + 100 + 8 + 13 + 20 + 8);
	number("all/usable", row->sums.usable,
	       24 + 24 + 40 + 200688 + 200008 + 24 + 104 + 24 + 28 + 24 + 24);
	number("all/slots", row->sums.slots,
	       32 + 32 + 48 + 200704 + 200016 + 32 + 112 + 32 + 32 + 32 + 32);
	/* two of the parent, two of the renderer; the one that the child inherited stands apart */
	number("all/live", row->sums.live, 4);
	number("all/live bytes", row->sums.live_bytes, 100 + 8 + 13 + 19);
	number("all/live slop", size_live_slop(&row->sums), 4 + 16 + 15 + 5);
	number("all/ended", row->ended, 6);
	number("all/persistent", row->persistent, 5);
	number("aligned", sizes.aligned, 1);
	/* of ln(size) and ln(lifetime): 1, 24, 25, 200,000, 200,000 and 10 bytes lived 100, 100,
	 * 10,000, 1, 1 and 1,000 ns */
	{
		const double x[] = { log(1), log(24), log(25), log(200000), log(200000), log(10) };
		const double y[] = { log(100), log(100), log(10000), log(1), log(1), log(1000) };
		double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;

		for (unsigned i = 0; i < 6; i++) {
			mx += x[i] / 6;
			my += y[i] / 6;
		}
		for (unsigned i = 0; i < 6; i++) {
			xx += (x[i] - mx) * (x[i] - mx);
			yy += (y[i] - my) * (y[i] - my);
			xy += (x[i] - mx) * (y[i] - my);
		}
		near("correlation", -sizes.correlation, -xy / sqrt(xx * yy));
	}
	number("duration", sizes.duration, 100000);
	number("glibc/blocks", sizes.allocators[SIZE_GLIBC].sums.blocks, 9);
	number("PartitionAlloc/slop", size_slop(&sizes.allocators[SIZE_PARTITION_CHILD].sums), 15);
	number("Oilpan/bytes", sizes.allocators[SIZE_OILPAN].sums.bytes, 20);

	row = row_of(&sizes.classes, "glibc 32");
	number("class 32/blocks", row->sums.blocks, 5);
	number("class 32/least", row->least, 1);
	number("class 32/most", row->most, 24);
	number("class 32/usable", row->usable, 24);
	near("class 32/geometric mean", sizes_geometric_mean(row), cbrt(100.0 * 100 * 1000));
	row = row_of(&sizes.classes, "glibc 200704, mapped");
	number("mapped/blocks", row->sums.blocks, 1);
	near("mapped/lifetime of 1 ns", sizes_geometric_mean(row), 1);
	number("in the heap/blocks", row_of(&sizes.classes, "glibc 200016")->sums.blocks, 1);
	number("classes", sizes.classes.count, 7);

	number("octaves/up to 8", sizes.octaves[0].sums.blocks, 3);
	number("octaves/up to 16", sizes.octaves[1].sums.blocks, 2);
	number("octaves/up to 32", sizes.octaves[2].sums.blocks, 3);
	number("octaves/bound", sizes.octaves[2].up_to, 32);
	near("octaves/geometric mean", distribution_geometric_mean(&sizes.octaves[2].ages),
	     sqrt(100.0 * 10000));
	number("octaves/persistent", sizes.octaves[2].ages.censored, 1);
	number("octaves/up to 256 K", sizes.octaves[15].sums.blocks, 2);

	row = row_of(&sizes.sites, "kept");
	number("site/slop", size_slop(&row->sums), 14 + 4);
	number("site/live slop, but for the inherited one", size_live_slop(&row->sums), 4);
	number("site/live slots", row->sums.live_slots, 112);
	row = row_of(&sizes.types, "object");
	number("type/blocks", row->sums.blocks, 2);
	number("type/persistent", row->persistent, 2);
	/* slop 19 live, raw's 16 */
	number("order", sizes.types.count && strcmp(sizes.types.rows[0].name, "object") == 0, 1);

	number("extremes/smallest", sizes_extremes(&sizes, false, 2, extremes), 2);
	/* 16.5, 16.67 */
	number("extremes/smallest is",
	       strcmp(extremes[0]->name, "object") == 0 && strcmp(extremes[1]->name, "small") == 0,
	       1);
	number("extremes/largest", sizes_extremes(&sizes, true, 1, extremes), 1);
	number("extremes/largest is", strcmp(extremes[0]->name, "large"), 0);
	sizes_deinit(&sizes);

	must(sizes_load(session, &all, "small", SIZES_BY_SIZE, true, false, &sizes));
	number("match/sites", sizes.sites.count, 1);
	number("match/all is still all", sizes.total.sums.blocks, 11);
	number("by size",
	       sizes.classes.count > 1 && sizes.classes.rows[0].slot <
						  sizes.classes.rows[sizes.classes.count - 1].slot,
	       1);
	sizes_deinit(&sizes);
	filter_deinit(&all);
	must(filter_resolve(session, "id:2", &all));
	must(sizes_load(session, &all, NULL, SIZES_BY_SLOP, true, false, &sizes));
	number("child/blocks", sizes.total.sums.blocks, 0);
	number("child/no correlation", isnan(sizes.correlation), 1);
	number("child/live", sizes.total.sums.live, 0);
	sizes_deinit(&sizes);
	filter_deinit(&all);
	store_close(session);
	unlink(path);
	return failures != 0;
}
