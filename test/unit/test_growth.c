/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_growth.c: buffers whose growth is known. The figures of the buffer that grows to 1 MiB are
 * the ones that Firefox's developers worked out for theirs: by single bytes 549,756,338,176 bytes
 * in all, by 4 KiB 134,742,016, by doubling from 4 KiB 2,093,056.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/time/growth.h"
#include "session_writer.h"

static char path[64];
static struct store *session;
static uint64_t now;

/* Call sites, a stack each. */
enum { BY_BYTES = 1, BY_PAGES, BY_DOUBLING, VECTOR, STRINGS, SHRINKS, SITES };
static const char *const functions[SITES] = {
	[BY_BYTES] = "by_bytes",  [BY_PAGES] = "by_pages", [BY_DOUBLING] = "by_doubling",
	[VECTOR] = "fill_vector", [STRINGS] = "strings",   [SHRINKS] = "shrinks"
};

static void begin(void)
{
	session = session_begin(path, 100000000);
	put_process(session, (struct store_process){ .id = 1 });
	put_program(session);
	for (uint32_t i = 1; i < SITES; i++)
		put_site(session, i, functions[i]);
	for (uint32_t i = 1; i < SITES; i++)
		must(store_put_stat(session, &(struct store_stat){ .process = 1, .stack = i }));
}

static void event(uint8_t kind, uint64_t address, uint64_t size, uint64_t old, uint32_t thread,
		  uint32_t site)
{
	put_event(session, (struct event){ .time = ++now,
					   .address = address,
					   .size = size,
					   .old_address = old,
					   .process = 1,
					   .thread = thread,
					   .stack = site,
					   .kind = kind });
}

static const struct growth_row *row_of(const struct growth *growth, const char *name)
{
	static const struct growth_row none = { .policy = GROWTH_POLICIES };

	for (size_t i = 0; i < growth->count; i++)
		if (strncmp(growth->rows[i].name, name, strlen(name)) == 0)
			return &growth->rows[i];
	return &none;
}

static void record(void)
{
	uint64_t at = 0x100000, small = 0x900000;

	begin();
	event(EVENT_ALLOC, 0x10000, 1, 0, 1, BY_BYTES);
	for (uint64_t size = 2; size <= 1 << 20; size++)
		event(EVENT_REALLOC, 0x10000, size, 0x10000, 1, BY_BYTES);
	event(EVENT_FREE, 0x10000, 0, 0, 1, 0);
	/* realloc of nothing begins a buffer; it moves every time */
	event(EVENT_REALLOC, 0x21000, 4096, 0, 1, BY_PAGES);
	for (uint64_t size = 8192; size <= 1 << 20; size += 4096)
		event(EVENT_REALLOC, 0x20000 + size % 8192, size, 0x20000 + (size - 4096) % 8192, 1,
		      BY_PAGES);
	event(EVENT_ALLOC, 0x40000, 4096, 0, 1, BY_DOUBLING);
	for (uint64_t size = 8192; size <= 1 << 20; size *= 2)
		event(EVENT_REALLOC, 0x40000, size, 0x40000, 1, BY_DOUBLING);
	/* a vector on each of two threads at once: the larger block, then the free of the smaller
	 * one */
	for (uint64_t size = 16; size <= 4096; size = size * 3 / 2, at += 0x10000)
		for (uint32_t thread = 1; thread <= 2; thread++) {
			event(EVENT_ALLOC, at + (thread << 28), size, 0, thread, VECTOR);
			if (size > 16)
				event(EVENT_FREE, at - 0x10000 + (thread << 28), 0, 0, thread, 0);
		}
	/* strings of all sizes come and go: none grows into another one */
	for (unsigned i = 0; i < 100; i++) {
		event(EVENT_ALLOC, small + i * 64, 10 + i, 0, 1, STRINGS);
		event(EVENT_ALLOC, small + 0x10000 + i * 64, 8, 0, 1, SHRINKS);
		if (i)
			event(EVENT_FREE, small + (i - 1) * 64, 0, 0, 1, 0);
	}
	event(EVENT_ALLOC, 0x50000, 1000, 0, 1, SHRINKS);
	event(EVENT_REALLOC, 0x50000, 10, 0x50000, 1, SHRINKS);
	event(EVENT_FREE, 0x50000, 0, 0, 1, 0);
	must(store_finish(session, NULL));
}

int main(void)
{
	struct growth growth;
	const struct growth_row *row;
	struct filter all;

	snprintf(path, sizeof(path), "/tmp/shiny-test-growth-%d.shiny", (int)getpid());
	record();
	must(store_open(path, &session));
	must(filter_resolve(session, NULL, &all));
	must(growth_load(session, &all, NULL, 1, false, &growth));

	row = row_of(&growth, "by_bytes");
	number("by bytes/cumulative", row->cumulative, 549756338176);
	number("by bytes/steps", row->steps, (1 << 20) - 1);
	number("by bytes/policy", row->policy, GROWTH_CONSTANT);
	number("by bytes/step", row->step_bytes, 1);
	number("by bytes/doubling", row->doubling, (2 << 20) - 1);
	number("by bytes comes first", growth.count && row == growth.rows, 1);
	row = row_of(&growth, "by_pages");
	number("by pages/cumulative", row->cumulative, 134742016);
	number("by pages/doubling", row->doubling, 2093056);
	number("by pages/policy", row->policy, GROWTH_CONSTANT);
	number("by pages/step", row->step_bytes, 4096);
	row = row_of(&growth, "by_doubling");
	number("by doubling/cumulative", row->cumulative, 2093056);
	number("by doubling/waste", growth_waste(row), 0);
	number("by doubling/policy", row->policy, GROWTH_GEOMETRIC);
	number("by doubling/factor", fabs(row->factor - 2) < 1e-9, 1);
	row = row_of(&growth, "fill_vector");
	number("vector/buffers", row->chains, 2);
	number("vector/reallocs", row->reallocs, 0);
	number("vector/policy", row->policy, GROWTH_GEOMETRIC);
	number("vector/factor", fabs(row->factor - 1.5) < 0.01, 1);
	number("vector/one chain each", row->most_steps * 2, row->steps);
	number("strings do not grow", row_of(&growth, "strings")->steps, 0);
	number("shrinking is no growth", row_of(&growth, "shrinks")->steps, 0);

	growth_deinit(&growth);
	filter_deinit(&all);
	store_close(session);
	unlink(path);
	return failures != 0;
}
