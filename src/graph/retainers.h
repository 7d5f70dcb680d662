/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retainers.h: the shortest ways from roots to blocks, merged by what the blocks on them are.
 *
 * Runs: CLI. Signals: no. Allocates: 8 bytes a block beside the graph, 70 a different way.
 * Threads: one a store.
 *
 * A way is a root, then the types of the blocks on it, and the members that lead on; consecutive
 * blocks of one type (a list, a tree) are one step. Each block has one way: of those with the
 * fewest doubtful words the shortest, of those the first by the order of the roots, variables as
 * they lie in memory. A word is doubtful if it is no certain pointer by its type's layout
 * (type_words.h), or is of a root that is neither a variable nor a table of wrappers: a stack may
 * hold words that are dead.
 */
#ifndef SHINY_RETAINERS_H
#define SHINY_RETAINERS_H

#include "../answer/field.h"
#include "heap_graph.h"

struct retainer_step {
	char *name;	 /* of the root or type */
	char *member;	 /* leads to the next step: "Service::cache_ (std::map)"; NULL: none */
	uint64_t offset; /* of the word that leads to the next step */
	bool one_offset; /* all blocks have the same `offset`; false in the last step */
	bool sure;	 /* the word is a pointer by the type's layout, or an exact root's */
	bool repeated;	 /* stands for several blocks in a row */
	bool leads;	 /* to a next step */
};
struct retainer_row {
	uint64_t blocks, bytes; /* wanted ones at the end of this way */
	uint64_t address;	/* of one of these blocks */
	struct retainer_step *steps;
	size_t step_count;
};
struct retainers {
	struct graph_facts facts;
	struct retainer_row *rows; /* most bytes first */
	size_t count;
	uint64_t blocks, bytes;			 /* wanted ones that roots reach */
	uint64_t unreachable, unreachable_bytes; /* wanted ones that none reaches */
};

/*
 * Loads the ways to the blocks that `what` names: an address in hex with 0x; else a pattern of type
 * names, or where it matches no block's type, of call sites. * and ? are wildcards; without them a
 * part of the name is enough. No matching block is an error.
 */
SHINY_MUST_CHECK struct shiny_err *retainers_load(struct store *store, const struct filter *filter,
						  uint32_t snapshot, const char *what,
						  bool full_names, struct retainers *out);
void retainers_deinit(struct retainers *retainers);
extern const struct field retainers_fields[]; /* of struct retainers */

/* The way that keeps most bytes of one type, call site or component. */
struct keeper_row {
	char *name;
	uint32_t snapshot;
	uint64_t blocks, bytes;	 /* in the snapshot */
	struct retainer_row way; /* without steps: no root reaches a block */
};
struct keepers { /* of the last snapshot; no rows: there is none */
	struct graph_facts facts;
	struct keeper_row *rows;
	size_t count;
};
/* Loads rows of `names`, in their order, as far as the snapshot has them; NULL: of the `count`
 * largest. */
SHINY_MUST_CHECK struct shiny_err *keepers_load(struct store *store, const struct filter *filter,
						enum group_by by, const char *const *names,
						size_t count, bool full_names, struct keepers *out);
void keepers_deinit(struct keepers *keepers);
extern const struct field keepers_fields[]; /* of struct keepers: its list "kept_by" */

/* The blocks of one holder: the last named member on their way, else its root. */
struct holder_row {
	char *name;
	uint64_t blocks, bytes;
};
struct holders {
	struct graph_facts facts;
	struct holder_row *rows; /* sorted by name, each name once */
	size_t count;
};
SHINY_MUST_CHECK struct shiny_err *holders_load(struct store *store, const struct filter *filter,
						uint32_t snapshot, bool full_names,
						struct holders *out);
void holders_deinit(struct holders *holders);

#endif
