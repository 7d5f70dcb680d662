/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain_head.c: looks at the tables in front of ours.
 *
 * The problem. We put our table in front when the program starts, but Chromium's heap sampler puts
 * its own before it as soon as main() runs, in every process. Its functions that allocate call the
 * next table's and look at the result; so above our hook's frame is the sampler's, above it the
 * exported entry's, and only then the program's: all allocations had the same call site. Its
 * functions that free jump.
 *
 * The approach. One comparison an event notices a new head. The tables are then followed from the
 * head to ours: all of them must lie in the executable's data, or none is believed. For each slot
 * that we hook, the frame of the table's function is skipped when a return address lies in it. The
 * function must be code of the executable that sets up a frame, at its beginning or soon after, so
 * that the frame's first word is its caller's. It ends where the next function begins: at 16 bytes'
 * alignment, where a frame is set up or behind padding, or after a kilobyte. (The longest that was
 * seen, the sampler's realloc in version 156, has 319 bytes.)
 *
 * Only the function for the hook's own slot is matched, and each table's once, from ours outwards,
 * so that a caller of our hook in a neighbouring function is not mistaken for it.
 *
 * Results are stored by head, in a few places that are filled one after the other and never
 * changed: no lock, so a fork or a handler in the middle does no harm. Two threads that see a new
 * head at once fill two. A program that changes its chain more often than there are places keeps
 * the last result.
 */
#include "chain_head.h"

#include "entry_code.h"
#include "image.h"

enum { PLACES = 8, ALIGNMENT = 16, FUNCTION_MAX = 1024, PADDING = 0xcc, LATE = 64 };

const struct si_front *si_front;
const uintptr_t *si_front_head;

static struct si_front places[PLACES];
static uint32_t taken; /* places filled, or more when there were none left */

/* the arguments of si_front_watch */
static struct si_image image;
static uintptr_t ours;
static unsigned slots;
static uint8_t kinds[64];

static bool frame_begins(const uint8_t *code)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa },
			     push_mov[] = { 0x55, 0x48, 0x89, 0xe5 };

	return __builtin_memcmp(code, push_mov, 4) == 0 ||
	       (__builtin_memcmp(code, endbr64, 4) == 0 &&
		__builtin_memcmp(code + 4, push_mov, 4) == 0);
}

/* True if the function sets up a frame, at once or after instructions that need none. */
static bool keeps_frame(const uint8_t *code, size_t bytes)
{
	if (frame_begins(code))
		return true;
	for (size_t i = 1; i + 4 <= bytes && i < LATE; i++)
		if (frame_begins(code + i))
			return true;
	return false;
}

/* Returns the bytes of the function at `start`; 0 if it keeps no frame. */
static size_t function_bytes(uintptr_t start)
{
	const struct si_segment *s = si_segment_of(&image, start, ALIGNMENT);
	uintptr_t end = start + FUNCTION_MAX;

	if (!s || !s->executable)
		return 0;
	if (end > s->end - ALIGNMENT)
		end = s->end - ALIGNMENT;
	for (uintptr_t at = (start + ALIGNMENT) & -(uintptr_t)ALIGNMENT; at < end; at += ALIGNMENT)
		if (((const uint8_t *)at)[-1] == PADDING || frame_begins((const uint8_t *)at))
			return keeps_frame((const uint8_t *)start, at - start) ? at - start : 0;
	return end > start && keeps_frame((const uint8_t *)start, end - start) ? end - start : 0;
}

/* Collects the tables from `head` to ours, the last one first; returns how many, 0 if the chain is
 * not valid. */
static unsigned follow(uintptr_t head, const uintptr_t *tables[SI_FRONT_TABLES])
{
	uintptr_t at = head;
	unsigned n = 0;

	while (at != ours) {
		const struct si_segment *s = si_segment_of(&image, at, slots * sizeof(uintptr_t));

		if (n == SI_FRONT_TABLES || !s || s->executable || at % sizeof(uintptr_t))
			return 0;
		for (unsigned i = n++; i > 0; i--)
			tables[i] = tables[i - 1];
		tables[0] = (const uintptr_t *)at;
		at = __atomic_load_n(&tables[0][slots - 1], __ATOMIC_ACQUIRE);
	}
	return n;
}

/* Returns the function to which a jump leads that stands in its place. */
static uintptr_t real_start(uintptr_t function)
{
	const struct si_segment *s = si_segment_of(&image, function, ALIGNMENT);
	uintptr_t target =
		s && s->executable ? si_decode_jump((const uint8_t *)function, function) : 0;

	return target ? target : function;
}

const struct si_front *si_front_look(uintptr_t head)
{
	uint32_t place = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
	const uintptr_t *tables[SI_FRONT_TABLES];
	struct si_front *front;

	if (place >= PLACES) {
		front = (struct si_front *)(uintptr_t)__atomic_load_n(&si_front, __ATOMIC_ACQUIRE);
		__atomic_store_n(&si_front_head, &front->head, __ATOMIC_RELAXED);
		return front;
	}
	front = &places[place];
	front->head = head;
	front->tables = follow(head, tables);
	for (unsigned t = 0; t < front->tables; t++)
		for (unsigned i = 0; i + 1 < slots; i++) {
			uintptr_t start = real_start(tables[t][i]);

			front->function[kinds[i]][t].start = start;
			front->function[kinds[i]][t].bytes = function_bytes(start);
		}
	__atomic_store_n(&si_front, front, __ATOMIC_RELEASE);
	return front;
}

void si_front_watch(const struct si_image *of, const uintptr_t *head, uintptr_t table,
		    unsigned count, const uint8_t *kind)
{
	image = *of;
	ours = table;
	slots = count <= sizeof(kinds) ? count : 0;
	__builtin_memcpy(kinds, kind, slots);
	__builtin_memset(places, 0, sizeof(places));
	places[0].head = table;
	taken = 1;
	si_front_head = head;
	__atomic_store_n(&si_front, &places[0], __ATOMIC_RELEASE);
}
