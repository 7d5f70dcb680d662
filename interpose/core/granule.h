/* SPDX-License-Identifier: Apache-2.0 */
/*
 * granule.h: decides quickly whether a word may be the address of a vtable.
 *
 * Runs: inside. Signals: safe. Allocates: nothing. Threads: any; modules.c replaces the table as a
 * whole.
 */
#ifndef SI_GRANULE_H
#define SI_GRANULE_H

#include "base.h"

/*
 * Hash table of the pages that hold modules' read-only relocated data, sixteen pages to a granule.
 * Open addressing; 0 is an empty entry.
 *
 *   63 ── 48  47 ───── 16  15 ──── 0
 *     zero     granule      a bit for each of its pages
 *
 * The table is exact to the page, because writable data follows: in the C library the heads of the
 * allocator's free lists, whose addresses stand in the first words of every block that was on one.
 * A positive answer may be wrong (an update is under way, the data are no vtable); the sidecar
 * checks the address.
 */
enum {
	SI_PAGE_SHIFT = 12,
	SI_GRANULE_SHIFT = 16,
	SI_GRANULE_BITS = 12,
	SI_GRANULES = 1 << SI_GRANULE_BITS,
	SI_GRANULE_PROBES = 8
};
SI_INTERNAL const uint64_t *si_granules; /* [SI_GRANULES]; replaced as a whole */

static inline uint32_t si_granule_slot(uint64_t granule)
{
	return ((uint32_t)granule * 0x9e3779b1u) >> (32 - SI_GRANULE_BITS);
}

static inline uint64_t si_granule_page(uint64_t address)
{
	return UINT64_C(1) << (address >> SI_PAGE_SHIFT & 15);
}

static inline bool si_maybe_vtable(uint64_t word)
{
	const uint64_t *table = __atomic_load_n(&si_granules, __ATOMIC_ACQUIRE);
	uint64_t granule = word >> SI_GRANULE_SHIFT;
	uint32_t slot;

	if ((word & 7) || word >> 47 || granule == 0 || !table)
		return false;
	slot = si_granule_slot(granule);
	for (unsigned n = 0; n < SI_GRANULE_PROBES; n++) {
		uint64_t found =
			__atomic_load_n(&table[(slot + n) % SI_GRANULES], __ATOMIC_RELAXED);

		if (found >> SI_GRANULE_SHIFT == granule)
			return found & si_granule_page(word);
		if (found == 0)
			return false;
	}
	return false;
}

#endif
