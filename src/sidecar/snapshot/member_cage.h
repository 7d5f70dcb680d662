/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member_cage.h: finds out, in a copy of the process, how a collected heap compresses the pointers
 * between its objects.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: any.
 *
 * V8's cppgc, which Blink's objects live in, reserves one cage for all objects of a process: a
 * range of 2^(31 + shift) bytes at a multiple of that, with the next bit set in its addresses. A
 * member has the low 32 bits of the pointer, shifted to the right by `shift`; its sign bit is set
 * where it points to an object. Chromium's shift has been 1 and is 3; that is a choice of its
 * build, so no value is assumed here.
 *
 * Approach. To unpack members the program needs the cage's address, and keeps it in a variable,
 * with ones in all bits below: base = cage | (2^(31 + shift) - 1). Such a word in a module's data,
 * with a cage that all collected objects lie in, is a candidate. The candidate wins by whose base
 * most words of objects unpack to starts of objects; if none does, members are no edges.
 */
#ifndef SHINY_MEMBER_CAGE_H
#define SHINY_MEMBER_CAGE_H

#include <stdbool.h>
#include <stdint.h>

enum { MEMBER_SHIFTS = 3 /* 1 to this */, MEMBER_BYTES = 4 };

struct member_cage { /* zeroed: members cannot be unpacked */
	uint64_t base;
	unsigned shift;
};

/* True if the word can be such a variable, of a heap with objects from `first` to `last`. */
static inline bool member_cage_fits(uint64_t word, unsigned shift, uint64_t first, uint64_t last)
{
	unsigned bits = 31 + shift;

	return word << (64 - bits) == UINT64_MAX << (64 - bits) && word >> bits & 1 &&
	       word >> bits == first >> bits && word >> bits == last >> bits;
}

static inline bool member_cage_holds(const struct member_cage *cage, uint64_t address)
{
	return cage->shift && cage->base >> (31 + cage->shift) == address >> (31 + cage->shift);
}

/* Returns the address that a member points to; 0: to no object. */
static inline uint64_t member_cage_unpack(const struct member_cage *cage, uint32_t member)
{
	if (!(member >> 31))
		return 0;
	return ((uint64_t)(int64_t)(int32_t)member << cage->shift) & cage->base;
}

#endif
