/* SPDX-License-Identifier: Apache-2.0 */
/* test_block_run.c: births and ends of blocks that are applied a run at a time: where a run ends,
 * and that each of its records counts as itself. */
#include <stdlib.h>
#include <string.h>

#include "../../src/sidecar/intake/apply.h"
#include "../../src/sidecar/state/session_stream.h"
#include "check.h"

enum { RECORDS = 8, A = 0x1000, B = 0x2000, STEP = 100, ALL = 1000 };

struct bench {
	struct session session;
	struct process process;
	struct stream stream;
	struct shiny_chunk *chunk;
};

static struct shiny_record record(unsigned kind, uint64_t address, uint64_t size, uint64_t time)
{
	return (struct shiny_record){
		.w0 = address >> SHINY_GRANULE_SHIFT << SHINY_ADDRESS_SHIFT,
		.w1 = time << SHINY_DT_SHIFT | size << SHINY_SIZE_SHIFT |
		      (uint64_t)SHINY_API_MALLOC << SHINY_API_SHIFT | kind
	};
}

/* Two births, their ends, and a birth, STEP ticks apart, of which the first is at the head. A tick
 * is a nanosecond. */
static struct bench *begin(void)
{
	struct bench *b = mem_zero(1, sizeof(*b));
	struct shiny_record *r;

	b->chunk = mem_zero(1, SHINY_CHUNK_BYTES);
	r = b->chunk->records;
	r[0] = record(SHINY_REC_ALLOC, A, 10, STEP);
	r[1] = record(SHINY_REC_ALLOC, B, 20, 2 * STEP);
	r[2] = record(SHINY_REC_FREE, A, 0, 3 * STEP);
	r[3] = record(SHINY_REC_FREE, B, 0, 4 * STEP);
	r[4] = record(SHINY_REC_ALLOC, A, 30, 5 * STEP);
	b->session.output.ticks.rate = UINT64_C(1) << 32;
	b->session.people.next_fork = UINT64_MAX;
	b->session.rings.latest = UINT64_MAX;
	total_init(&b->session.output.total);
	b->process.id = 7;
	registry_init(&b->process.registry);
	stats_init(&b->process.stats, &b->session.output.total, 0);
	b->stream.process = &b->process;
	b->stream.thread.id = 3;
	b->stream.cursor = (struct record_cursor){ .chunk = b->chunk, .room = RECORDS };
	decode_plain(&b->stream.cursor, UINT64_MAX, &b->stream.head);
	return b;
}

static size_t told_count(const struct bench *b)
{
	return (size_t)(b->session.output.next_event - b->session.output.events);
}

static void end(struct bench *b)
{
	registry_deinit(&b->process.registry);
	stats_deinit(&b->process.stats);
	deaths_deinit(&b->process.deaths);
	total_deinit(&b->session.output.total);
	free(b->session.output.watched_ends.at);
	free(b->chunk);
	free(b);
}

/* Each record's own time, address and size; and sums as if each had been applied alone. */
static void each_is_itself(void)
{
	static const struct event told[] = {
		{ .kind = EVENT_ALLOC, .time = STEP, .address = A, .size = 10 },
		{ .kind = EVENT_ALLOC, .time = 2 * STEP, .address = B, .size = 20 },
		{ .kind = EVENT_FREE, .time = 3 * STEP, .address = A },
		{ .kind = EVENT_FREE, .time = 4 * STEP, .address = B },
		{ .kind = EVENT_ALLOC, .time = 5 * STEP, .address = A, .size = 30 },
	};
	struct bench *b = begin();
	size_t wrong = 0, count = apply_record(&b->session, &b->stream, ALL, ALL);
	const struct total *total = &b->session.output.total;

	check("all of them", count == 5 && told_count(b) == 5,
	      "not five records, or not five events");
	for (size_t i = 0; i < 5; i++) {
		const struct event *e = &b->session.output.events[i];

		wrong += e->kind != told[i].kind || e->time != told[i].time ||
			 e->address != told[i].address || e->size != told[i].size ||
			 e->process != 7 || e->thread != 3;
	}
	check("events", !wrong, "an event is not its record's");
	check("counts", b->session.output.allocs == 3 && b->session.output.frees == 2,
	      "allocations or frees are wrong");
	check("live", total->blocks == 1 && total->bytes == 30 && total->peak.bytes == 30 &&
		      total->peak.blocks == 2 && total->peak.time == 2 * STEP,
	      "what is live, or its peak, is wrong");
	check("registry", b->process.registry.count == 1 &&
			  registry_find(&b->process.registry, A)->birth == 5 * STEP,
	      "not the last block alone");
	check("records", b->process.events == 5 && b->process.last == 5 * STEP,
	      "their number, or the latest time, is wrong");
	end(b);
}

/* The end of one that is watched has its own time, not that of the run. */
static void watched(void)
{
	struct bench *b = begin();
	struct entry *entry;

	apply_record(&b->session, &b->stream, ALL, 2);
	entry = registry_find(&b->process.registry, B);
	entry->flags |= ENTRY_WATCHED;
	decode_plain(&b->stream.cursor, UINT64_MAX, &b->stream.head);
	apply_record(&b->session, &b->stream, ALL, ALL);
	check("watched",
	      b->session.output.watched_ends.count == 1 &&
		      b->session.output.watched_ends.at[0].time == 4 * STEP &&
		      b->session.output.watched_ends.at[0].entry.address == B,
	      "the end of the watched block is not at its time");
	end(b);
}

static void unknown(void)
{
	struct bench *b = begin();

	b->chunk->records[2] = record(SHINY_REC_FREE, A + 64, 0, 3 * STEP);
	b->chunk->records[3] = record(SHINY_REC_FREE, A, 0, 4 * STEP);
	b->chunk->records[4] = record(SHINY_REC_FREE, A, 0, 5 * STEP);
	apply_record(&b->session, &b->stream, ALL, ALL);
	check("unknown", b->process.noticed.unknown_frees == 2, "not two frees of no block");
	check("double", b->process.noticed.double_frees == 1, "not one of them a second one");
	end(b);
}

static void ends(const char *name, struct bench *b, uint64_t until, size_t most, size_t expected)
{
	size_t count = apply_record(&b->session, &b->stream, until, most);

	checkf(name, count == expected && told_count(b) == expected,
	       "%zu records, not %zu", count, expected);
	end(b);
}

int main(void)
{
	struct bench *b;

	each_is_itself();
	watched();
	unknown();
	ends("until a time", begin(), 2 * STEP, ALL, 2);
	ends("so many", begin(), ALL, 3, 3);
	b = begin();
	b->session.people.next_fork = 3 * STEP;
	ends("to a fork", b, ALL, ALL, 3);
	b = begin();
	b->session.output.total.next = 3 * STEP - 1;
	ends("to a process's end", b, ALL, ALL, 2);
	b = begin();
	b->session.rings.latest = 4 * STEP;
	ends("to what nobody can have written", b, ALL, ALL, 4);
	b = begin();
	b->process.pending = true;
	ends("before blocks are inherited", b, ALL, ALL, 1);
	b = begin();
	b->session.output.applied_until = STEP;
	ends("late", b, ALL, ALL, 1);
	b = begin();
	b->chunk->records[2] = record(SHINY_REC_VPTR, A, 0, 0);
	ends("to another record", b, ALL, ALL, 2);
	b = begin();
	b->stream.cursor.room = 4;
	ends("to the chunk's end", b, ALL, ALL, 4);
	return failures != 0;
}
