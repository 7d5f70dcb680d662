/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h: one event as everything outside the target sees it: decoded, ordered, with session-wide
 * ids.
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
	/* One realloc that succeeded: the block at `old_address` ended, the one at `address` began;
	 * they may be equal. Of a garbage-collected object: it lives on, with another size or,
	 * moved by a collection, at `address`. */
	EVENT_REALLOC = 3,
	EVENT_VPTR = 4, /* the block at `address` is of vtable `vtable` */
	EVENT_MAP = 5,	/* a mapping call; api is a shiny_map_call, size its length */
	/* a constructor of class `vtable` (an id in table class) was entered; `address` is its
	 * this */
	EVENT_CONSTRUCT = 6,
	EVENT_DESTROY = 7, /* a destructor, likewise */
};

/* The api of a FREE that no call made, behind the codes of shiny_api. */
enum event_end {
	EVENT_END_REUSED = 16,   /* a garbage-collected object: another one took its place */
	/* its memory was given back: to the collector's free lists, or to the system */
	EVENT_END_RELEASED = 17,
};

/* In the api of a VPTR, beside its shiny_vptr_api: the block may have been under construction. Who
 * makes the end of a session that has none knows it from here. */
#define EVENT_VPTR_DOUBTED 4

/*
 * Where a block can be, and what it can have: x86-64 has addresses of 57 bits, and the sidecar
 * keeps sizes in 48. What a damaged or lying stream says beyond that is no block: the sidecar
 * counts it as refused, and a session that holds one is damaged. So no sum of an address and a size
 * wraps, whoever adds them up.
 */
#define EVENT_SPACE (UINT64_C(1) << 57)
#define EVENT_BLOCK_MOST ((UINT64_C(1) << 48) - 1)

static inline bool event_block_fits(uint64_t address, uint64_t size)
{
	return address < EVENT_SPACE && size <= EVENT_BLOCK_MOST;
}

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
	uint32_t tag;         /* ALLOC, REALLOC: id in table tag of what its thread was at, 0 none.
	                       * Others': not kept */
	uint8_t kind;         /* enum event_kind */
	uint8_t api;          /* shiny_api, event_end, shiny_map_call or shiny_vptr_api (with
	                       * EVENT_VPTR_DOUBTED); CONSTRUCT, DESTROY:
	                       * SHINY_THIS_ON_STACK or 0 */
};

#endif
