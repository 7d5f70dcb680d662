/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_product.h: is the size that is asked for a count of elements, and how large is one?
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_SIZE_PRODUCT_H
#define SHINY_SYM_SIZE_PRODUCT_H

#include "code_before.h"

struct size_product {
	uint64_t unit;	/* all constant factors that stand together; 1: none */
	bool whole;	/* one factor of a product of 128 bits: `unit` is no product itself */
	bool saturated; /* where it overflows, the largest number is asked for */
	bool cookie;	/* 8 bytes more, for the count: of an array */
};

/* The size of the call's block, in `size_register` (DWARF's number). False: it is no product, or
 * something else is added to it. */
bool size_product_find(const struct code_before *before, unsigned size_register,
		       struct size_product *out);

/* The code behind a call that allocates writes a register to the block's first word, and goes on
 * with the address 8 bytes behind it, as new T[n] does where T has a destructor. */
bool size_cookie_follows(const struct flow_code *code, uint64_t ret);

#endif
