/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bare_code.h: finds stretches of the executable's code that .eh_frame does not describe, though it
 * describes others. The row of each address in them is SI_ROW_BARE, so a walk need not look it up.
 *
 * Runs:      inside. Computed in boot, used on any event.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any: nothing is written after boot.
 *
 * Chromium keeps frame pointers and describes 2,008 of its 57,623 pages of code (Rust, assembly). A
 * walk of 16 frames looked into 16 places of a table of 256 KiB, of which most were in no cache.
 * The linker puts described code together: all pages without description lie in eight runs, 95.7 %
 * of them in the four longest, which are one cache line; a bit a page was 7 KiB.
 */
#ifndef SI_BARE_CODE_H
#define SI_BARE_CODE_H

#include "cfi.h"

enum { SI_BARE_FIRST = 4, SI_BARE_RUNS = 8, SI_BARE_PAGE_BITS = 12 };

/* The longest runs of bare pages, longest first; bytes 0: no more. */
struct si_bare_code {
	struct si_bare_run {
		uintptr_t start, bytes;
	} run[SI_BARE_RUNS];
	uint64_t pages; /* pages of the code that contains them */
} __attribute__((aligned(64)));
SI_INTERNAL struct si_bare_code si_bare_code;

/* True if the return address `pc` lies in one of runs [from, to). */
SI_HOT bool si_in_bare_runs(uintptr_t pc, unsigned from, unsigned to)
{
	bool in = false;

	/* tests all of them: a branch would be mispredicted */
#pragma GCC unroll 4
	for (unsigned i = from; i < to; i++)
		in |= pc - 1 - si_bare_code.run[i].start < si_bare_code.run[i].bytes;
	return in;
}

SI_HOT bool si_is_bare_code(uintptr_t pc)
{
	return si_bare_code.run[0].bytes != 0 && /* most programs have none */
	       (SI_LIKELY(si_in_bare_runs(pc, 0, SI_BARE_FIRST)) ||
		(si_bare_code.run[SI_BARE_FIRST].bytes != 0 &&
		 si_in_bare_runs(pc, SI_BARE_FIRST, SI_BARE_RUNS)));
}

/* Finds the runs in the executable's code, [start, end). Called in boot. Finds none if more than
 * every other page would be described: reading a table of functions costs that much. */
void si_bare_code_learn(uintptr_t start, uintptr_t end, const struct si_cfi_view *view);

#endif
