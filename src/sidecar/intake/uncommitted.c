/* SPDX-License-Identifier: Apache-2.0 */
/* uncommitted.c: see uncommitted.h. */
#include "uncommitted.h"

#include <stdlib.h>
#include <string.h>

#include "../ring/spill.h"

void uncommitted_keep(struct session *session, struct stream *stream)
{
	struct read_chunk read = { .ring = stream->ring,
				   .word = SHINY_CHUNK_STATE(SHINY_CHUNK_FULL, stream->slot,
							     stream->expected),
				   .room = stream->cursor.room };
	uint32_t used = stream->cursor.position;

	if (!read.room)
		return; /* the chunk could not be read */
	if (stream->spilled) {
		read.copy = stream->copy;
		read.bytes = SHINY_CHUNK_BYTES;
		stream->copy = NULL;
	} else {
		if (stream->ring->whole[stream->chunk])
			used = read.room; /* the chunk may have more records than were understood */
		read.bytes = (uint32_t)offsetof(struct shiny_chunk, records) +
			     used * SHINY_RECORD_BYTES;
		read.copy = mem_alloc(read.bytes);
		memcpy(read.copy, stream->cursor.chunk, read.bytes);
	}
	read.copy->taken = stream->committed;
	session->uncommitted_bytes += read.bytes;
	*vec_push(&session->uncommitted) = read;
}

uint64_t uncommitted_bytes(const struct session *session)
{
	return session->uncommitted_bytes;
}

void uncommitted_forget(struct session *session)
{
	for (size_t i = 0; i < session->uncommitted.count; i++)
		free(session->uncommitted.at[i].copy);
	session->uncommitted.count = 0;
	session->uncommitted_bytes = 0;
}

void uncommitted_put_back(struct session *session)
{
	for (size_t i = 0; i < session->uncommitted.count; i++) {
		const struct read_chunk *read = &session->uncommitted.at[i];

		if (!session->spill || !read->ring->header ||
		    !spill_put_back(session->spill, read->ring, read->copy, read->bytes,
				    read->room, read->word))
			break; /* the spill takes no more */
		__atomic_sub_fetch(&read->ring->header->uncommitted, 1,
				   __ATOMIC_RELAXED); /* [taken] */
	}
	uncommitted_forget(session);
}
