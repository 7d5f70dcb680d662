/* SPDX-License-Identifier: Apache-2.0 */
/* rings.c: see rings.h. */
#include "rings.h"

#include "../ring/heartbeat.h"

void rings_beat(const struct rings *rings, const struct ticks *ticks)
{
	uint64_t now = ticks_now(ticks);

	heartbeat_sign(rings->heartbeat);
	for (size_t i = 0; i < rings->present.count; i++) {
		const struct ring_file *a = rings->present.at[i];

		if (!a->over)
			__atomic_store_n(&a->header->sidecar_beat, now,
					 __ATOMIC_RELAXED); /* [ctl] */
	}
}
