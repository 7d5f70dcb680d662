/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_format.h: the bytes of a block, only for its writer (block.c, which explains them) and its
 * reader (block_unpack.c).
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_STORE_BLOCK_FORMAT_H
#define SHINY_STORE_BLOCK_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

#include "event.h"

enum { BLOCK_EVENTS = 128 * 1024 };

/*
 * The control byte
 *   1..0  stack: HISTORY and RECENT guesses, or spelt out
 *   2     kind and api as guessed          3  size as guessed
 *   4     same (process, thread) as before 7..5 address: the codes below, or TARGET_*
 */
enum {
	STACK_HISTORY,
	STACK_RECENT,
	STACK_SPELT,
	STACK_MASK = 3,
	TAG_HIT = 4,
	SIZE_HIT = 8,
	PAIR_HIT = 16,
	ADDRESS_SHIFT = 5
};

/* Codes of an allocation's address. */
enum {
	AT_FREED, /* .. AT_FREED + 2: 0 to 2 steps from the address freed last */
	AT_STRIDE = 3, /* the class's last fresh address plus the last distance */
	AT_END,   /* right behind the thread's last fresh block, or its space's last object */
	AT_NEAR,  /* a multiple of 16 from that; for an object, of 8 */
	AT_ODD,   /* any address */
	AT_MORE,  /* a byte follows: a position in the ring from 3, or SAME_PLACE */
	SAME_PLACE = 0xff,
};

/* The columns, each of one kind of number, with the most bytes that one event can add. */
#define COLUMNS(X)                                                                               \
	X(CONTROL, 1)                                                                            \
	X(TIME, 1) X(TIME_LOW, 1) X(TIME_FAR, 10) X(PAIR, 30) X(STACK, 10) X(TAG, 3) X(SIZE, 10) \
		X(ADDRESS, 10) X(TARGET, 10) X(OLD, 11) X(VTABLE, 20)
enum {
#define X(name, most) COLUMN_##name,
	COLUMNS(X)
#undef X
	COLUMN_COUNT
};
static const size_t column_most[COLUMN_COUNT] = {
#define X(name, most) most,
	COLUMNS(X)
#undef X
};

/* The packing's version, "ShB3". */
enum { BLOCK_MAGIC = 0x33426853, LEVEL = 1 };

/*
 * Flags in front of a spelt-out kind and api. LEAD_EXTRA: fields that the kind should not have
 * follow, in VTABLE and OLD. LEAD_TAG: a new tag of this pair's allocations follows, in VTABLE (it
 * is 0 at the block's start).
 */
enum { LEAD_EXTRA = 1, LEAD_TAG = 2 };
#define TAG_MASK ((UINT32_C(1) << EVENT_TAG_BITS) - 1) /* of a tag and level, as event.h has them */

struct header { /* little endian, like everything else of an x86-64 program */
	uint32_t magic, count;
	uint32_t bytes[COLUMN_COUNT];
};

/* Times: TIME holds t < TIME_STEPS itself, else TIME_STEPS + high part, with the low byte in
 * TIME_LOW; TIME_ESCAPE: the time is in TIME_FAR. */
enum {
	TIME_STEPS = 160,
	TIME_ESCAPE = 255,
	TIME_NEAR = TIME_STEPS + (TIME_ESCAPE - TIME_STEPS) * 256
};

static inline uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

static inline bool has_address_of_alloc(uint8_t kind)
{
	return kind == EVENT_ALLOC || kind == EVENT_REALLOC;
}

static inline bool has_target(uint8_t kind)
{
	return kind == EVENT_FREE || kind == EVENT_VPTR;
}

static inline bool has_class(uint8_t kind)
{
	return kind == EVENT_CONSTRUCT || kind == EVENT_DESTROY;
}

/* True if the event has its object's kind, which is known at birth. */
static inline bool has_kind(const struct event *e)
{
	return e->kind == EVENT_ALLOC && e->api == SHINY_API_COLLECTED;
}

/* True if the event has fields that its kind should not have: these are stored too, with the
 * "extra" flag. */
static inline bool has_extra(const struct event *e)
{
	return (e->vtable && e->kind != EVENT_VPTR && !has_class(e->kind) && !has_kind(e)) ||
	       (e->old_address &&
		(has_target(e->kind) || has_class(e->kind) || e->kind == EVENT_ALLOC));
}

#endif
