/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spill.c: chunks that a sidecar put aside before it was killed, at each step. Whoever serves
 * the directory next reads what a ring that nobody has touched says, in the same order.
 */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "../../src/sidecar/ring/ring_chunks.h"
#include "../../src/sidecar/ring/spill.h"
#include "../../src/sidecar/sidecar.h"
#include "../../src/store/store.h"
#include "ring_writer.h"
#include "check.h"

enum { CHUNKS = 64, EVENTS = 200000, MOST = 64 << 20 };
/* More than 64 merges of 65,536 records: a ring is not given up because it takes long. */
enum { LONG_CHUNKS = 1100, LONG_EVENTS = 4400000 };

static char directory[64], session_path[96], ring_path[96], spill_path[96];

struct told { /* what a session says */
	uint64_t events, digest, bad, lost, late;
};

static bool add_event(void *context, const struct event *e)
{
	struct told *told = context;
	const uint64_t words[] = { e->kind, e->address, e->size, e->process, e->thread };

	told->events++;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		told->digest = (told->digest ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15) +
			       (told->digest >> 29);
	return true;
}

/* Two threads in turn, each frees what the other has allocated: any other order shows. */
static void write_long_ring(uint32_t chunks, uint32_t events)
{
	struct shiny_header *h;
	struct writer w[2];

	mkdir(directory, 0700);
	unlink(session_path);
	h = ring_make(ring_path, CHUNKS, chunks);
	if (!h)
		exit(1);
	process_make(h, 0, -1, 0);
	for (uint32_t i = 0; i < 2; i++)
		w[i] = writer_make(h, i, 0);
	for (uint32_t i = 0; i < events; i++) {
		struct writer *one = &w[i / 2 % 2], *other = &w[1 - i / 2 % 2];
		uint64_t address = 0x1000 + (uint64_t)(i / 2 % 64) * 64;

		if (i % 2)
			put_event(other, 10 + i, SHINY_REC_FREE, address, 0, 0, SHINY_API_FREE);
		else
			put_event(one, 10 + i, SHINY_REC_ALLOC, address, 16 + i % 32, 0,
				  SHINY_API_MALLOC);
	}
	munmap(h, h->ring_bytes);
}

static void write_ring(void)
{
	write_long_ring(CHUNKS, EVENTS);
}

static uint64_t count_late(struct store *store)
{
	struct query *query = NULL;
	uint64_t late = UINT64_MAX;
	bool row = false;
	struct shiny_err *err = store_query(
		store, "SELECT COALESCE(SUM(count), 0) FROM v_counters WHERE name = 'LATE'",
		&query);

	if (!err)
		err = query_step(query, &row);
	if (!err && row)
		late = (uint64_t)query_number(query, 0);
	shiny_err_free(err);
	query_end(query);
	return late;
}

/* Merges are cut as often as they are looked at: at each 65,536th record. */
static struct told collect(uint64_t merge_ns)
{
	struct sidecar_options options = { .directory = directory,
					   .out = session_path,
					   .with_events = true,
					   .merge_ns = merge_ns,
					   .leftover = true,
					   .launcher_fd = -1,
					   .lock_fd = -1,
					   .guests_fd = -1 };
	struct sidecar_summary summary = { 0 };
	struct told told = { 0 };
	struct store *store = NULL;
	struct shiny_err *err = sidecar_run(&options, &summary);

	if (!err)
		err = store_open(session_path, &store);
	if (!err)
		err = store_each_event(store, 0, 0, UINT64_MAX, add_event, &told);
	if (!err)
		told.late = count_late(store);
	if (err)
		check("collect", false, err->message);
	shiny_err_free(err);
	store_close(store);
	told.bad = summary.lost.events;
	told.lost = summary.lost.chunks;
	return told;
}

/* Chunks in the order of the streams, as a sidecar would take them. */
enum step { NOT_GIVEN, HALF_GIVEN, GIVEN };

static void put_aside(struct spill *spill, struct ring_file *ring, uint64_t *places, enum step last)
{
	size_t count = 0;

	for (uint32_t sequence = 0; sequence < CHUNKS; sequence++)
		for (uint32_t i = 0; i < ring->chunks.count; i++) {
			uint64_t word = ring->chunks.states[i];

			if (SHINY_CHUNK_PHASE(word) != SHINY_CHUNK_FULL ||
			    SHINY_CHUNK_SEQUENCE(word) != sequence)
				continue;
			places[count] = spill_put(spill, ring, i, word);
			if (!places[count++])
				check("put", false, "there was room");
			if (last == HALF_GIVEN)
				memset(shiny_chunk_at(&ring->chunks, i), 0, 4096);
			if (last == GIVEN) {
				ring->whole[i] = 1;
				ring_give_chunk(ring, i, 0);
			}
		}
	places[count] = 0;
}

/* A sidecar that is killed at `last` of each chunk, when it has read `read` of them. */
static void killed(enum step last, size_t read)
{
	uint64_t places[2 * CHUNKS + 1];
	struct spill *spill = spill_open(directory, MOST);
	struct ring_file *ring = NULL;
	struct shiny_err *err = ring_open(ring_path, false, &ring);

	if (err)
		exit(1);
	put_aside(spill, ring, places, last);
	for (size_t i = 0; i < read; i++)
		spill_drop(spill, places[i]);
	ring_close(ring);
	spill_close(spill, false);
}

static void same(const char *name, struct told is, struct told want)
{
	char text[64];

	snprintf(text, sizeof(text), "%s/events", name);
	number(text, is.events, want.events);
	snprintf(text, sizeof(text), "%s/order", name);
	number(text, is.digest, want.digest);
	snprintf(text, sizeof(text), "%s/bad", name);
	number(text, is.bad, 0);
	snprintf(text, sizeof(text), "%s/lost", name);
	number(text, is.lost, want.lost);
	snprintf(text, sizeof(text), "%s/late", name);
	number(text, is.late, 0);
	snprintf(text, sizeof(text), "%s/directory is gone", name);
	number(text, access(directory, F_OK) != 0, 1);
}

/* The last chunk's copy was under way. */
static void torn(struct told want)
{
	struct stat st;

	write_ring();
	killed(NOT_GIVEN, 0);
	if (stat(spill_path, &st) || truncate(spill_path, st.st_size - 4096))
		check("torn", false, "no file");
	same("torn", collect(0), want);
}

static void bounded(void)
{
	struct spill *spill = spill_open(directory, SPILL_FILE + 2 * SHINY_CHUNK_BYTES);
	struct ring_file *ring = NULL;
	struct shiny_err *err = ring_open(ring_path, false, &ring);
	uint64_t place, first = 0;
	char copy[SHINY_CHUNK_BYTES];
	struct stat st;
	off_t bytes = 0;

	if (err)
		exit(1);
	while ((place = spill_put(spill, ring, CHUNKS, 1)))
		first = first ? first : place;
	for (unsigned i = 1; i < 4; i++) {
		snprintf(spill_path, sizeof(spill_path), "%s/" SPILL_PREFIX "%u", directory, i);
		bytes += stat(spill_path, &st) == 0 ? st.st_size : 0;
	}
	check("bound", bytes > SPILL_FILE / 2 && bytes <= SPILL_FILE + 2 * SHINY_CHUNK_BYTES,
	      "files of other sizes");
	number("room", spill_get(spill, first, copy), SHINY_CHUNK_RECORDS);
	check("copy", !memcmp(copy, shiny_chunk_at(&ring->chunks, CHUNKS), sizeof(copy)),
	      "differs");
	ring_close(ring);
	spill_close(spill, true);
	unlink(ring_path);
	rmdir(directory);
}

/* What lay in the ring before it was looked at says nothing of how quickly it fills: a leftover
 * ring has no writer at all. */
static void found_full(void)
{
	struct ring_file *ring = NULL;
	struct shiny_err *err = ring_open(ring_path, false, &ring);

	if (err)
		exit(1);
	ring_each_chunk(ring, NULL, NULL);
	ring->measured -= 1000 * 1000 * 1000; /* a second later */
	ring_each_chunk(ring, NULL, NULL);
	number("found full/bytes a ms", ring->speed, 0);
	number("found full/fills up", ring_fills_up(ring), 0);
	ring_close(ring);
}

int main(void)
{
	struct told want;

	snprintf(directory, sizeof(directory), "/tmp/test_spill.%d", (int)getpid());
	snprintf(session_path, sizeof(session_path), "%s.shiny", directory);
	snprintf(ring_path, sizeof(ring_path), "%s/" SHINY_RING_PREFIX "4000000.0", directory);
	snprintf(spill_path, sizeof(spill_path), "%s/" SPILL_PREFIX "1", directory);
	write_ring();
	want = collect(SIDECAR_MERGE_NS);
	number("events", want.events, EVENTS);
	write_ring();
	same("cut", collect(0), want);
	write_ring();
	killed(GIVEN, 0);
	same("given back", collect(0), want);
	write_ring();
	killed(NOT_GIVEN, 0);
	same("not given back yet", collect(0), want);
	write_ring();
	killed(HALF_GIVEN, 0);
	same("half zeroed", collect(0), want);
	torn(want);
	write_long_ring(LONG_CHUNKS, LONG_EVENTS);
	number("many merges/events", collect(0).events, LONG_EVENTS);
	write_ring();
	killed(GIVEN, 2); /* the first chunk of each thread, small ones */
	want = collect(0);
	number("read before/events", want.events, EVENTS - 2 * SHINY_SMALL_RECORDS);
	number("read before/lost", want.lost, 2);
	write_ring();
	found_full();
	bounded();
	unlink(session_path);
	return failures != 0;
}
