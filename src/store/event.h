/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h: a decoded event, in order and with session-wide ids, for all code outside the target.
 *
 * Runs: sidecar, CLI. Allocates: nothing.
 */
#ifndef SHINY_EVENT_H
#define SHINY_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
	EVENT_ALLOC = 1,
	EVENT_FREE = 2,
	/* A successful realloc: the block at `old_address` ended, the one at `address` began; they
	 * may be equal. A garbage-collected object lives on, with another size or, moved by a
	 * collection, at `address`. */
	EVENT_REALLOC = 3,
	EVENT_VPTR = 4, /* the block at `address` has vtable `vtable` */
	EVENT_MAP = 5,	/* a mapping call; api is a shiny_map_call, size its length */
	/* a constructor of class `vtable` (an id in table class) was entered; `address` is its
	 * this */
	EVENT_CONSTRUCT = 6,
	EVENT_DESTROY = 7, /* a destructor was entered, likewise */
};

/* The api of a FREE without a call, behind the codes of shiny_api. */
enum event_end {
	EVENT_END_REUSED = 32,   /* a garbage-collected object: another one has its place */
	/* its memory was returned to the collector's free lists, or to the system */
	EVENT_END_RELEASED = 33,
};

/* In the api of a VPTR, beside its shiny_vptr_api: the block may have been under construction.
 * Recovery of an unfinished session reads it here. */
#define EVENT_VPTR_DOUBTED 4

/*
 * The limits of a block's address and size: x86-64 has addresses of 57 bits, and the sidecar stores
 * sizes in 48. A block beyond these is from a damaged or lying stream: the sidecar counts it as
 * refused, and a session that holds one is damaged. So no sum of an address and a size wraps.
 */
#define EVENT_SPACE (UINT64_C(1) << 57)
#define EVENT_BLOCK_MOST ((UINT64_C(1) << 48) - 1)

static inline bool event_block_fits(uint64_t address, uint64_t size)
{
	return address < EVENT_SPACE && size <= EVENT_BLOCK_MOST;
}

/*
 * In the api of an ALLOC, REALLOC or VPTR, beside its shiny_api or shiny_vptr_api. CARRIED: older
 * events were dropped (SHINY_KEEP), and this block lived then, since `time`; its thread is not
 * known. INHERITED: a fork had brought it along.
 */
enum { EVENT_API = 31, EVENT_CARRIED = 64, EVENT_INHERITED = 128 };

struct event {
	uint64_t time; /* ns since the session's start */
	uint64_t address;
	uint64_t size;        /* requested bytes; FREE: the size the caller claimed, or 0 */
	uint64_t old_address; /* REALLOC, mremap; else 0 */
	uint32_t process;     /* id in table process */
	uint32_t thread;      /* id in table thread */
	uint32_t stack;       /* id in table stack, 0: none */
	uint32_t vtable;      /* VPTR, ALLOC of a garbage-collected object: id in table vtable;
	                       * CONSTRUCT, DESTROY: in table class; else 0 */
	uint32_t tag;         /* ALLOC, REALLOC: id in table tag of its thread's tag, 0 none.
	                       * Others': not stored */
	uint8_t kind;         /* enum event_kind */
	uint8_t api;          /* shiny_api, event_end, shiny_map_call or shiny_vptr_api (with
	                       * EVENT_VPTR_DOUBTED); CONSTRUCT, DESTROY:
	                       * SHINY_THIS_ON_STACK or 0 */
	uint8_t level;        /* ALLOC, REALLOC: that of the sample which it is in (the wire's
	                       * sample_weight.h) */
};

/* Tags have fewer bits, so that a file can hold both in one number. */
enum { EVENT_TAG_BITS = 29 };

static inline uint32_t event_tag_and_level(const struct event *e)
{
	return e->tag | (uint32_t)e->level << EVENT_TAG_BITS;
}

static inline bool event_is_carried(const struct event *e)
{
	return e->api & EVENT_CARRIED &&
	       (e->kind == EVENT_ALLOC || e->kind == EVENT_REALLOC || e->kind == EVENT_VPTR);
}

#endif
