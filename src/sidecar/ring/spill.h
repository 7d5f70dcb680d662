/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spill.h: whole chunks copied out of their rings into files, to be read later.
 *
 * Runs: sidecar. Signals: no. Allocates: yes; files in the session directory. Threads: one.
 *
 * Problem. To copy a chunk takes some 10 ns a record, to understand its records over 100. A sidecar
 * that leaves the processors to the programs gets no further than the first with what a busy
 * program writes, and a ring that is full stops the program.
 *
 * Approach. A chunk that its writer has sealed is copied to a file, and given back. Its stream
 * reads it from there, in the same place of the same order. A file holds SPILL_FILE bytes at most
 * and goes when all of its chunks were read.
 *
 * A sidecar that is killed. A chunk is in the file before it is given back, and marked as read
 * before the next one of its stream begins. So whoever serves the directory next finds each chunk
 * in the ring, in a file, or in both; then the file's copy counts, as the ring's may be half
 * zeroed. A chunk that was only partly written lies behind the end of its file.
 *
 * A peer that lies. Only this user may write to the session directory. Still each entry is checked,
 * and its chunk is as hostile as one in the ring.
 */
#ifndef SHINY_SPILL_H
#define SHINY_SPILL_H

#include "ring_file.h"

#define SPILL_PREFIX "spill."
enum { SPILL_FILE = 4 * 1024 * 1024 };

struct spill;

/* `most`: bytes of all files together. Finds the chunks that an earlier sidecar left. */
struct spill *spill_open(const char *directory, uint64_t most);
/* Accepts NULL. Files with chunks that nobody has read stay, unless `all`. */
void spill_close(struct spill *spill, bool all);

/* Copies a sealed chunk, `word` is its state; the ring keeps it. Its place; 0: there is no room. */
uint64_t spill_put(struct spill *spill, const struct ring_file *ring, uint32_t chunk,
		   uint64_t word);
/* The same of a chunk that was read and given back, and whose events could not be committed: its
 * first `bytes`, of one that has room for so many records; the rest is zeros. However full the
 * spill is. */
bool spill_put_back(struct spill *spill, const struct ring_file *ring,
		    const struct shiny_chunk *chunk, uint32_t bytes, uint32_t room, uint64_t word);
/* Copies it to `out`, which has room for a large chunk; the records that it had room for. 0: the
 * file is damaged. */
uint32_t spill_get(struct spill *spill, uint64_t place, void *out);
/* So many records of its chunk are taken ([taken] of ring.h). */
void spill_mark_taken(struct spill *spill, uint64_t place, uint32_t taken);
void spill_drop(struct spill *spill, uint64_t place); /* it has been read */

/* Those of an earlier sidecar that no stream has yet, oldest first; true: the stream has it now. */
typedef bool spill_left_fn(void *context, struct ring_file *ring, uint64_t place, uint64_t word);
void spill_each_left(struct spill *spill, struct ring_file *ring, spill_left_fn *each,
		     void *context);
/* How many they are; `ring` NULL: of all rings. Accepts NULL. */
uint32_t spill_left(const struct spill *spill, const struct ring_file *ring);

/* Bytes that it would still take; 0 also where there is no spill. */
uint64_t spill_room(const struct spill *spill);
uint64_t spill_bytes(const struct spill *spill); /* copied so far */

#endif
