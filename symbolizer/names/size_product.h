/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_product.h: tells whether a requested size is a count of elements, and an element's size.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time a file.
 */
#ifndef SHINY_SYM_SIZE_PRODUCT_H
#define SHINY_SYM_SIZE_PRODUCT_H

#include "code_before.h"

struct size_product {
	uint64_t unit;	/* product of all constant factors; 1: none */
	bool whole;	/* `unit` is the one constant factor of a product of 128 bits, not a product
	                 * itself */
	bool saturated; /* on overflow, the code requests the largest number */
	bool cookie;	/* 8 bytes are added, for an array's count */
};

/* Analyzes the size of the call's block, in `size_register` (DWARF's number). False: it is no
 * product, or something else is added to it. */
bool size_product_find(const struct code_before *before, unsigned size_register,
		       struct size_product *out);

/* True if the code after a call that allocates writes a register to the block's first word, and
 * continues with the address 8 bytes after it, as new T[n] does if T has a destructor. */
bool size_cookie_follows(const struct flow_code *code, uint64_t ret);

#endif
