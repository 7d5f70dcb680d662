/* SPDX-License-Identifier: Apache-2.0 */
/* session_stream.c: see session_stream.h. */
#include "session_stream.h"

#include <stdlib.h>

#include "../ring/ring_chunks.h"
#include "session_process.h"

void stream_finish(struct stream *stream, uint64_t scan)
{
	if (stream->chunks.done)
		return;
	stream->chunks.done = true;
	stream->chunks.done_scan = scan;
}

void stream_reap(struct ring_file *ring, const struct process *process)
{
	for (uint32_t i = 0; i < ring->chunks.count; i++) {
		uint64_t word;
		bool its;

		if (!ring_chunk_is_open(ring, i, &word)) {
			if (!process && SHINY_CHUNK_PHASE(word) == SHINY_CHUNK_OPEN)
				ring_reap_chunk(ring, i, word);
			continue;
		}
		its = !process ||
		      (ring->owners[i]
			       ? ring->owners[i]->process == process
			       : __atomic_load_n(
					 &ring->threads[SHINY_CHUNK_THREAD(word)].process_slot,
					 __ATOMIC_RELAXED) == process->slot);
		if (its)
			ring_reap_chunk(ring, i, word);
	}
	for (uint32_t i = 0; i < ring->threads_ready; i++)
		if (ring->streams[i] && (!process || ring->streams[i]->process == process) &&
		    !ring->streams[i]->chunks.done) {
			stream_finish(ring->streams[i], ring->scans);
			ring->streams[i]->process->noticed.reaped++;
		}
}

void stream_destroy(struct stream *stream)
{
	if (!stream)
		return;
	stream_stacks_deinit(&stream->stacks);
	free(stream->chunks.waiting.at);
	free(stream->chunks.copy);
	free(stream);
}
