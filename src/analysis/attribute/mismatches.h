/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mismatches.h: finds blocks that were freed in another way than allocated, or twice, or never
 * allocated.
 *
 * Runs: CLI. Signals: no. Allocates: a row for each pair of stacks, and a table of recent ends of
 * fixed size. Threads: one a store.
 *
 *   family    one family of functions allocated, another one freed: new[] and delete, malloc and
 *             delete, new and realloc, … (api.def)
 *   size      sized delete got another size than was allocated
 *   double    the address was freed, and freed again before it was allocated again
 *   unknown   it was not known to be a block. Begun before the recording, or lost: only where
 *             nothing was lost it is the program's doing
 *
 * Where the executable is Chromium, functions of one address cannot be told apart (malloc and new,
 * free and delete): those match anything. A double free is known from a table of 65,536 recent
 * ends, one a hash of the address; others count as unknown.
 */
#ifndef SHINY_MISMATCHES_H
#define SHINY_MISMATCHES_H

#include "../../answer/field.h"
#include "../replay/replay.h"

enum mismatch_kind {
	MISMATCH_FAMILY,
	MISMATCH_SIZE,
	MISMATCH_DOUBLE,
	MISMATCH_UNKNOWN,
	MISMATCH_KINDS
};
extern const char *const mismatch_names[MISMATCH_KINDS];

struct mismatch {
	enum mismatch_kind kind;
	uint8_t got, freed;              /* enum shiny_api; got: none for UNKNOWN */
	uint32_t allocation, free;       /* stack ids; allocation: 0 for UNKNOWN */
	uint32_t first_free;             /* DOUBLE: stack of the first free; else 0 */
	uint64_t count;
	uint64_t size, claimed;          /* of the first case; SIZE only */
	uint64_t first_ns, address;      /* of the first case */
	uint32_t process, type;          /* of the first case; type id, 0: unknown */
};
struct mismatches {
	struct mismatch *rows; /* sorted by kind, then the most frequent first */
	size_t count, room;
	uint64_t blocks[MISMATCH_KINDS]; /* sums of `count` by kind */
};

SHINY_MUST_CHECK struct shiny_err *mismatches_load(struct store *store, const struct filter *filter,
						   bool progress, struct mismatches *out);
void mismatches_deinit(struct mismatches *mismatches);

extern const struct field mismatch_fields[];       /* of struct mismatch, without the stacks */
extern const struct field mismatch_kinds_fields[]; /* of struct mismatches: the counts by kind */

#endif
