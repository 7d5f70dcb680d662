/* SPDX-License-Identifier: Apache-2.0 */
/* test_drain: what a stream's cursor makes of records that are written while the sidecar is busy
 * with others. */
#include <stdlib.h>
#include <string.h>

#include <shiny/wire/ring.h>

#include "../../src/base/mem.h"
#include "../../src/sidecar/intake/drain.h"
#include "check.h"

/* One ring with one chunk, one stream that reads it, and a clock that runs at about the TSC's
 * rate. */
struct bed {
	struct session *session;
	struct ring_file ring;
	struct stream stream;
	struct process *process;
	uint64_t state;
	struct shiny_chunk *chunk;
	struct stream *owner;
	uint8_t whole;
};

static void bed_init(struct bed *b)
{
	memset(b, 0, sizeof(*b));
	b->session = mem_zero(1, sizeof(*b->session));
	b->process = mem_zero(1, sizeof(*b->process));
	b->chunk = mem_zero(1, SHINY_CHUNK_BYTES);
	b->session->output.ticks.kind = SHINY_CLOCK_TSC;
	/* a tick is a nanosecond: a "second" of tolerance is 1e9 ticks */
	b->session->output.ticks.rate = UINT64_C(1) << 32;
	b->state = SHINY_CHUNK_STATE(SHINY_CHUNK_OPEN, 0, 0);
	b->owner = &b->stream;
	b->ring = (struct ring_file){
		.chunks = { .states = &b->state, .large = (char *)b->chunk, .count = 1 },
		.owners = &b->owner,
		.whole = &b->whole
	};
	b->stream = (struct stream){ .ring = &b->ring,
				     .process = b->process,
				     .cursor = { .chunk = b->chunk, .room = SHINY_CHUNK_RECORDS } };
	b->chunk->base = b->stream.cursor.base = ticks_now(&b->session->output.ticks);
}

static void bed_deinit(struct bed *b)
{
	free(b->session);
	free(b->process);
	free(b->chunk);
}

static void publish(struct bed *b, unsigned at, uint64_t time)
{
	shiny_publish(&b->chunk->records[at], shiny_w0(0x1000 >> SHINY_GRANULE_SHIFT, 0),
		      shiny_w1(time - b->chunk->base, 8, SHINY_API_MALLOC, SHINY_REC_ALLOC));
}

/* Counters that a program shares grow by one at a time; what does not is not believed. */
static void counters(void)
{
	static const uint64_t lies[] = { UINT64_MAX, UINT64_C(1) << 63, 0, 4,
					 UINT64_C(1) << 49 };
	struct ring_file ring = { .foreign = false };
	uint64_t shared[SHINY_COUNTERS] = { 5, 7 }, kept[SHINY_COUNTERS] = { 0 };

	ring_take_counters(&ring, shared, kept);
	check("counters that grow", !ring.lies && kept[0] == 5 && kept[1] == 7, "not taken");
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		ring.lies = false;
		shared[0] = lies[i];
		shared[1]++;
		ring_take_counters(&ring, shared, kept);
		checkf("a counter that lies", ring.lies && kept[0] == 5 && kept[1] == shared[1],
		       "%" PRIu64 ": kept %" PRIu64 ", beside it %" PRIu64, lies[i], kept[0],
		       kept[1]);
	}
}

int main(void)
{
	struct bed b;

	counters();

	/* a merge that took long: the limit is of its beginning, the record is of now */
	bed_init(&b);
	b.session->rings.latest = b.chunk->base - 1;
	publish(&b, 0, ticks_now(&b.session->output.ticks));
	check("a record younger than the last look at the clock",
	      drain_pull(&b.session->rings, &b.session->output.ticks, &b.stream) &&
		      !b.process->noticed.bad_records,
	      "it was taken for a lie");
	bed_deinit(&b);

	bed_init(&b);
	/* fits dt, and lies beyond any second of tolerance */
	publish(&b, 0, b.chunk->base + UINT64_C(16000000000));
	check("a record from the future",
	      !drain_pull(&b.session->rings, &b.session->output.ticks, &b.stream) &&
		      b.process->noticed.bad_records == 1,
	      "it was believed");
	bed_deinit(&b);

	/* a commit comes while the second record waits to be applied */
	bed_init(&b);
	*vec_push(&b.session->rings.streams) = &b.stream;
	b.session->rings.latest = ticks_now(&b.session->output.ticks);
	for (unsigned i = 0; i < 3; i++)
		publish(&b, i, b.chunk->base);
	drain_mark_taken(&b.session->rings);
	check("nothing is taken before a record was applied",
	      drain_pull(&b.session->rings, &b.session->output.ticks, &b.stream) && !b.chunk->taken,
	      "it is");
	drain_mark_taken(&b.session->rings);
	check("a head is not taken", !b.chunk->taken, "it is");
	b.stream.has_head = false;
	drain_pull(&b.session->rings, &b.session->output.ticks, &b.stream);
	drain_mark_taken(&b.session->rings);
	check("what was applied is taken", b.chunk->taken == 1, "it is not");
	b.stream.chunks.taken = 3; /* an earlier sidecar came further */
	b.chunk->taken = 3;
	drain_mark_taken(&b.session->rings);
	check("what an earlier sidecar took stays taken", b.chunk->taken == 3, "it is given back");
	free(b.session->rings.streams.at);
	bed_deinit(&b);
	return failures != 0;
}
