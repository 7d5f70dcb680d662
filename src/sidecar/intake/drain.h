/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.h: turns the chunks of a ring into streams that yield one raw record at a time. Chunks go
 * back to their writers once they are read (uncommitted.h keeps a copy until the commit); if a ring
 * fills up, sealed ones go back earlier, copied to the spill.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_DRAIN_H
#define SHINY_DRAIN_H

#include "../state/session.h"
#include "../state/session_stream.h"

/* Attaches new chunks to their streams, and grows the ring if necessary. */
void drain_scan(struct session *session, struct ring_file *ring);
/* Copies sealed chunks that wait for reading into the spill, as far as it has room, and releases
 * them. */
void drain_spill(struct rings *rings, struct ring_file *ring);
/* Call after a scan: spills if the ring fills up; true: it does. */
bool drain_relieve(struct rings *rings, struct ring_file *ring);
/* Reads the next record into stream->head; false: there is none yet. */
bool drain_pull_slow(struct rings *rings, const struct ticks *ticks, struct stream *stream);
static inline bool drain_pull(struct rings *rings, const struct ticks *ticks, struct stream *stream)
{
	if (stream->chunks.current >= 0 &&
	    decode_plain(&stream->cursor, rings->latest, &stream->head))
		return stream->has_head = true;
	return drain_pull_slow(rings, ticks, stream);
}
/* drain_mark_taken, before a commit: marks the applied records of chunks that are not read to their
 * end ([taken]). drain_mark_committed, after it: makes these marks final, and drops the copies of
 * chunks that were read. */
void drain_mark_taken(struct rings *rings);
void drain_mark_committed(struct rings *rings);
/* Call after a commit that failed for good: rings and spill then hold everything that the session
 * file lacks. */
void drain_take_back(struct rings *rings);
/* Ends the streams of threads that ended without leaving their slots. */
void drain_reap_threads(const struct rings *rings, struct ring_file *ring);
/* True if the process has no stream and no chunk. */
bool drain_idle(const struct ring_file *ring, const struct process *process);
/* Removes the streams that are done. */
void drain_end_streams(struct rings *rings, struct output *output);
/* Drops a stream that cannot be read to its end, as the ring lies. */
void drain_give_up(struct rings *rings, struct output *output, size_t index);

#endif
