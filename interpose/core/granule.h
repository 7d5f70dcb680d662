/* SPDX-License-Identifier: Apache-2.0 */
/*
 * granule.h: could this word be the address of a vtable?
 *
 * Runs:      inside.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any; modules.c replaces the table as a whole.
 */
#ifndef SI_GRANULE_H
#define SI_GRANULE_H

#include "base.h"

/*
 * Granules of 64 KiB that hold some module's read-only relocated data: open addressing, 0 is empty.
 * A yes may be wrong (the granule has a neighbour, an update is under way): the sidecar looks the
 * address up properly.
 */
enum { SI_GRANULE_SHIFT = 16, SI_GRANULES = 8192, SI_GRANULE_PROBES = 8 };
SI_INTERNAL const uint32_t *si_granules; /* [SI_GRANULES]; replaced as a whole */

static inline uint32_t si_granule_slot(uint32_t granule)
{
	return (granule * 0x9e3779b1u) >> 19;
}

static inline bool si_maybe_vtable(uint64_t word)
{
	const uint32_t *table = __atomic_load_n(&si_granules, __ATOMIC_ACQUIRE);
	uint32_t granule = (uint32_t)(word >> SI_GRANULE_SHIFT), slot;

	if ((word & 7) || word >> 47 || granule == 0 || !table)
		return false;
	slot = si_granule_slot(granule);
	for (unsigned n = 0; n < SI_GRANULE_PROBES; n++) {
		uint32_t found =
			__atomic_load_n(&table[(slot + n) % SI_GRANULES], __ATOMIC_RELAXED);

		if (found == granule)
			return true;
		if (found == 0)
			return false;
	}
	return false;
}

#endif
