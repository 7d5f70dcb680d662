/* SPDX-License-Identifier: Apache-2.0 */
/* test_leaks.c: what grows to the end and what does not, of call sites whose live blocks follow
 * known curves, of programs that run all the time, or stand still; and processes that are gone. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/time/leaks.h"
#include "session_writer.h"

#define MS UINT64_C(1000000)
enum { DURATION_MS = 10000 }; /* of the program's own time, which its curves go by */

static char path[64];

/* Live blocks at a time in ms; steps of 10 ms. */
static unsigned steady(unsigned ms) { return ms / 10; }
static unsigned noisy(unsigned ms) { return ms / 20 + (ms / 10 * 7919u) % 60; }
static unsigned table(unsigned ms) { return ms > 100 ? 500 : 0; }
static unsigned phase(unsigned ms) { return ms < 4000 ? 0 : ms > 5000 ? 1000 : ms - 4000; }
static unsigned levels_off(unsigned ms) { return ms < 6000 ? ms / 10 : 600; }
static unsigned in_and_out(unsigned ms) { return (ms / 10 * 2654435761u >> 16) % 100; }
static unsigned late(unsigned ms) { return ms > 9000 ? ms - 9000 : 0; }
static unsigned sawtooth(unsigned ms) { return ms % 2500 / 5; }
/* Two halves of one leak. The second quarter, after the first tenth, adds a sixteenth of the rise
 * of the one; of the other it would add a little less. */
static unsigned stairs(unsigned ms, unsigned step)
{
	if (ms < 3250)
		return ms / 5;
	return ms < 5500 ? 650 + step * (ms - 3250) / 2250 : 650 + step + (ms - 5500) / 5;
}
static unsigned one_half(unsigned ms) { return stairs(ms, 102); }
static unsigned other_half(unsigned ms) { return stairs(ms, 92); }

static const struct curve {
	const char *function;
	unsigned (*live)(unsigned ms);
	bool grows;
} curves[] = {
	{ "steady", steady, true },
	{ "noisy", noisy, true },
	{ "table", table, false },
	{ "phase", phase, false },
	{ "levels_off", levels_off, false },
	{ "in_and_out", in_and_out, false },
	{ "late", late, false },
	{ "sawtooth", sawtooth, false },
	{ "one_half", one_half, true },
	{ "other_half", other_half, true },
};
enum { CURVES = sizeof(curves) / sizeof(*curves) };

/* When a moment of the program's own time comes, in ms. */
static unsigned always(unsigned ms) { return ms; }
/* It starts late, and others have the processor for most of the time. */
static unsigned stands_still(unsigned ms)
{
	return ms / 20 + 4000 + (ms > 3000 ? 3500 : 0) + (ms > 6000 ? 1500 : 0);
}
/* It does its work in a third of the time, and then waits. */
static unsigned waits(unsigned ms) { return ms / 3; }

static void put(struct store *s, unsigned ms, uint8_t kind, uint32_t process, unsigned curve,
		unsigned index)
{
	put_event(s, (struct event){ .time = ms * MS,
				     .address = 0x100000000 * (curve + 1) + index * 64,
				     .size = kind == EVENT_ALLOC ? 10 * (curve + 1) : 0,
				     .process = process,
				     .thread = 1,
				     .stack = kind == EVENT_ALLOC ? curve + 1 : 0,
				     .kind = kind });
}

static void record(unsigned (*when)(unsigned ms))
{
	unsigned live[CURVES] = { 0 };
	struct store *s = session_begin(path, DURATION_MS * MS);

	put_process(s, (struct store_process){ .id = 1 });
	put_process(s, (struct store_process){ .id = 2, .ending = "replaced" });
	put_program(s);
	for (uint32_t i = 0; i < CURVES; i++)
		put_site(s, i + 1, curves[i].function);
	for (uint32_t i = 0; i < CURVES; i++)
		must(store_put_stat(s, &(struct store_stat){ .process = 1, .stack = i + 1 }));
	put(s, 5, EVENT_ALLOC, 2, 0, 0); /* of a process that exec replaced */
	for (unsigned ms = 10; ms < DURATION_MS; ms += 10)
		for (unsigned c = 0; c < CURVES; c++) {
			for (; live[c] < curves[c].live(ms); live[c]++)
				put(s, when(ms), EVENT_ALLOC, 1, c, live[c]);
			for (; live[c] > curves[c].live(ms); live[c]--)
				put(s, when(ms), EVENT_FREE, 1, c, live[c] - 1);
		}
	must(store_finish(s, NULL));
}

/* The verdicts on the program's curves, as it runs at these times; `none`: nothing grows. */
static void judge(const char *name, unsigned (*when)(unsigned ms), bool none)
{
	struct leaks leaks;
	struct store *s;
	struct filter all;
	size_t growing = 0, wanted = 0;
	char text[80];

	record(when);
	must(store_open(path, &s));
	must(filter_resolve(s, NULL, &all));
	must(leaks_load(s, &all, GROUP_SITE, NULL, NULL, false, false, &leaks));
	for (unsigned c = 0; c < CURVES; c++) {
		const struct leak_row *row = NULL;
		unsigned live = curves[c].live(DURATION_MS - 10), replaced;

		for (size_t i = 0; i < leaks.count; i++)
			if (strncmp(leaks.rows[i].name, curves[c].function,
				    strlen(curves[c].function)) == 0)
				row = &leaks.rows[i];
		snprintf(text, sizeof(text), "%s/%s", name, curves[c].function);
		number(text, row ? row->grows : false, curves[c].grows && !none);
		replaced = c == 0; /* one more block, which exec took away */
		number("blocks", row ? row->left.blocks : 0, live + replaced);
		number("bytes", row ? row->left.bytes : 0,
		       (uint64_t)(live + replaced) * 10 * (c + 1));
		number("abandoned", row ? row->abandoned : 0, replaced);
		if (c == 0 && row && when == always)
			number("slope of 100 a second", fabs(row->slope - 100) < 0.5, 1);
		wanted += curves[c].grows && !none;
	}
	while (growing < leaks.count && leaks.rows[growing].grows)
		growing++;
	number("those that grow come first", growing, wanted);
	leaks_deinit(&leaks);
	filter_deinit(&all);
	store_close(s);
	unlink(path);
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/shiny-test-leaks-%d.shiny", (int)getpid());
	judge("always", always, false);
	judge("stands still", stands_still, false);
	judge("waits", waits, true);
	return failures != 0;
}
