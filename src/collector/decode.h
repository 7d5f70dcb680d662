/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.h: the records of one chunk, one after the other, each loaded once, checked, and spelled out.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: one.
 *
 * The chunk is still being written, by a stranger. A record is copied before it is looked at; a run must lie inside the chunk and have
 * the length that its kind needs. What breaks a rule ends the chunk (DECODE_BAD): behind a wrong length nothing can be trusted.
 * Times never go back within a chunk; a time that lies after `latest` is a lie, since its writer read the same clock before we did.
 */
#ifndef SHINY_DECODE_H
#define SHINY_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include <shiny/ring.h>

/* A record. WIDE kinds come as their plain forms; TIME and PAD never come out. */
struct raw {
	uint64_t time; /* ticks. VPTR has no time of its own: that of the record before it */
	uint64_t address;
	uint64_t size; /* VPTR: the word; LOSS: how many */
	uint32_t stack; /* the stream's id, 0 none */
	uint16_t count; /* runs: payload records; STACK: frames */
	uint8_t kind;   /* enum shiny_record_kind */
	uint8_t api;
	const struct shiny_record *payload; /* runs: in the chunk, still hostile: load each word once */
};

struct cursor {
	const struct shiny_chunk *chunk;
	uint32_t position; /* the next record */
	uint64_t base;     /* time base in force */
	uint64_t last;     /* time of the last record of the stream */
};

enum decode_result { DECODE_NONE, DECODE_RAW, DECODE_BAD };

enum decode_result decode_next(struct cursor *cursor, uint64_t latest, struct raw *out);

/* Copies a run's payload, each word once; `room` in bytes, a multiple of 8. The number of bytes copied. */
size_t decode_payload(const struct raw *raw, void *out, size_t room);

#endif
