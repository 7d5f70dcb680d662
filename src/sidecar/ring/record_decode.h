/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_decode.h: decodes the records of one chunk, one after the other; each is loaded once and
 * checked.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: one.
 *
 * A foreign program still writes the chunk. A record is copied before it is read; a run must lie
 * inside the chunk and have the length that its kind needs. A record that breaks a rule ends the
 * chunk (DECODE_BAD): behind a wrong length nothing can be trusted. Times never decrease within a
 * chunk; a time after `latest` is a lie, since its writer read the same clock before we did.
 */
#ifndef SHINY_RECORD_DECODE_H
#define SHINY_RECORD_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include <shiny/wire/ring.h>

/* A decoded record. WIDE kinds have their plain kind; TIME and PAD are not returned. */
struct raw {
	uint64_t time; /* ticks; the previous record's, if this one has none */
	uint64_t address;
	uint64_t size; /* VPTR: the word; TYPED: the key; LOSS: how many; STACK: frames;
	                * STACK_LIKE: its aux */
	uint32_t stack; /* the stream's number of the stack, 0 none */
	union {
		uint16_t count; /* runs: payload records */
		uint16_t index; /* OBJECT: index of its kind */
	};
	uint8_t kind;   /* enum shiny_record_kind */
	uint8_t api;
	const struct shiny_record *payload; /* runs: in the chunk, and hostile: load each word
	                                     * once */
};

struct record_cursor {
	const struct shiny_chunk *chunk;
	uint32_t room;     /* records that fit into the chunk */
	uint32_t position; /* index of the next record */
	uint64_t base;     /* current time base, ticks */
	uint64_t last;     /* latest time of the stream so far, ticks */
};

enum decode_result { DECODE_NONE, DECODE_RAW, DECODE_BAD };

enum decode_result decode_slow(struct record_cursor *cursor, uint64_t latest, struct raw *out);

#define DECODE_BITS(word, shift, bits) ((word) >> (shift) & ((UINT64_C(1) << (bits)) - 1))

/* Decodes the next record, if it is a birth or an end of one record's length, and of the first
 * level; false: decode_slow must. */
static inline bool decode_plain(struct record_cursor *c, uint64_t latest, struct raw *out)
{
	const uint64_t plain = UINT64_C(1) << SHINY_REC_ALLOC | UINT64_C(1) << SHINY_REC_FREE;
	struct shiny_record r;

	if (c->position < c->room) {
		unsigned kind = shiny_poll(&c->chunk->records[c->position], &r);
		uint64_t time = c->base + (r.w1 >> SHINY_DT_SHIFT);

		if (plain >> kind & 1 && time <= latest &&
		    !(SHINY_POOL_APIS >> DECODE_BITS(r.w1, SHINY_API_SHIFT, SHINY_API_BITS) & 1)) {
			if (time > c->last)
				c->last = time;
			c->position++;
			*out = (struct raw){
				.time = c->last,
				.address = r.w0 >> SHINY_ADDRESS_SHIFT << SHINY_GRANULE_SHIFT,
				.size = DECODE_BITS(r.w1, SHINY_SIZE_SHIFT, SHINY_SIZE_BITS),
				.stack = (uint32_t)DECODE_BITS(r.w0, 0, SHINY_STACK_BITS),
				.kind = (uint8_t)kind,
				.api = (uint8_t)DECODE_BITS(r.w1, SHINY_API_SHIFT, SHINY_API_BITS)
			};
			return true;
		}
	}
	return false;
}

/* Decodes the next record. Nearly all are plain; decode_slow decodes the others, and handles
 * unpublished ones. */
static inline enum decode_result decode_next(struct record_cursor *c, uint64_t latest,
					     struct raw *out)
{
	return decode_plain(c, latest, out) ? DECODE_RAW : decode_slow(c, latest, out);
}

/* Returns the address in the record `ahead` of the next one, as a hint; an arbitrary number if that
 * is no event. */
static inline uint64_t decode_peek(const struct record_cursor *c, uint32_t ahead)
{
	if (c->position + ahead >= c->room)
		return 0;
	return __atomic_load_n(&c->chunk->records[c->position + ahead].w0, __ATOMIC_RELAXED) >>
	       SHINY_ADDRESS_SHIFT << SHINY_GRANULE_SHIFT;
}

/* Copies a run's payload, each word once; `room`: bytes, a multiple of 8. Returns the number of
 * bytes copied. */
size_t decode_payload(const struct raw *raw, void *out, size_t room);

#endif
