/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "books.h"
#include "plan.h"
#include "program.h"

enum { BATCH = 4096 };

static struct store *store;
static struct event waiting[BATCH];
static size_t waiting_count;

static void must(struct shiny_err *err)
{
	if (!err)
		return;
	fprintf(stderr, "session_make: %s\n", err->message);
	exit(4);
}

static void put_names(void)
{
	char function[32], file[32];

	must(store_put_number(store, "with_events", 1));
	must(store_put_text(store, "version", "made"));
	must(store_put_text(store, "command", "made"));
	must(store_put_module(store, &(struct store_module){ .id = 1,
							     .path = "/opt/made/bin/made",
							     .build_id = "",
							     .symbols = "dwarf" }));
	for (uint32_t i = 1; i <= STACKS + FREERS; i++) {
		snprintf(function, sizeof(function),
			 i <= STACKS ? "make_%" PRIu32 : "drop_%" PRIu32, i);
		snprintf(file, sizeof(file), "/src/part%" PRIu32 ".cc", i % 97);
		must(store_put_frame(store, i, 1, UINT64_C(0x1000) + 16 * i,
				     &(struct store_frame_line){ function, file, i, false }, 1));
	}
	for (uint32_t i = 1; i <= STACKS + FREERS; i++) {
		uint32_t frames[] = { i, 1 + i / 10, 1 + i / 100, 1 };

		must(store_put_stack(store, i, frames, 4));
	}
	for (uint32_t i = 1; i <= TYPES; i++) {
		snprintf(function, sizeof(function), "made::Type%" PRIu32, i);
		must(store_put_type(store, &(struct store_type){
						   .id = i,
						   .name = function,
						   .form = "object",
						   .rule = i % VPTR_EVERY ? "variable" : "vptr",
						   .confidence = "high",
						   .source = i % VPTR_EVERY ? "site" : "symbol" }));
		if (i % VPTR_EVERY == 0)
			must(store_put_vtable(store,
					      &(struct store_vtable){ .id = i,
								      .module = 1,
								      .vaddr = 0x900000 + 64 * i,
								      .source = "symbol",
								      .type = function }));
	}
}

static void put_process(uint32_t id, uint64_t end)
{
	char role[16];

	snprintf(role, sizeof(role), "part-%" PRIu32, id);
	must(store_put_process(store,
			       &(struct store_process){ .id = id,
							.parent = id == 2 ? 1 : 0,
							.pid = 1000 + id,
							.name = "made",
							.role = role,
							.executable = "/opt/made/bin/made",
							.command = "made",
							.start = program.processes[id].forked,
							.end = end,
							.ending = "exited",
							.attach = "symbols",
							.attach_text = "made up",
							.forked = program.processes[id].forked,
							.status = 0 }));
}

static void put_numbers(void)
{
	for (uint32_t p = 1; p <= PROCESSES; p++) {
		for (uint32_t s = 1; s <= STACKS; s++) {
			for (unsigned v = 0; v < 2; v++) {
				struct store_stat *row = &books.stats[p][s][v];

				if (!row->allocs && !row->inherited)
					continue;
				row->process = p;
				row->stack = s;
				row->vtable = v ? plans[s].type : 0;
				row->type = plan_type(s, v);
				row->api = plans[s].api;
				row->size_step = row->min_size != row->max_size;
				must(store_put_stat(store, row));
				for (unsigned b = 0; b < BINS; b++)
					if (books.bins[p][s][v][b].count)
						must(store_put_lifetime(
							store,
							&(struct store_lifetime){
								p, s, row->type, (uint8_t)b, false,
								books.bins[p][s][v][b].count,
								books.bins[p][s][v][b].bytes }));
			}
			if (books.peaks[p][s].peak_blocks) {
				books.peaks[p][s].process = p;
				books.peaks[p][s].stack = s;
				must(store_put_peak(store, &books.peaks[p][s]));
			}
		}
		for (uint32_t b = 0; b <= BUCKETS; b++)
			if (books.buckets[p][b].length)
				must(store_put_bucket(store, &books.buckets[p][b]));
		put_process(p, program.clock_ns);
	}
	for (uint32_t t = 1; t <= THREADS; t++)
		must(store_put_thread(store, &(struct store_thread){ .id = t,
								     .process = thread_process[t],
								     .tid = 2000 + t,
								     .name = "made",
								     .end = program.clock_ns }));
	must(store_put_number(store, "duration_ns", program.clock_ns));
	must(store_put_number(store, "records", program.events));
}

void session_begin(const char *path)
{
	must(store_create(path, true, true, &store));
	put_names();
}

void session_put_event(const struct event *event)
{
	waiting[waiting_count++] = *event;
	if (waiting_count == BATCH) {
		must(store_put_events(store, waiting, BATCH));
		waiting_count = 0;
	}
}

void session_end(void)
{
	must(store_put_events(store, waiting, waiting_count));
	put_numbers();
	must(store_finish(store, NULL));
}
