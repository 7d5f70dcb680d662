/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carried_sums.h: packs the sums of a session up to a checkpoint (checkpoint.h), and unpacks them
 * for a reader that begins there.
 *
 * Runs: sidecar (packs), CLI (unpacks). Signals: no. Allocates: yes. Threads: one.
 *
 * One function walks over the sums for both directions, so that they cannot disagree. A number is
 * packed in 7 bits a byte. Times are session ns, which in a recovery are its ticks. What is
 * unpacked may come from anywhere: counts, ids and ranges are checked.
 *
 * Live blocks are not in it, as events carry them; but they are counted in it as live.
 */
#ifndef SHINY_CARRIED_SUMS_H
#define SHINY_CARRIED_SUMS_H

#include "../state/session.h"

struct carried_bytes {
	VEC(uint8_t) bytes;
};

/* Packs what the process has; `process` NULL: what is of no process. */
void carried_pack(struct session *session, struct process *process, struct carried_bytes *out);
/* Does the reverse, in a session that has the rows of the ids in it and no sums yet. False: it is
 * damaged. */
bool carried_unpack(struct session *session, struct process *process, const void *data,
		    size_t bytes);

#endif
