/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.h: the sums of a population of blocks as a struct, as SQL, and as fields of an answer.
 *
 * Runs: CLI and sidecar. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SUMS_H
#define SHINY_SUMS_H

#include <stdint.h>

#include "../answer/field.h"
#include "../base/estimate.h"
#include "../base/units.h"
#include "sum_list.h"

struct query;

#define SUMS_MEMBER(name, ...) uint64_t name;
struct sums {
	SUMS_EACH(SUMS_MEMBER, SUMS_MEMBER)
};
#undef SUMS_MEMBER
enum { SUMS_COUNT = sizeof(struct sums) / sizeof(uint64_t) };

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
/* Returns the title of a column of shares of what `order` sorts by: "of live bytes". */
const char *sums_order_share(enum sums_order order);
/* Returns the value by which `order` sorts; `peak` is the caller's. */
uint64_t sums_by(const struct sums *sums, enum sums_order order, uint64_t peak);

extern const struct field sums_fields[];

#endif
