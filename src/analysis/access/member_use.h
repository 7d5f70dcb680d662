/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member_use.h: which members of a class the program uses, from the words of its objects that were
 * watched (table access, pick "byte": every byte of a call site's blocks alike).
 *
 * Runs: CLI. Signals: no. Allocates: 40 bytes a watch. Threads: one a store.
 *
 * A watch is about each member that its word of up to 8 bytes overlaps: of members that share a
 * word it cannot be told which one was used. Elements of buffers are objects, too; arrays from
 * new[] are left out, as a count may stand before their first element. Guessed types do not count.
 */
#ifndef SHINY_MEMBER_USE_H
#define SHINY_MEMBER_USE_H

#include "../../base/mem.h"
#include "../query/filter.h"
#include "use_estimate.h"

struct member_watch {
	uint64_t offset, bytes; /* of the word in the object */
	struct use_watch use;
};
struct member_uses {
	VEC(struct member_watch) watches;
	struct use_watch *uses; /* room for as many */
};

/* `type`: its whole name; `bytes`: its size, not 0. */
SHINY_MUST_CHECK struct shiny_err *member_uses_load(struct store *store,
						    const struct filter *filter, const char *type,
						    uint64_t bytes, struct member_uses *out);
void member_uses_deinit(struct member_uses *uses);
/* The share of these bytes that is used within a time, ns; watches 0: unknown. */
struct use_share member_uses_within(struct member_uses *uses, uint64_t offset, uint64_t bytes,
				    uint64_t time);

#endif
