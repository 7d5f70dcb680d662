/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.h: the sums of a population of blocks: the list of their names, and the code generated from
 * it.
 *
 * Runs: CLI and sidecar. Signals: no. Allocates: no. Threads: any.
 *
 * The columns of tables stat and site_stat, the keys of --json and the members of struct sums have
 * the same names. allocs + inherited_frees = frees + live + abandoned; `shinyctl help definitions`
 * says what each is.
 */
#ifndef SHINY_SUMS_H
#define SHINY_SUMS_H

#include <stdint.h>

#include "../answer/field.h"

struct query;

/* FIRST(name, kind, help) once, then NEXT for each of the others, as a list needs commas only
 * between its elements. The order is that of a query's columns and of --json. */
#define SUMS_EACH(FIRST, NEXT)                                                                     \
	FIRST(allocs, COUNT, "blocks allocated")                                                   \
	NEXT(reallocs, COUNT, "of these, those by a realloc")                                      \
	NEXT(frees, COUNT, "frees, with those of inherited blocks")                                \
	NEXT(bytes, BYTES, "requested bytes of the allocations")                                   \
	NEXT(live, COUNT, "blocks that are live at the end")                                       \
	NEXT(live_bytes, BYTES, "their bytes")                                                     \
	NEXT(inherited, COUNT, "blocks that a fork copied")                                        \
	NEXT(inherited_bytes, BYTES, "their bytes")                                                \
	NEXT(inherited_frees, COUNT, "inherited blocks that were freed")                           \
	NEXT(abandoned, COUNT, "unfreed blocks of processes that ended before the others")         \
	NEXT(abandoned_bytes, BYTES, "their bytes")

#define SUMS_MEMBER(name, ...) uint64_t name;
struct sums {
	SUMS_EACH(SUMS_MEMBER, SUMS_MEMBER)
};
#undef SUMS_MEMBER

/* SQL: the names; the columns of a query named r; their sums over a table named s. */
#define SUMS_NAME(name, ...)	  #name
#define SUMS_NEXT_NAME(name, ...) ", " #name
#define SUMS_NAMES		  SUMS_EACH(SUMS_NAME, SUMS_NEXT_NAME)
#define SUMS_R(name, ...)	  "r." #name
#define SUMS_NEXT_R(name, ...)	  ", r." #name
#define SUMS_OF_R		  SUMS_EACH(SUMS_R, SUMS_NEXT_R)
#define SUMS_S(name, ...)	  "SUM(s." #name ") AS " #name
#define SUMS_NEXT_S(name, ...)	  ", SUM(s." #name ") AS " #name
#define SUMS_SQL		  SUMS_EACH(SUMS_S, SUMS_NEXT_S)

/* Reads the columns from `first` on, in the order of SUMS_EACH. */
void sums_read(struct sums *sums, const struct query *query, int first);
void sums_add(struct sums *to, const struct sums *more);

enum sums_order { ORDER_LIVE, ORDER_BYTES, ORDER_ALLOCS, ORDER_FREES, ORDER_PEAK, ORDER_NAME };
/* Returns the order that --sort calls by this word; an unknown one, or NULL: ORDER_LIVE. */
enum sums_order sums_order_of(const char *word);
/* Returns the value by which `order` sorts; `peak` is the caller's. */
uint64_t sums_by(const struct sums *sums, enum sums_order order, uint64_t peak);

extern const struct field sums_fields[];

#endif
