/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: see session.h. */
#include "session.h"

#include "../ring/heartbeat.h"

void session_beat(struct session *session)
{
	uint64_t now = ticks_now(&session->output.ticks);

	heartbeat_sign(session->heartbeat);
	for (size_t i = 0; i < session->present.count; i++) {
		const struct ring_file *a = session->present.at[i];

		if (!a->over)
			__atomic_store_n(&a->header->sidecar_beat, now,
					 __ATOMIC_RELAXED); /* [ctl] */
	}
}
