/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.c: chunk states → streams → one raw record at a time; chunks that were read go back at
 * once.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Nothing is copied out of the ring: a stream is a cursor into the chunk that it reads, and the
 * record at its head waits there until its time has come. A scan looks at one word a chunk and
 * attaches the new ones to their streams, sorted by sequence number.
 *
 * A scan is not one moment: while it runs, chunk 3 can be claimed behind its back as #5, sealed,
 * and chunk 9 claimed as #6 before it gets there. So a gap in the numbers is believed only when a
 * second whole scan finds it again: the first one saw #6, thus the claim of #5 was before it, and
 * whoever looks afterwards sees it ([claim], [seal]).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "../state/session.h"

void stream_destroy(struct stream *stream)
{
	if (!stream)
		return;
	if (stream->stacks)
		for (size_t i = 0; i < STACK_PAGES; i++)
			free(stream->stacks[i]);
	free(stream->stacks);
	free(stream->waiting.at);
	free(stream);
}

void stream_put(struct session *session, struct stream *stream, uint64_t end)
{
	struct store_thread row = { .id = stream->id,
				    .process = stream->process->id,
				    .tid = stream->tid,
				    .creator = stream->creator,
				    .name = stream->name,
				    .start = ticks_ns(&session->ticks, stream->start),
				    .end = end ? ticks_ns(&session->ticks, end) : 0,
				    .nested = stream->nested };

	session_fail(session, store_put_thread(session->store, &row));
	stream->changed = false;
}

static struct stream *stream_create(struct session *session, struct ring_file *ring, uint32_t slot,
				    uint32_t generation, struct process *process)
{
	struct stream *s = mem_zero(1, sizeof(*s));
	const struct shiny_thread *t = &ring->threads[slot];
	uint32_t creator = __atomic_load_n(&t->creator, __ATOMIC_RELAXED);

	s->ring = ring;
	s->process = process;
	s->slot = slot;
	s->generation = generation;
	s->id = ++session->threads;
	s->chunk = -1;
	if (__atomic_load_n(&t->generation, __ATOMIC_RELAXED) == generation) {
		s->tid = __atomic_load_n(&t->tid, __ATOMIC_RELAXED);
		s->nested = __atomic_load_n(&t->nested, __ATOMIC_RELAXED) == 1;
		s->start = __atomic_load_n(&t->start, __ATOMIC_RELAXED);
		if (creator && creator <= ring->threads_ready && ring->streams[creator - 1] &&
		    ring->streams[creator - 1]->process == process)
			s->creator = ring->streams[creator - 1]->id;
	}
	if (!s->tid)
		s->tid = process->namespace_pid;
	process_thread_name(process, s->tid, s->name, sizeof(s->name));
	s->changed = true;
	ring->streams[slot] = s;
	*vec_push(&session->streams) = s;
	return s;
}

/*
 * Its writer will claim no more; what it had claimed shows in a scan that begins from now on, the
 * one numbered `scan` or a later one. A thread that waited for a chunk, got one, filled it and died
 * between two scans owns chunks that nobody has seen yet.
 */
static void finish(struct stream *stream, uint64_t scan)
{
	if (stream->done)
		return;
	stream->done = true;
	stream->done_scan = scan;
}

static void give(struct ring_file *ring, uint32_t chunk, uint32_t used)
{
	if (ring->whole[chunk])
		used = shiny_chunk_room(&ring->chunks, chunk);
	ring->whole[chunk] = 0;
	ring->owners[chunk] = NULL;
	ring->given += chunk < ring->chunks.smalls ? SHINY_SMALL_BYTES : SHINY_CHUNK_BYTES;
	shiny_chunk_give(ring->header, &ring->chunks, chunk, used);
}

static void wait_in_line(struct stream *stream, uint32_t sequence, uint32_t chunk)
{
	size_t i = stream->waiting.count;

	(void)vec_push(&stream->waiting);
	for (; i && stream->waiting.at[i - 1].sequence > sequence; i--)
		stream->waiting.at[i] = stream->waiting.at[i - 1];
	stream->waiting.at[i] = (struct waiting){ sequence, chunk };
}

/* A chunk that nobody reads yet. */
static void attach(struct session *session, struct ring_file *ring, uint32_t chunk, uint64_t word)
{
	const struct shiny_chunk *c = shiny_chunk_at(&ring->chunks, chunk);
	uint32_t slot = SHINY_CHUNK_THREAD(word), sequence = SHINY_CHUNK_SEQUENCE(word), generation,
		 process_slot, process_generation;
	bool full = SHINY_CHUNK_PHASE(word) == SHINY_CHUNK_FULL;
	struct shiny_record first;
	struct stream *stream;
	struct process *process;

	if (slot >= ring->threads_ready || SHINY_CHUNK_PHASE(word) > SHINY_CHUNK_FULL)
		goto bad;
	stream = ring->streams[slot];
	if (!shiny_poll(&c->records[0], &first)) {
		if (!full)
			return; /* just claimed: its header may not be there yet */
		if (stream && sequence >= stream->expected && !stream->done) {
			wait_in_line(stream, sequence, chunk); /* empty, but its number counts */
			ring->owners[chunk] = stream;
		} else {
			ring->whole[chunk] = 1;
			give(ring, chunk, 0);
		}
		return;
	}
	generation = __atomic_load_n(&c->thread_generation, __ATOMIC_RELAXED);
	process_slot = __atomic_load_n(&c->process_slot, __ATOMIC_RELAXED);
	process_generation = __atomic_load_n(&c->process_generation, __ATOMIC_RELAXED);
	if (__atomic_load_n(&c->thread_slot, __ATOMIC_RELAXED) != slot ||
	    process_slot >= ring->processes_ready)
		goto bad;
	if (stream && stream->generation != generation) {
		/* its slot has a new owner: what is left of it is read first */
		finish(stream, ring->scans + 1);
		return;
	}
	if (!stream) {
		process = process_of(session, ring, process_slot, process_generation);
		if (!process)
			return; /* its slot still has the name of one before it */
		stream = stream_create(session, ring, slot, generation, process);
		if (process->gone) /* drain_reap came before there was a stream to end */
			finish(stream, ring->scans + 1);
	}
	if (sequence < stream->expected || (stream->chunk >= 0 && sequence == stream->expected))
		goto bad;
	wait_in_line(stream, sequence, chunk);
	ring->owners[chunk] = stream;
	return;
bad:
	/* Nobody to blame it on. Only a chunk whose writer is through with it may be taken away. */
	if (full) {
		ring->bad_chunks++;
		ring->whole[chunk] = 1;
		give(ring, chunk, 0);
	}
}

/* ---- space ---- */

static uint64_t bytes_of(const uint32_t chunks[2])
{
	return (uint64_t)chunks[0] * SHINY_SMALL_BYTES + (uint64_t)chunks[1] * SHINY_CHUNK_BYTES;
}

enum { SPEED_MS = 20, YOUNG_MS = 500, MS_NS = 1000 * 1000 };

/* After a look at all chunks: how quickly writers took them lately. A burst is forgotten slowly. */
static void measure_speed(struct ring_file *ring)
{
	uint64_t now = ticks_wall_ns(), taken = ring->given + bytes_of(ring->busy), span, speed;

	if (!ring->first_look)
		ring->first_look = ring->measured = now;
	span = (now - ring->measured) / MS_NS;
	if (span < SPEED_MS)
		return;
	speed = taken > ring->taken ? (taken - ring->taken) / span : 0;
	ring->speed = speed > ring->speed ? speed : ring->speed - ring->speed / 8;
	ring->taken = taken;
	ring->measured = now;
}

/* Milliseconds until the ring is full, if nobody reads it. */
static uint64_t time_left(const struct ring_file *ring)
{
	uint64_t room = bytes_of(ring->present), busy = bytes_of(ring->busy);

	return (room > busy ? room - busy : 0) / (ring->speed + 1);
}

uint64_t drain_time_left(const struct ring_file *ring)
{
	/* a new ring is small, and nobody knows yet what its program will do */
	if (ring->measured - ring->first_look < (uint64_t)YOUNG_MS * MS_NS)
		return 0;
	return time_left(ring);
}

/* Space for what lies there of the file; false: the writers wait or drop, and count it, as with any
 * full ring. */
static bool allocate(struct ring_file *ring, const void *at, size_t bytes)
{
	if (ring->no_space || ring->over)
		return false;
	ring->no_space = fallocate(ring->fd, 0, (const char *)at - (const char *)ring->header,
				   (off_t)bytes) != 0;
	return !ring->no_space;
}

/*
 * More space, before the writers need it: when a quarter of what there is of a size is in use, as
 * much again (at a half, Chromium's renderers, twelve threads each with a chunk of its own, still
 * had to wait). A process that joins a session begins with three large chunks
 * (interpose/boot/attach.c); one that takes a large chunk is no short one, and gets at once as many
 * as the first process of a session. And more for writers that would fill what there is within
 * GROW_MS: the sidecar keeps to a low priority only while it has time (priority.h). ABSENT chunks
 * are the last ones, and stay so.
 */
enum { LARGE_ENOUGH = 48, GROW_MS = 1500 };

static void grow_chunks(struct ring_file *ring, int large)
{
	uint32_t first = large ? ring->chunks.smalls : 0, present = ring->present[large];
	uint32_t absent = (large ? ring->chunks.count : ring->chunks.smalls) - first - present,
		 more = present ? present : 1;

	/* nearly out of them: thousands of threads may be waiting */
	if (ring->busy[large] > present / 4 * 3)
		more *= 3;
	if (large && present < LARGE_ENOUGH && more < LARGE_ENOUGH - present)
		more = LARGE_ENOUGH - present;
	more = more < absent ? more : absent;
	if (!absent || (ring->busy[large] * 4 < present && time_left(ring) >= GROW_MS))
		return;
	first += present;
	if (!allocate(ring, shiny_chunk_at(&ring->chunks, first),
		      (size_t)more * (large ? SHINY_CHUNK_BYTES : SHINY_SMALL_BYTES)))
		return;
	shiny_chunk_grow(ring->header, &ring->chunks, first, first + more);
	ring->present[large] += more;
}

/* The same for a table of slots, by the lowest that may be free. */
static void grow_slots(struct ring_file *ring, const void *table, size_t bytes, uint32_t count,
		       uint32_t *ready, uint32_t *told, uint32_t *hint)
{
	uint32_t more = *ready < count - *ready ? *ready : count - *ready;

	if (!more || __atomic_load_n(hint, __ATOMIC_RELAXED) < *ready / 4 ||
	    !allocate(ring, (const char *)table + *ready * bytes, more * bytes))
		return;
	*ready += more;
	__atomic_store_n(told, *ready, __ATOMIC_RELEASE); /* [grow] */
	shiny_given(ring->header, hint, *ready - more);
}

static void grow(struct ring_file *ring)
{
	struct shiny_header *h = ring->header;

	grow_chunks(ring, 0);
	grow_chunks(ring, 1);
	grow_slots(ring, ring->processes, sizeof(*ring->processes), ring->process_count,
		   &ring->processes_ready, &h->processes_ready, &h->process_hint);
	grow_slots(ring, ring->threads, sizeof(*ring->threads), ring->thread_count,
		   &ring->threads_ready, &h->threads_ready, &h->thread_hint);
}

/* Looks at each chunk that there is: `each` gets those that are in use. Counts them. */
typedef void chunk_fn(struct session *session, struct ring_file *ring, uint32_t chunk,
		      uint64_t word);

static void each_chunk(struct session *session, struct ring_file *ring, chunk_fn *each)
{
	for (int large = 0; large < 2; large++) {
		uint32_t first = large ? ring->chunks.smalls : 0,
			 end = large ? ring->chunks.count : ring->chunks.smalls, i, busy = 0;

		for (i = first; i < end; i++) {
			/* [seal] */
			uint64_t word = __atomic_load_n(&ring->chunks.states[i], __ATOMIC_ACQUIRE);

			if (SHINY_CHUNK_PHASE(word) == SHINY_CHUNK_FREE)
				continue;
			if (SHINY_CHUNK_PHASE(word) == SHINY_CHUNK_ABSENT)
				break;
			busy++;
			if (each)
				each(session, ring, i, word);
		}
		ring->present[large] = i - first;
		ring->busy[large] = busy;
	}
	measure_speed(ring);
}

void drain_grow(struct ring_file *ring)
{
	each_chunk(NULL, ring, NULL);
	grow(ring);
}

static void attach_new(struct session *session, struct ring_file *ring, uint32_t chunk,
		       uint64_t word)
{
	if (ring->owners[chunk])
		return;
	attach(session, ring, chunk, word);
	if (ring->owners[chunk])
		ring->turnover +=
			chunk < ring->chunks.smalls ? SHINY_SMALL_BYTES : SHINY_CHUNK_BYTES;
}

void drain_scan(struct session *session, struct ring_file *ring)
{
	/* [slot] first, then the chunks: a stream that is DONE and then owns no chunk will never
	 * own one again */
	for (size_t i = 0; i < session->streams.count; i++) {
		struct stream *s = session->streams.at[i];
		const struct shiny_thread *t = &ring->threads[s->slot];

		if (s->ring == ring && !s->done &&
		    (__atomic_load_n(&t->state, __ATOMIC_ACQUIRE) == SHINY_SLOT_DONE || /* [slot] */
		     __atomic_load_n(&t->generation, __ATOMIC_RELAXED) != s->generation))
			finish(s, ring->scans);
	}
	ring->turnover = 0;
	each_chunk(session, ring, attach_new);
	ring->scans++;
	grow(ring);
	for (size_t i = 0; i < session->streams.count; i++) {
		struct stream *s = session->streams.at[i];

		if (s->ring != ring)
			continue;
		if (s->chunk < 0 && s->waiting.count && s->waiting.at[0].sequence != s->expected)
			s->gap_scans++;
		else
			s->gap_scans = 0;
	}
}

/* Goes on to the stream's next chunk, if it is there. */
static bool next_chunk(struct stream *s)
{
	struct waiting next;

	if (!s->waiting.count)
		return false;
	next = s->waiting.at[0];
	if (next.sequence != s->expected) {
		if (s->gap_scans < 2)
			return false;
		/* a sidecar that comes to a running or leftover ring finds streams that an earlier
		 * one had begun to read */
		if (!s->cursor.chunk) {
			s->process->noticed.drained_before += next.sequence;
		} else if (next.sequence > s->expected) {
			/* definitions among what is missing show up as void stacks */
			s->process->noticed.lost_chunks += next.sequence - s->expected;
		}
	}
	s->expected = next.sequence;
	memmove(&s->waiting.at[0], &s->waiting.at[1], --s->waiting.count * sizeof(*s->waiting.at));
	s->chunk = next.chunk;
	s->cursor.chunk = shiny_chunk_at(&s->ring->chunks, next.chunk);
	s->cursor.room = shiny_chunk_room(&s->ring->chunks, next.chunk);
	s->cursor.position = 0;
	s->defined_count = 0;
	s->tag = 0;
	s->cursor.base = __atomic_load_n(&s->cursor.chunk->base, __ATOMIC_RELAXED);
	return true;
}

/* The latest time that a record read now can honestly have; a second more, as the ticks' rate is
 * only being learnt. */
static uint64_t latest_now(const struct session *session)
{
	return session->ticks.foreign
		       ? UINT64_MAX / 4
		       : ticks_now(&session->ticks) + ticks_per_second(&session->ticks);
}

bool drain_pull(struct session *session, struct stream *s)
{
	struct ring_file *ring = s->ring;

	while (s->chunk >= 0 || next_chunk(s)) {
		enum decode_result result = decode_next(&s->cursor, session->latest, &s->head);
		bool full = false;

		/* or only written after the clock was last read: a merge can take seconds on a busy
		 * machine */
		if (result == DECODE_BAD) {
			session->latest = latest_now(session);
			result = decode_next(&s->cursor, session->latest, &s->head);
		}
		if (result == DECODE_NONE) {
			full = SHINY_CHUNK_PHASE(__atomic_load_n(&ring->chunks.states[s->chunk],
								 __ATOMIC_ACQUIRE)) ==
			       SHINY_CHUNK_FULL; /* [seal] */
			if (full) /* what was published between the two looks */
				result = decode_next(&s->cursor,
						     session->latest = latest_now(session),
						     &s->head);
		}
		if (result == DECODE_RAW)
			return s->has_head = true;
		if (result == DECODE_BAD) {
			s->process->noticed.bad_records++;
			s->cursor.position = s->cursor.room;
			ring->whole[s->chunk] = 1;
			continue;
		}
		if (!full)
			return false;
		give(ring, (uint32_t)s->chunk, s->cursor.position);
		s->chunk = -1;
		s->expected++;
	}
	return false;
}

/* ---- the dead ---- */

static bool is_open(const struct ring_file *ring, uint32_t chunk, uint64_t *word)
{
	*word = __atomic_load_n(&ring->chunks.states[chunk], __ATOMIC_ACQUIRE);
	return SHINY_CHUNK_PHASE(*word) == SHINY_CHUNK_OPEN &&
	       SHINY_CHUNK_THREAD(*word) < ring->threads_ready;
}

static void reap(struct ring_file *ring, uint32_t chunk, uint64_t word)
{
	uint64_t full = SHINY_CHUNK_STATE(SHINY_CHUNK_FULL, SHINY_CHUNK_THREAD(word),
					  SHINY_CHUNK_SEQUENCE(word));

	/* [reap] */
	if (__atomic_compare_exchange_n(&ring->chunks.states[chunk], &word, full, 0,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		ring->whole[chunk] = 1;
}

void drain_reap(struct ring_file *ring, const struct process *process)
{
	for (uint32_t i = 0; i < ring->chunks.count; i++) {
		uint64_t word;
		bool its;

		if (!is_open(ring, i, &word)) {
			if (!process && SHINY_CHUNK_PHASE(word) == SHINY_CHUNK_OPEN)
				reap(ring, i, word);
			continue;
		}
		its = !process ||
		      (ring->owners[i]
			       ? ring->owners[i]->process == process
			       : __atomic_load_n(
					 &ring->threads[SHINY_CHUNK_THREAD(word)].process_slot,
					 __ATOMIC_RELAXED) == process->slot);
		if (its)
			reap(ring, i, word);
	}
	for (uint32_t i = 0; i < ring->threads_ready; i++)
		if (ring->streams[i] && (!process || ring->streams[i]->process == process) &&
		    !ring->streams[i]->done) {
			finish(ring->streams[i], ring->scans);
			ring->streams[i]->process->noticed.reaped++;
		}
}

void drain_reap_threads(struct session *session, struct ring_file *ring)
{
	for (size_t i = 0; i < session->streams.count; i++) {
		struct stream *s = session->streams.at[i];
		uint64_t word;

		if (s->ring != ring || s->done || s->has_head || s->process->gone ||
		    !s->process->pid || !s->tid || process_thread_alive(s->process, s->tid))
			continue;
		for (uint32_t c = 0; c < ring->chunks.count; c++)
			if (is_open(ring, c, &word) && SHINY_CHUNK_THREAD(word) == s->slot)
				reap(ring, c, word);
		finish(s, ring->scans);
		s->process->noticed.reaped++;
	}
}

bool drain_idle(const struct ring_file *ring, const struct process *process)
{
	for (uint32_t i = 0; i < ring->threads_ready; i++)
		if (ring->streams[i] && ring->streams[i]->process == process)
			return false;
	for (uint32_t i = 0; i < ring->chunks.count; i++) {
		uint64_t word = __atomic_load_n(&ring->chunks.states[i], __ATOMIC_ACQUIRE);

		if (SHINY_CHUNK_PHASE(word) == SHINY_CHUNK_FREE ||
		    SHINY_CHUNK_PHASE(word) == SHINY_CHUNK_ABSENT ||
		    SHINY_CHUNK_THREAD(word) >= ring->threads_ready)
			continue;
		if (__atomic_load_n(&ring->threads[SHINY_CHUNK_THREAD(word)].process_slot,
				    __ATOMIC_RELAXED) == process->slot)
			return false;
	}
	return true;
}

static void free_thread_slot(struct ring_file *ring, const struct stream *s)
{
	struct shiny_thread *t = &ring->threads[s->slot];
	uint32_t state = __atomic_load_n(&t->state, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&t->generation, __ATOMIC_RELAXED) != s->generation)
		return;
	if ((state == SHINY_SLOT_DONE || state == SHINY_SLOT_LIVE) &&
	    __atomic_compare_exchange_n(&t->state, &state, SHINY_SLOT_FREE, 0, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED)) /* [slot] */
		shiny_given(ring->header, &ring->header->thread_hint, s->slot);
}

void drain_end_streams(struct session *session)
{
	for (size_t i = session->streams.count; i-- > 0;) {
		struct stream *s = session->streams.at[i];

		if (!s->done || s->ring->scans <= s->done_scan || s->has_head || s->chunk >= 0 ||
		    s->waiting.count)
			continue;
		apply_stream_end(session, s);
		stream_put(session, s, s->cursor.last ? s->cursor.last : s->start);
		free_thread_slot(s->ring, s);
		s->ring->streams[s->slot] = NULL;
		session->streams.at[i] = session->streams.at[--session->streams.count];
		stream_destroy(s);
	}
}
