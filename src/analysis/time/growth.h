/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth.h: finds buffers that grow step by step, by call site, with their policy, their cost, and
 * the cost of doubling.
 *
 * Runs: CLI. Signals: no. Allocates: a row a site, a chain a buffer that has grown and lives.
 * Threads: one a store.
 *
 * A *chain* is the life of one buffer: a block, the larger one that took its place, and so on. Two
 * things are a step:
 *   realloc           to a larger size
 *   allocate, free    a block is freed, and this thread's last block came from the same call site,
 *                     after it, and is larger: a vector has moved its elements. Each block succeeds
 *                     one other at most.
 * A chain ends when its block ends in another way, or shrinks, or with the recording.
 *
 * Cost: the bytes of all its blocks, as allocators and memcpy see them: growing to n bytes in steps
 * of c costs about n * n / 2c (Firefox's buffer of 1 MiB that grew by single bytes: 549,756,338,176
 * bytes), doubling costs 2n. *Doubling* is the cost of the same chain from its first size to its
 * last by doubling: first + 2 first + 4 first + … until the last size is reached. Waste is the
 * difference, if positive.
 *
 * Policy, by what at least 7 of 10 steps of the site do: geometric (the size grows by a factor of
 * at least 1.25; the factor is the geometric mean), constant (by the same number of bytes as the
 * step before), just enough (anything smaller), else mixed.
 */
#ifndef SHINY_GROWTH_H
#define SHINY_GROWTH_H

#include "../../answer/field.h"
#include "../attribute/groups.h"

enum growth_policy {
	GROWTH_GEOMETRIC,
	GROWTH_CONSTANT,
	GROWTH_JUST_ENOUGH,
	GROWTH_MIXED,
	GROWTH_POLICIES
};
extern const char *const growth_policy_names[GROWTH_POLICIES];

struct growth_row {
	char *name;
	uint64_t chains, steps, reallocs;  /* reallocs: of the steps */
	uint64_t cumulative, doubling;     /* bytes */
	uint64_t largest;                  /* largest size reached */
	uint64_t most_steps;               /* of one chain */
	enum growth_policy policy;
	double factor;                     /* for GEOMETRIC */
	uint64_t step_bytes;               /* for CONSTANT the most recent step, for JUST_ENOUGH the
					    * mean */
};
struct growth {
	struct growth_row *rows; /* most waste first */
	size_t count;
};

static inline uint64_t growth_waste(const struct growth_row *row)
{
	return row->cumulative > row->doubling ? row->cumulative - row->doubling : 0;
}

/* Finds the buffers. `least_steps`: leaves out rows with fewer steps in all. */
SHINY_MUST_CHECK struct shiny_err *growth_load(struct store *store, const struct filter *filter,
					       const char *match, uint64_t least_steps,
					       bool progress, struct growth *out);
void growth_deinit(struct growth *growth);

extern const struct field growth_fields[]; /* of struct growth */

#endif
