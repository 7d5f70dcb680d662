/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spill.h: copies whole chunks from their rings into files, to be read later.
 *
 * Runs: sidecar. Signals: no. Allocates: yes; files in the session directory. Threads: one.
 *
 * Problem. Copying a chunk takes some 10 ns a record, applying its records over 100. A sidecar that
 * leaves the processors to the programs has only time to copy what a busy program writes, and a
 * full ring stops the program.
 *
 * Approach. A sealed chunk is copied to a file, and released. Its stream reads it from there, in
 * the same order. A file holds SPILL_FILE bytes at most and is removed when all of its chunks were
 * read.
 *
 * A sidecar that is killed. A chunk is in the file before it is released, and marked as read before
 * the next one of its stream begins. So the next sidecar of the directory finds each chunk in the
 * ring, in a file, or in both; then the file's copy counts, as the ring's may be half zeroed. An
 * incomplete entry at the end of a file is ignored.
 *
 * A peer that lies. Only this user may write to the session directory. Still every entry is
 * checked, and its chunk is treated as hostile, like one in the ring.
 */
#ifndef SHINY_SPILL_H
#define SHINY_SPILL_H

#include "ring_file.h"

#define SPILL_PREFIX "spill."
enum { SPILL_FILE = 4 * 1024 * 1024 };

struct spill;

/* Opens the spill of a directory, and finds the chunks that an earlier sidecar left. `most`: bytes
 * of all files together. */
struct spill *spill_open(const char *directory, uint64_t most);
/* Frees the spill; accepts NULL. Files with unread chunks stay, unless `all`. */
void spill_close(struct spill *spill, bool all);

/* Copies a sealed chunk, whose state is `word`; the ring keeps it. Returns its place; 0: there is
 * no room. */
uint64_t spill_put(struct spill *spill, const struct ring_file *ring, uint32_t chunk,
		   uint64_t word);
/* Writes a chunk that was read and released, but whose events could not be committed: its first
 * `bytes`, and zeros up to the size of a chunk of `room` records. Ignores the limit. False: it
 * could not be written. */
bool spill_put_back(struct spill *spill, const struct ring_file *ring,
		    const struct shiny_chunk *chunk, uint32_t bytes, uint32_t room, uint64_t word);
/* Copies the chunk to `out`, which has room for a large chunk; returns how many records fit into
 * it. 0: the file is damaged. */
uint32_t spill_get(struct spill *spill, uint64_t place, void *out);
/* Marks `taken` records of the chunk as taken ([taken] of ring.h). */
void spill_mark_taken(struct spill *spill, uint64_t place, uint32_t taken);
void spill_drop(struct spill *spill, uint64_t place); /* marks the chunk as read */

/* Called for chunks of an earlier sidecar that no stream has yet, oldest first; true: the stream
 * has it now. */
typedef bool spill_left_fn(void *context, struct ring_file *ring, uint64_t place, uint64_t word);
void spill_each_left(struct spill *spill, struct ring_file *ring, spill_left_fn *each,
		     void *context);
/* Returns how many these are; `ring` NULL: of all rings. Accepts NULL. */
uint32_t spill_left(const struct spill *spill, const struct ring_file *ring);

/* Returns the bytes that it can still take; 0 if there is no spill. */
uint64_t spill_room(const struct spill *spill);
uint64_t spill_bytes(const struct spill *spill); /* copied so far */

#endif
