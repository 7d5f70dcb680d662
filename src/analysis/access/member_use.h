/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member_use.h: estimates which members of a class the program uses, from watched words of its
 * objects (table access, pick "byte": each byte of a call site's blocks is as likely).
 *
 * Runs: CLI. Signals: no. Allocates: 40 bytes a watch. Threads: one a store.
 *
 * A watch counts for each member that its word of up to 8 bytes overlaps: it cannot tell members
 * that share a word apart. Elements of buffers are objects, too; arrays from new[] are left out, as
 * a count may stand before their first element. Guessed types do not count.
 */
#ifndef SHINY_MEMBER_USE_H
#define SHINY_MEMBER_USE_H

#include "../../base/mem.h"
#include "../query/filter.h"
#include "use_estimate.h"

struct member_watch {
	uint64_t offset, bytes; /* of the watched word in the object */
	struct use_watch use;
};
struct member_uses {
	VEC(struct member_watch) watches;
	struct use_watch *uses; /* scratch, with room for all watches */
};

/* Loads the watches of a type. `type`: its full name; `bytes`: its size, not 0. */
SHINY_MUST_CHECK struct shiny_err *member_uses_load(struct store *store,
						    const struct filter *filter, const char *type,
						    uint64_t bytes, struct member_uses *out);
void member_uses_deinit(struct member_uses *uses);
/* Returns the share of these bytes that is used within `time` ns; watches 0: unknown. */
struct use_share member_uses_within(struct member_uses *uses, uint64_t offset, uint64_t bytes,
				    uint64_t time);

#endif
