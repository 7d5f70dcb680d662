/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_hooks.c: the hooks of PartitionAlloc's slots: one body for each kind of slot, and one
 * function of it for each calling convention.
 *
 * Runs:      inside.
 * Signals:   as the program's malloc.
 * Allocates: nothing.
 * Threads:   any.
 *
 * All six argument registers are passed on, so a token, a context, or another trailing argument of
 * the future does no harm. With `self` the arguments lie one register further, and the function
 * below gets the table that it belongs to, not ours.
 *
 * Frames. The functions that allocate are called by the exported entry (it tries again after the
 * new-handler), or by a table in front of ours (chain_head.h); those that free are mostly jumped
 * to. So the first frames above a hook may be such functions: the hook skips them, and the entry
 * determines the api. Identical entries are folded (_Znwm and _Znam): the api of their blocks is
 * EITHER.
 *
 * The observed ways tell partition_observe.c that the allocator runs on our behalf: the hook
 * records the blocks that observers are told of meanwhile.
 */
#include "partition_hooks.h"

#include <string.h>

#include "../patch/chain_head.h"

_Static_assert((int)SI_SLOTS <= (int)SI_FRONT_KINDS, "chain_head.h has room");

enum { CALLERS = 8 };

static si_slot_fn *below[SI_SLOTS];
static uintptr_t self_below;
/* The entries that call each slot. Their frames lie between the hook's and the program's. */
static struct partition_callers {
	uint32_t count;
	/* the last one is empty */
	struct { uintptr_t start; uint32_t bytes, api; } at[CALLERS + 1];
} callers[SI_SLOTS];
static __thread uint32_t inside __attribute__((tls_model("initial-exec")));

void si_partition_below(enum si_slot slot, uintptr_t function)
{
	below[slot] = (si_slot_fn *)function;
}

void si_partition_self(uintptr_t table)
{
	self_below = table;
}

void si_partition_forget_callers(void)
{
	memset(callers, 0, sizeof(callers));
}

bool si_partition_caller(enum si_slot slot, uintptr_t start, uintptr_t bytes, enum shiny_api api)
{
	struct partition_callers *c = &callers[slot];

	for (uint32_t i = 0; i < c->count; i++)
		if (c->at[i].start == start) {
			if (c->at[i].api != api)
				c->at[i].api = SHINY_API_EITHER_ALLOC;
			return true;
		}
	if (c->count == CALLERS)
		return false;
	c->at[c->count].start = start;
	c->at[c->count].bytes = (uint32_t)bytes;
	c->at[c->count++].api = api;
	return true;
}

bool si_partition_inside(void)
{
	return inside;
}

/* Skips the frames of tables in front of ours and of the exported entry, if it called; that entry
 * also determines the api. */
SI_HOT const uintptr_t *call_site(const uintptr_t *hook, enum si_slot slot, enum shiny_api *api)
{
	const uintptr_t *fp = si_front_skip(hook, slot);
	const struct partition_callers *c = &callers[slot];

	for (uint32_t i = 0; c->at[i].bytes; i++)
		if (fp[1] - c->at[i].start < c->at[i].bytes) {
			*api = (enum shiny_api)c->at[i].api;
			return (const uintptr_t *)fp[0];
		}
	return fp;
}

#define SIX        uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f
#define SIX_VALUES a, b, c, d, e, f

/* Calls the real function with a hook's arguments. */
SI_HOT uintptr_t call_below(enum si_way way, enum si_slot slot, SIX)
{
	uintptr_t result;

	if (way & SI_WAY_SELF)
		a = self_below;
	if (way & SI_WAY_OBSERVED) {
		inside++;
		result = below[slot](SIX_VALUES);
		inside--;
		return result;
	}
	return below[slot](SIX_VALUES);
}

/* Calls the real function for ourselves: these arguments, then zeros for token and context. */
SI_HOT uintptr_t call_fresh(enum si_way way, enum si_slot slot, uintptr_t a, uintptr_t b)
{
	return way & SI_WAY_SELF ? call_below(way, slot, 0, a, b, 0, 0, 0)
				 : call_below(way, slot, a, b, 0, 0, 0, 0);
}

SI_HOT uintptr_t makes(const uintptr_t *frame, enum si_slot slot, enum si_way way, SIX)
{
	uintptr_t block, first = way & SI_WAY_SELF ? b : a, second = way & SI_WAY_SELF ? c : b;
	enum shiny_api api = SHINY_API_EITHER_ALLOC;
	size_t bytes = first;

	switch (slot) {
	case SI_ZEROED:
	case SI_ZEROED_UNCHECKED:
	case SI_ZEROED2_UNCHECKED:
		bytes = first * second;
		api = SHINY_API_CALLOC;
		break;
	case SI_ALIGNED:
	case SI_ALIGNED_UNCHECKED:
		bytes = second;
		break;
	case SI_ALIGNED2:
	case SI_ALIGNED2_UNCHECKED:
		api = SHINY_API_MEMALIGN;
		break;
	default:
		break;
	}
	frame = call_site(frame, slot, &api);
	block = call_below(way, slot, SIX_VALUES);
	if (SI_LIKELY(block != 0))
		si_record_alloc(frame, (void *)block, bytes, api);
	return block;
}

/* The functions by which a nursery reader finishes another thread's free. */
#define RELEASES(way)                                                   \
	static void release_##way(void *block)                          \
	{                                                               \
		call_fresh(SI_WAY_##way, SI_FREE, (uintptr_t)block, 0); \
	}
RELEASES(PLAIN)
RELEASES(SELF)
RELEASES(OBSERVED)
RELEASES(SELF_OBSERVED)

SI_HOT si_release_fn *release_of(enum si_way way)
{
	return way == SI_WAY_PLAIN ? release_PLAIN : way == SI_WAY_SELF ? release_SELF :
	       way == SI_WAY_OBSERVED ? release_OBSERVED : release_SELF_OBSERVED;
}

SI_HOT uintptr_t ends(const uintptr_t *frame, enum si_slot slot, enum si_way way, SIX)
{
	uintptr_t block = way & SI_WAY_SELF ? b : a;
	size_t claimed = slot == SI_FREE_SIZE || slot == SI_FREE_SIZE_ALIGN
				 ? (way & SI_WAY_SELF ? c : b)
				 : 0;

	frame = si_front_skip(frame, slot);
	if (block && !si_nested(frame) &&
	    !si_event_free(frame, (void *)block, claimed, SHINY_API_EITHER_FREE, release_of(way)))
		return 0;
	return call_below(way, slot, SIX_VALUES);
}

/* Moves the block by hand, as it is being read and must stay until the reader has finished: see
 * si_event_realloc_begin. */
static __attribute__((noinline, cold)) uintptr_t realloc_by_hand(const uintptr_t *fp,
								 enum si_slot slot, enum si_way way,
								 uintptr_t block, uintptr_t size,
								 uintptr_t alignment)
{
	bool aligned = slot == SI_REALIGN || slot == SI_REALIGN_UNCHECKED;
	uintptr_t moved =
		aligned ? call_fresh(way, SI_ALIGNED, alignment, size)
			: call_fresh(way, below[SI_ALLOC_UNCHECKED] ? SI_ALLOC_UNCHECKED : SI_ALLOC,
				     size, 0);
	size_t old = call_fresh(way, SI_USABLE, block, 0);

	if (!moved)
		return 0;
	memcpy((void *)moved, (const void *)block, old < size ? old : size);
	si_event_alloc(fp, (void *)moved, size, SHINY_API_REALLOC);
	if (si_event_free(fp, (void *)block, 0, SHINY_API_REALLOC, release_of(way)))
		release_of(way)((void *)block);
	return moved;
}

/* A size of zero frees and returns NULL; if it ever returns a block, that block is new. */
SI_HOT uintptr_t resizes(const uintptr_t *frame, enum si_slot slot, enum si_way way, SIX)
{
	uintptr_t block = way & SI_WAY_SELF ? b : a, size = way & SI_WAY_SELF ? c : b,
		  alignment = way & SI_WAY_SELF ? d : c, moved;
	enum shiny_api api = SHINY_API_REALLOC;
	const uintptr_t *fp = call_site(frame, slot, &api);

	if (!block || !size) {
		if (block &&
		    !si_event_free(fp, (void *)block, 0, SHINY_API_REALLOC, release_of(way)))
			return 0;
		moved = call_below(way, slot, SIX_VALUES);
		if (moved)
			si_event_alloc(fp, (void *)moved, size, SHINY_API_REALLOC);
		return moved;
	}
	if (!si_event_realloc_begin(fp, (void *)block, size, SHINY_API_REALLOC))
		return realloc_by_hand(fp, slot, way, block, size, alignment);
	moved = call_below(way, slot, SIX_VALUES);
	if (moved)
		si_event_realloc_done(fp, (void *)moved, size, SHINY_API_REALLOC);
	else
		si_event_realloc_failed(fp);
	return moved;
}

/* The hooked slots, and the body of each. */
#define EACH(X, way)                                                                             \
	X(ALLOC, makes, way)                                                                     \
	X(ALLOC_UNCHECKED, makes, way) X(ZEROED, makes, way) X(ZEROED_UNCHECKED, makes, way)     \
		X(ALIGNED, makes, way) X(ALIGNED_UNCHECKED, makes, way) X(ALIGNED2, makes, way)  \
			X(ALIGNED2_UNCHECKED, makes, way) X(ZEROED2_UNCHECKED, makes, way)       \
				X(REALLOC, resizes, way) X(REALLOC_UNCHECKED, resizes, way)      \
					X(REALIGN, resizes, way) X(REALIGN_UNCHECKED, resizes,   \
								   way) X(FREE, ends, way)       \
						X(FREE_SIZE, ends, way) X(FREE_ALIGN, ends, way) \
							X(FREE_SIZE_ALIGN, ends, way)            \
								X(ALIGNED2_FREE, ends, way)

#define DEFINE(slot, body, way)                                               \
	static uintptr_t slot##_##way(SIX)                                    \
	{                                                                     \
		return body(SI_FRAME(), SI_##slot, SI_WAY_##way, SIX_VALUES); \
	}
EACH(DEFINE, PLAIN)
EACH(DEFINE, SELF)
EACH(DEFINE, OBSERVED)
EACH(DEFINE, SELF_OBSERVED)

#define NAME(slot, body, way) [SI_##slot] = slot##_##way,
static si_slot_fn *const hooks[SI_WAYS][SI_SLOTS] = {
	[SI_WAY_PLAIN] = { EACH(NAME, PLAIN) },
	[SI_WAY_SELF] = { EACH(NAME, SELF) },
	[SI_WAY_OBSERVED] = { EACH(NAME, OBSERVED) },
	[SI_WAY_SELF_OBSERVED] = { EACH(NAME, SELF_OBSERVED) },
};

si_slot_fn *si_partition_hook_of(enum si_slot slot, enum si_way way)
{
	return hooks[way][slot];
}
