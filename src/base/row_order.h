/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_order.h: defines functions that qsort and bsearch compare rows with, by keys.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: any.
 *
 * 	ORDER_BY(by_bytes, struct row, ORDER_DOWN(bytes) ?: ORDER_UP(address) ?: ORDER_TEXT(name))
 *
 * The first key that differs decides. A key is an expression of the rows `a` and `b`: negative if a
 * comes first, 0 if the rows do not differ.
 */
#ifndef SHINY_ROW_ORDER_H
#define SHINY_ROW_ORDER_H

#include <stdint.h>
#include <string.h>

#define ORDER_VALUES(x, y)  (((x) > (y)) - ((x) < (y)))
#define ORDER_UP(member)    ORDER_VALUES(a->member, b->member)
#define ORDER_DOWN(member)  ORDER_VALUES(b->member, a->member)
#define ORDER_FIRST(member) (!a->member - !b->member) /* rows that have it come first */
#define ORDER_LAST(member)  (!b->member - !a->member)
#define ORDER_TEXT(member)  strcmp(a->member, b->member)

#define ORDER_BY(name, type, keys)                         \
	static int name(const void *left, const void *right) \
	{                                                  \
		const type *a = left;                      \
		const type *b = right;                     \
                                                           \
		return keys;                               \
	}

/* Orders an array of uint64_t. */
static inline int order_numbers(const void *left, const void *right)
{
	return ORDER_VALUES(*(const uint64_t *)left, *(const uint64_t *)right);
}

#endif
