/* SPDX-License-Identifier: Apache-2.0 */
/* uncommitted.c: see uncommitted.h. */
#include "uncommitted.h"

#include <stdlib.h>
#include <string.h>

#include "../ring/spill.h"
#include "../state/session_stream.h"

void uncommitted_keep(struct rings *rings, struct stream *stream)
{
	struct stream_chunks *chunks = &stream->chunks;
	struct read_chunk read = { .ring = stream->ring,
				   .word = SHINY_CHUNK_STATE(SHINY_CHUNK_FULL, stream->thread.slot,
							     chunks->expected),
				   .room = stream->cursor.room };
	uint32_t used = stream->cursor.position;

	if (!read.room)
		return; /* the chunk could not be read */
	if (chunks->spilled) {
		read.copy = chunks->copy;
		read.bytes = SHINY_CHUNK_BYTES;
		chunks->copy = NULL;
	} else {
		if (stream->ring->whole[chunks->current])
			used = read.room; /* the chunk may have more records than were understood */
		read.bytes = (uint32_t)offsetof(struct shiny_chunk, records) +
			     used * SHINY_RECORD_BYTES;
		read.copy = mem_alloc(read.bytes);
		memcpy(read.copy, stream->cursor.chunk, read.bytes);
	}
	read.copy->taken = chunks->committed;
	rings->uncommitted_bytes += read.bytes;
	*vec_push(&rings->uncommitted) = read;
}

void uncommitted_forget(struct rings *rings)
{
	for (size_t i = 0; i < rings->uncommitted.count; i++)
		free(rings->uncommitted.at[i].copy);
	rings->uncommitted.count = 0;
	rings->uncommitted_bytes = 0;
}

void uncommitted_put_back(struct rings *rings)
{
	for (size_t i = 0; i < rings->uncommitted.count; i++) {
		const struct read_chunk *read = &rings->uncommitted.at[i];

		if (!rings->spill || !read->ring->header ||
		    !spill_put_back(rings->spill, read->ring, read->copy, read->bytes, read->room,
				    read->word))
			break; /* the spill takes no more */
		__atomic_sub_fetch(&read->ring->header->uncommitted, 1,
				   __ATOMIC_RELAXED); /* [taken] */
	}
	uncommitted_forget(rings);
}
