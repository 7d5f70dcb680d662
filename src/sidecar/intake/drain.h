/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.h: chunk states → streams → one raw record at a time; chunks that were read go back at
 * once (uncommitted.h keeps a copy until the commit), and where a ring fills up, sealed ones before
 * that.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_DRAIN_H
#define SHINY_DRAIN_H

#include "../state/session.h"

/* Attaches new chunks to their streams, and grows the ring where it needs it. */
void drain_scan(struct session *session, struct ring_file *ring);
/* Copies the sealed chunks that wait to be read into the spill, as far as it has room, and gives
 * them back. */
void drain_spill(struct session *session, struct ring_file *ring);
/* After a scan: the same if the ring fills up; true: it does. */
bool drain_relieve(struct session *session, struct ring_file *ring);
/* Fills stream->head. */
bool drain_pull_slow(struct session *session, struct stream *stream);
static inline bool drain_pull(struct session *session, struct stream *stream)
{
	if (stream->chunk >= 0 && decode_plain(&stream->cursor, session->latest, &stream->head))
		return stream->has_head = true;
	return drain_pull_slow(session, stream);
}
/* Before a commit: what has been applied of chunks that are not read to their end ([taken]); after
 * it: that those which are were committed. */
void drain_mark_taken(struct session *session);
void drain_mark_committed(struct session *session);
/* After a commit that failed for good: rings and spill hold what the session file does not. */
void drain_take_back(struct session *session);
/* Streams whose threads have ended without a word are done. */
void drain_reap_threads(struct session *session, struct ring_file *ring);
/* No chunk of it is attached or waiting. */
bool drain_idle(const struct ring_file *ring, const struct process *process);
void drain_end_streams(struct session *session); /* those that are done */
/* A stream that cannot be read to its end: the ring lies. */
void drain_give_up(struct session *session, size_t index);

#endif
