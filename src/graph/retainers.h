/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retainers.h: the shortest ways from roots to blocks, merged by what the blocks on them are.
 *
 * Runs: CLI. Signals: no. Allocates: 8 bytes a block beside the graph, 70 a different way.
 * Threads: one a store.
 *
 * A way is a root, then the types of the blocks that are passed, and the members that lead on;
 * blocks of one type in a row (a list, a tree) are one step. Each block has one way: of those with
 * the fewest doubtful words the shortest, of those the first by the order of the roots, variables
 * as they lie in memory. Doubtful is a word that is no pointer by its type's layout
 * (type_words.h), and a root that is neither a variable nor a table of wrappers: a stack may hold
 * what nobody will use again.
 */
#ifndef SHINY_RETAINERS_H
#define SHINY_RETAINERS_H

#include "heap_graph.h"

struct retainer_step {
	char *name;      /* of the root, or the type */
	char *member;    /* that leads to the next step: "Service::cache_ (std::map)"; or NULL */
	uint64_t offset; /* in it, of the word that leads to the next step */
	bool one_offset; /* it is the same for all; false in the last step */
	bool sure;       /* a pointer by the type's layout, or an exact root's word */
	bool repeated;   /* it stands for several in a row */
};
struct retainer_row {
	uint64_t blocks, bytes; /* wanted ones at the end of this way */
	uint64_t address;       /* of one */
	struct retainer_step *steps;
	size_t step_count;
};
struct retainers {
	struct graph_facts facts;
	struct retainer_row *rows; /* most bytes first */
	size_t count;
	uint64_t blocks, bytes;                  /* wanted ones that roots reach */
	uint64_t unreachable, unreachable_bytes; /* wanted ones that none reaches */
};

/*
 * `what`: an address in hex with 0x, else a pattern for the names of types, or where no block's
 * type matches, of call sites; * and ? are wildcards, without them a part of the name is enough. An
 * error where no block matches.
 */
SHINY_MUST_CHECK struct shiny_err *retainers_load(struct store *store, const struct filter *filter,
						  uint32_t snapshot, const char *what,
						  bool full_names, struct retainers *out);
void retainers_deinit(struct retainers *retainers);

/* What keeps most of the bytes of a type, call site or component. */
struct keeper_row {
	char *name;
	uint64_t blocks, bytes;       /* in the snapshot */
	struct retainer_row way;      /* of those ways the one with most bytes; no steps: none */
};
struct keepers { /* of the last snapshot; without one no rows */
	struct graph_facts facts;
	struct keeper_row *rows;
	size_t count;
};
/* Rows of `names` in their order, those that the snapshot has; NULL: of the `count` largest. */
SHINY_MUST_CHECK struct shiny_err *keepers_load(struct store *store, const struct filter *filter,
						enum group_by by, const char *const *names,
						size_t count, bool full_names,
						struct keepers *out);
void keepers_deinit(struct keepers *keepers);

/* Blocks by what holds them: the last member with a name on their way, else its root. */
struct holder_row {
	char *name;
	uint64_t blocks, bytes;
};
struct holders {
	struct graph_facts facts;
	struct holder_row *rows; /* in order of their names, each name once */
	size_t count;
};
SHINY_MUST_CHECK struct shiny_err *holders_load(struct store *store, const struct filter *filter,
						uint32_t snapshot, bool full_names,
						struct holders *out);
void holders_deinit(struct holders *holders);

#endif
