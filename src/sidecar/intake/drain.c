/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.c: see drain.h.
 *
 * The drain reads records in place: a stream is a cursor into its current chunk, and the record at
 * its head waits there until its time is reached. Only a ring that fills up has its sealed chunks
 * copied (ring/spill.h); a stream's list of chunks says where each one is. A scan reads one word a
 * chunk and attaches new chunks to their streams, sorted by sequence number.
 *
 * A scan is not one moment: after it has passed chunk 3, that chunk can be claimed as #5 and
 * sealed, and chunk 9 claimed as #6 before the scan arrives there. So a gap in the numbers counts
 * only if a second whole scan finds it again: the first one saw #6, so #5 was claimed before, and
 * any later scan sees it ([claim], [seal]).
 */
#define _GNU_SOURCE
#include "drain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../process/lifecycle.h"
#include "../ring/ring_chunks.h"
#include "../ring/spill.h"
#include "apply_block.h"
#include "uncommitted.h"

/* Takes the thread's own name, which is later than the one seen in /proc. */
static void take_name(struct stream *s)
{
	const struct shiny_thread *t = &s->ring->threads[s->thread.slot];

	if (__atomic_load_n(&t->generation, __ATOMIC_RELAXED) != s->thread.generation ||
	    !t->name[0])
		return;
	snprintf(s->thread.name, sizeof(s->thread.name), "%.*s", SHINY_THREAD_NAME, t->name);
}

static struct stream *stream_create(struct rings *rings, const struct ticks *ticks,
				    struct ring_file *ring, uint32_t slot, uint32_t generation,
				    struct process *process)
{
	struct stream *s = mem_zero(1, sizeof(*s));
	const struct shiny_thread *t = &ring->threads[slot];
	uint32_t creator = __atomic_load_n(&t->creator, __ATOMIC_RELAXED);

	s->ring = ring;
	s->process = process;
	s->thread.slot = slot;
	s->thread.generation = generation;
	s->thread.id = ++rings->threads;
	s->chunks.current = -1;
	if (__atomic_load_n(&t->generation, __ATOMIC_RELAXED) == generation) {
		s->thread.tid = __atomic_load_n(&t->tid, __ATOMIC_RELAXED);
		s->thread.nested = __atomic_load_n(&t->nested, __ATOMIC_RELAXED) == 1;
		s->thread.start = __atomic_load_n(&t->start, __ATOMIC_RELAXED);
		if (s->thread.start > ticks_latest(ticks)) {
			ring->lies = true;
			s->thread.start = process->start;
		}
		if (creator && creator <= ring->threads_ready && ring->streams[creator - 1] &&
		    ring->streams[creator - 1]->process == process)
			s->thread.creator = ring->streams[creator - 1]->thread.id;
	}
	if (!s->thread.tid)
		s->thread.tid = process->namespace_pid;
	process_thread_name(process, s->thread.tid, s->thread.name, sizeof(s->thread.name));
	take_name(s);
	s->thread.changed = true;
	ring->streams[slot] = s;
	*vec_push(&rings->streams) = s;
	return s;
}

static void wait_in_line(struct stream_chunks *chunks, struct waiting next)
{
	size_t i = chunks->waiting.count;

	(void)vec_push(&chunks->waiting);
	for (; i && chunks->waiting.at[i - 1].sequence > next.sequence; i--)
		chunks->waiting.at[i] = chunks->waiting.at[i - 1];
	chunks->waiting.at[i] = next;
}

enum owner { OWNER_FOUND, OWNER_LATER, OWNER_NONE };

/* Finds the stream of a chunk with a first record; creates it if there is none. */
static enum owner find_owner(struct session *session, struct ring_file *ring,
			     const struct shiny_chunk *c, uint64_t word, struct stream **out)
{
	uint32_t slot = SHINY_CHUNK_THREAD(word), sequence = SHINY_CHUNK_SEQUENCE(word);
	uint32_t generation = __atomic_load_n(&c->thread_generation, __ATOMIC_RELAXED);
	uint32_t process_slot = __atomic_load_n(&c->process_slot, __ATOMIC_RELAXED);
	uint32_t process_generation = __atomic_load_n(&c->process_generation, __ATOMIC_RELAXED);
	struct stream *stream = ring->streams[slot];
	struct process *process;

	if (__atomic_load_n(&c->thread_slot, __ATOMIC_RELAXED) != slot ||
	    process_slot >= ring->processes_ready)
		return OWNER_NONE;
	if (stream && stream->thread.generation != generation) {
		/* the slot has a new owner: the rest of the old stream is read first */
		stream_finish(stream, ring->scans + 1);
		return OWNER_LATER;
	}
	if (!stream) {
		process = process_of(session, ring, process_slot, process_generation);
		if (!process)
			return OWNER_LATER; /* the slot still belongs to an earlier process */
		stream = stream_create(&session->rings, &session->output.ticks, ring, slot,
				       generation, process);
		if (process->gone) /* the process was reaped before it had a stream */
			stream_finish(stream, ring->scans + 1);
	}
	if (sequence < stream->chunks.expected ||
	    (stream->chunks.current >= 0 && sequence == stream->chunks.expected))
		return OWNER_NONE;
	*out = stream;
	return OWNER_FOUND;
}

/* True if the spill has a copy of this chunk: a sidecar was killed between copying and releasing
 * it. */
static bool is_spilled(const struct stream *stream, const struct shiny_chunk *c, uint32_t sequence)
{
	const struct stream_chunks *chunks = &stream->chunks;
	uint32_t generation = __atomic_load_n(&c->thread_generation, __ATOMIC_RELAXED);
	size_t i;

	if (!stream || (generation && generation != stream->thread.generation))
		return false;
	if (chunks->spilled && chunks->expected == sequence)
		return true;
	for (i = chunks->waiting.count; i && chunks->waiting.at[i - 1].sequence > sequence; i--)
		;
	return i && chunks->waiting.at[i - 1].sequence == sequence &&
	       chunks->waiting.at[i - 1].spilled;
}

static void wait_for_turn(struct ring_file *ring, const struct shiny_chunk *c)
{
	uint64_t time = __atomic_load_n(&c->base, __ATOMIC_RELAXED);

	ring->later++;
	if (time < ring->later_time)
		ring->later_time = time;
}

static void give_whole(struct ring_file *ring, uint32_t chunk)
{
	ring->whole[chunk] = 1;
	ring_give_chunk(ring, chunk, 0);
}

/* Attaches a chunk that no stream reads yet, or releases it. */
static void attach(struct session *session, struct ring_file *ring, uint32_t chunk, uint64_t word)
{
	const struct shiny_chunk *c = shiny_chunk_at(&ring->chunks, chunk);
	uint32_t slot = SHINY_CHUNK_THREAD(word), sequence = SHINY_CHUNK_SEQUENCE(word);
	bool full = SHINY_CHUNK_PHASE(word) == SHINY_CHUNK_FULL;
	enum owner owner = OWNER_NONE;
	struct shiny_record first;
	struct stream *stream = NULL;

	if (slot < ring->threads_ready && SHINY_CHUNK_PHASE(word) <= SHINY_CHUNK_FULL) {
		stream = ring->streams[slot];
		if (full && is_spilled(stream, c, sequence)) {
			give_whole(ring, chunk);
			return;
		}
		if (shiny_poll(&c->records[0], &first)) {
			owner = find_owner(session, ring, c, word, &stream);
			if (owner == OWNER_LATER)
				wait_for_turn(ring, c);
		} else if (!full) {
			return; /* just claimed: its header may not be there yet */
		} else if (stream && sequence >= stream->chunks.expected && !stream->chunks.done) {
			owner = OWNER_FOUND; /* empty, but its number counts */
		} else {
			give_whole(ring, chunk);
			return;
		}
	}
	if (owner == OWNER_FOUND) {
		wait_in_line(&stream->chunks, (struct waiting){ sequence, chunk, 0 });
		ring->owners[chunk] = stream;
	} else if (owner == OWNER_NONE && full) {
		/* The chunk belongs to no stream. Only a sealed chunk may be taken away from its
		 * writer. */
		ring->bad_chunks++;
		give_whole(ring, chunk);
	}
}

/* Attaches a chunk that an earlier sidecar has put into the spill. */
static bool attach_left(void *context, struct ring_file *ring, uint64_t place, uint64_t word)
{
	struct session *session = context;
	struct shiny_chunk *c = mem_alloc(SHINY_CHUNK_BYTES);
	enum owner owner = OWNER_NONE;
	struct stream *stream;

	if (SHINY_CHUNK_THREAD(word) < ring->threads_ready &&
	    spill_get(session->rings.spill, place, c))
		owner = find_owner(session, ring, c, word, &stream);
	if (owner == OWNER_LATER)
		wait_for_turn(ring, c);
	free(c);
	if (owner == OWNER_FOUND) {
		wait_in_line(&stream->chunks,
			     (struct waiting){ SHINY_CHUNK_SEQUENCE(word), 0, place });
	} else if (owner == OWNER_NONE) {
		ring->bad_chunks++;
		spill_drop(session->rings.spill, place);
	}
	return owner != OWNER_LATER;
}

static void attach_new(void *session, struct ring_file *ring, uint32_t chunk,
		       uint64_t word)
{
	if (ring->owners[chunk])
		return;
	attach(session, ring, chunk, word);
	if (ring->owners[chunk])
		ring->turnover +=
			chunk < ring->chunks.smalls ? SHINY_SMALL_BYTES : SHINY_CHUNK_BYTES;
}

/* The chunk behind the gap is read once the gap counts. */
static void wait_at_gap(const struct rings *rings, const struct stream *s)
{
	struct waiting next = s->chunks.waiting.at[0];
	struct shiny_chunk *copy = next.spilled ? mem_alloc(SHINY_CHUNK_BYTES) : NULL;

	if (s->chunks.gap_scans < 2 && (!copy || spill_get(rings->spill, next.spilled, copy)))
		wait_for_turn(s->ring, copy ? copy : shiny_chunk_at(&s->ring->chunks, next.chunk));
	free(copy);
}

void drain_scan(struct session *session, struct ring_file *ring)
{
	struct rings *rings = &session->rings;

	/* [slot] first, then the chunks: a stream that is DONE and then owns no chunk will never
	 * own one again */
	for (size_t i = 0; i < rings->streams.count; i++) {
		struct stream *s = rings->streams.at[i];
		const struct shiny_thread *t = &ring->threads[s->thread.slot];

		if (s->ring == ring && !s->chunks.done &&
		    (__atomic_load_n(&t->state, __ATOMIC_ACQUIRE) == SHINY_SLOT_DONE || /* [slot] */
		     __atomic_load_n(&t->generation, __ATOMIC_RELAXED) != s->thread.generation))
			stream_finish(s, ring->scans);
	}
	ring->turnover = 0;
	ring->later = 0;
	ring->later_time = UINT64_MAX;
	/* the spill's chunks are older than the ring's */
	if (rings->spill)
		spill_each_left(rings->spill, ring, attach_left, session);
	ring_each_chunk(ring, attach_new, session);
	ring->scans++;
	ring_grow(ring);
	for (size_t i = 0; i < rings->streams.count; i++) {
		struct stream *s = rings->streams.at[i];
		struct stream_chunks *chunks = &s->chunks;

		if (s->ring != ring)
			continue;
		if (chunks->current < 0 && chunks->waiting.count &&
		    chunks->waiting.at[0].sequence != chunks->expected) {
			chunks->gap_scans++;
			wait_at_gap(rings, s);
		} else {
			chunks->gap_scans = 0;
		}
	}
}

void drain_spill(struct rings *rings, struct ring_file *ring)
{
	for (size_t i = 0; i < rings->streams.count; i++) {
		struct stream *s = rings->streams.at[i];

		for (size_t n = 0; s->ring == ring && n < s->chunks.waiting.count; n++) {
			struct waiting *next = &s->chunks.waiting.at[n];
			uint64_t word;

			if (next->spilled)
				continue;
			/* [seal] */
			word = __atomic_load_n(&ring->chunks.states[next->chunk], __ATOMIC_ACQUIRE);
			if (SHINY_CHUNK_PHASE(word) != SHINY_CHUNK_FULL)
				continue;
			next->spilled = spill_put(rings->spill, ring, next->chunk, word);
			if (!next->spilled)
				return;
			give_whole(ring, next->chunk);
		}
	}
}

bool drain_relieve(struct rings *rings, struct ring_file *ring)
{
	if (!rings->spill || !ring_fills_up(ring))
		return false;
	drain_spill(rings, ring);
	return true;
}

/* Counts the chunks of the stream that an earlier sidecar took, before its first one here. */
static void note_before(const struct stream *s, uint32_t chunks)
{
	uint32_t told = chunks < s->ring->told_before ? chunks : s->ring->told_before;

	s->ring->told_before -= told;
	s->process->noticed.drained_before += chunks - told;
}

/* Makes `next` the stream's current chunk, as a copy if it was spilled; false: it cannot be
 * read. */
static bool open_chunk(struct rings *rings, struct stream *s, struct waiting next)
{
	struct stream_chunks *chunks = &s->chunks;

	chunks->current = next.chunk;
	chunks->spilled = next.spilled;
	s->cursor.position = 0;
	s->cursor.base = 0;
	s->stacks.count = 0;
	s->tag = 0;
	s->level = 0;
	s->pool = 0;
	if (next.spilled) {
		if (!chunks->copy)
			chunks->copy = mem_alloc(SHINY_CHUNK_BYTES);
		s->cursor.chunk = chunks->copy;
		s->cursor.room = spill_get(rings->spill, next.spilled, chunks->copy);
	} else {
		s->cursor.chunk = shiny_chunk_at(&s->ring->chunks, next.chunk);
		s->cursor.room = shiny_chunk_room(&s->ring->chunks, next.chunk);
	}
	chunks->taken = 0;
	if (s->cursor.room) {
		s->cursor.base = __atomic_load_n(&s->cursor.chunk->base, __ATOMIC_RELAXED);
		/* [taken] */
		chunks->taken = __atomic_load_n(&s->cursor.chunk->taken, __ATOMIC_RELAXED);
		s->process->noticed.drained_before += chunks->taken != 0;
	}
	chunks->committed = chunks->marked = chunks->taken;
	return s->cursor.room;
}

/* Releases the stream's chunk: all of its records are read. */
static void leave_chunk(struct rings *rings, struct stream *s)
{
	struct stream_chunks *chunks = &s->chunks;

	uncommitted_keep(rings, s);
	__atomic_add_fetch(&s->ring->header->uncommitted, 1, __ATOMIC_RELAXED); /* [taken] */
	if (chunks->spilled)
		spill_drop(rings->spill, chunks->spilled);
	else
		ring_give_chunk(s->ring, (uint32_t)chunks->current, s->cursor.position);
	chunks->current = -1;
	chunks->spilled = 0;
	chunks->expected++;
}

/* True if the writer has sealed the stream's chunk. */
static bool is_sealed(const struct stream *s)
{
	if (s->chunks.spilled)
		return true;
	return SHINY_CHUNK_PHASE(__atomic_load_n(&s->ring->chunks.states[s->chunks.current],
						 __ATOMIC_ACQUIRE)) ==
	       SHINY_CHUNK_FULL; /* [seal] */
}

/* Opens the stream's next chunk; false: it is not there yet. */
static bool next_chunk(struct rings *rings, struct stream *s)
{
	struct stream_chunks *chunks = &s->chunks;
	struct waiting next;

	if (!chunks->waiting.count)
		return false;
	next = chunks->waiting.at[0];
	if (next.sequence != chunks->expected) {
		if (chunks->gap_scans < 2)
			return false;
		/* A sidecar that takes over a running or leftover ring finds streams that an
		 * earlier one had begun to read. */
		if (!s->cursor.chunk) {
			note_before(s, next.sequence);
		} else if (next.sequence > chunks->expected) {
			/* definitions in lost chunks show up as void stacks */
			s->process->noticed.lost_chunks += next.sequence - chunks->expected;
		}
	}
	chunks->expected = next.sequence;
	memmove(&chunks->waiting.at[0], &chunks->waiting.at[1],
		--chunks->waiting.count * sizeof(next));
	if (!open_chunk(rings, s, next))
		s->process->noticed.lost_chunks++;
	return true;
}

bool drain_pull_slow(struct rings *rings, const struct ticks *ticks, struct stream *s)
{
	while (s->chunks.current >= 0 || next_chunk(rings, s)) {
		enum decode_result result = decode_next(&s->cursor, rings->latest, &s->head);
		bool full = false;

		/* The record may only be later than the last reading of the clock: a merge can take
		 * seconds on a busy machine. */
		if (result == DECODE_BAD) {
			rings->latest = ticks_latest(ticks);
			result = decode_next(&s->cursor, rings->latest, &s->head);
		}
		if (result == DECODE_NONE) {
			full = is_sealed(s);
			if (full) /* records published before the seal */
				result = decode_next(&s->cursor,
						     rings->latest = ticks_latest(ticks), &s->head);
		}
		if (result == DECODE_RAW)
			return s->has_head = true;
		if (result == DECODE_BAD) {
			s->process->noticed.bad_records++;
			s->cursor.position = s->cursor.room;
			if (!s->chunks.spilled)
				s->ring->whole[s->chunks.current] = 1;
			continue;
		}
		if (!full)
			return false;
		leave_chunk(rings, s);
	}
	return false;
}

/* Sets [taken] of the stream's chunk. */
static void put_mark(struct rings *rings, struct stream *s, uint32_t taken)
{
	struct stream_chunks *chunks = &s->chunks;

	if (chunks->marked == taken)
		return;
	chunks->marked = taken;
	if (chunks->spilled)
		spill_mark_taken(rings->spill, chunks->spilled, taken);
	else /* [taken] */
		__atomic_store_n(
			&shiny_chunk_at(&s->ring->chunks, (uint32_t)chunks->current)->taken,
			taken, __ATOMIC_RELAXED);
}

void drain_mark_taken(struct rings *rings)
{
	for (size_t i = 0; i < rings->streams.count; i++) {
		struct stream *s = rings->streams.at[i];
		uint32_t taken;

		if (s->chunks.current < 0 || !s->cursor.room)
			continue;
		/* the record at the head is behind the cursor, and not applied yet */
		taken = s->cursor.position - s->has_head;
		if (taken > s->chunks.committed)
			put_mark(rings, s, taken);
	}
}

void drain_mark_committed(struct rings *rings)
{
	for (size_t i = 0; i < rings->streams.count; i++)
		rings->streams.at[i]->chunks.committed = rings->streams.at[i]->chunks.marked;
	uncommitted_forget(rings);
	for (size_t i = 0; i < rings->present.count; i++)
		if (rings->present.at[i]->header) /* [taken] */
			__atomic_store_n(&rings->present.at[i]->header->uncommitted, 0,
					 __ATOMIC_RELAXED);
}

void drain_take_back(struct rings *rings)
{
	for (size_t i = 0; i < rings->streams.count; i++) {
		struct stream *s = rings->streams.at[i];

		if (s->chunks.current >= 0)
			put_mark(rings, s, s->chunks.committed);
	}
	uncommitted_put_back(rings);
}

/* ---- ended threads ---- */

void drain_reap_threads(const struct rings *rings, struct ring_file *ring)
{
	for (size_t i = 0; i < rings->streams.count; i++) {
		struct stream *s = rings->streams.at[i];
		uint64_t word;

		if (s->ring != ring || s->chunks.done || s->has_head || s->process->gone ||
		    !s->process->pid || !s->thread.tid ||
		    process_thread_alive(s->process, s->thread.tid))
			continue;
		for (uint32_t c = 0; c < ring->chunks.count; c++)
			if (ring_chunk_is_open(ring, c, &word) &&
			    SHINY_CHUNK_THREAD(word) == s->thread.slot)
				ring_reap_chunk(ring, c, word);
		stream_finish(s, ring->scans);
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
	struct shiny_thread *t = &ring->threads[s->thread.slot];
	uint32_t state = __atomic_load_n(&t->state, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&t->generation, __ATOMIC_RELAXED) != s->thread.generation)
		return;
	if ((state == SHINY_SLOT_DONE || state == SHINY_SLOT_LIVE) &&
	    __atomic_compare_exchange_n(&t->state, &state, SHINY_SLOT_FREE, 0, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED)) /* [slot] */
		shiny_given(ring->header, &ring->header->thread_hint, s->thread.slot);
}

/* Writes the stream's row, with its end in ticks, and removes it from `streams`. */
static void drop_stream(struct rings *rings, struct output *output, size_t index, uint64_t end)
{
	struct stream *s = rings->streams.at[index];

	apply_realloc_end(s);
	take_name(s);
	output_put_thread(output, s->process, &s->thread, end);
	rings->streams.at[index] = rings->streams.at[--rings->streams.count];
}

void drain_end_streams(struct rings *rings, struct output *output)
{
	for (size_t i = rings->streams.count; i-- > 0;) {
		struct stream *s = rings->streams.at[i];

		if (!s->chunks.done || s->ring->scans <= s->chunks.done_scan || s->has_head ||
		    s->chunks.current >= 0 || s->chunks.waiting.count)
			continue;
		drop_stream(rings, output, i, s->cursor.last ? s->cursor.last : s->thread.start);
		free_thread_slot(s->ring, s);
		s->ring->streams[s->thread.slot] = NULL;
		stream_destroy(s);
	}
}

void drain_give_up(struct rings *rings, struct output *output, size_t index)
{
	struct stream *s = rings->streams.at[index];

	s->process->noticed.bad_records++;
	drop_stream(rings, output, index, s->cursor.last);
	stream_destroy(s);
}
