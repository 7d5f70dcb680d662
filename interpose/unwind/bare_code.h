/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bare_code.h: stretches of the executable's code about which .eh_frame says nothing at all,
 * though it describes others, so that the row of each address in them is SI_ROW_BARE, and a walk
 * need not look it up.
 *
 * Runs:      inside. Learnt in boot, asked on any event.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any: nothing is written after boot.
 *
 * Chromium keeps frame pointers and describes 2,008 of its 57,623 pages of code (Rust, assembly). A
 * walk of 16 frames looked into 16 places of a table of 256 KiB, of which most were in no cache.
 * The linker puts what is described together: all pages without description lie in eight runs, 95.7
 * % of them in the four longest, which are one cache line; a bit a page was 7 KiB.
 */
#ifndef SI_BARE_CODE_H
#define SI_BARE_CODE_H

#include "cfi.h"

enum { SI_BARE_FIRST = 4, SI_BARE_RUNS = 8, SI_BARE_PAGE_BITS = 12 };

/* The longest runs of such pages, longest first; bytes 0: no more. */
struct si_bare_code {
	struct si_bare_run {
		uintptr_t start, bytes;
	} run[SI_BARE_RUNS];
	uint64_t pages; /* of the code that they lie in */
} __attribute__((aligned(64)));
SI_INTERNAL struct si_bare_code si_bare_code;

/* Whether the return address `pc` lies in one of runs [from, to). */
SI_HOT bool si_in_bare_runs(uintptr_t pc, unsigned from, unsigned to)
{
	bool in = false;

	/* all of them: a jump would be guessed wrong */
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

/* Boot: the executable's code lies in [start, end). Nothing is learnt where more than every other
 * page would be described: that is what a table of functions costs to read. */
void si_bare_code_learn(uintptr_t start, uintptr_t end, const struct si_cfi_view *view);

#endif
