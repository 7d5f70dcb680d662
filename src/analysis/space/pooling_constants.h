/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooling_constants.h: the costs in the model of pooling.h, with their sources.
 *
 * Runs: CLI. Signals: no. Allocates: during the call. Threads: any.
 *
 * From "Shiny Objects" (Upadhyay & Venkat, POMACS 10(1):20, 2026), cycles:
 * allocation 150 and deallocation 100 on the fast path, 500 to 5,000 with a system call, of which
 * slow is the middle; constructor 300, destructor 200. Ours: reuse 0, as the paper charges pools
 * nothing; chunk 64 KiB.
 */
#ifndef SHINY_POOLING_CONSTANTS_H
#define SHINY_POOLING_CONSTANTS_H

#include <stddef.h>
#include <stdint.h>

#include "../../base/err.h"

struct pooling_constants {
	uint64_t alloc, free; /* cycles of an allocator call */
	uint64_t slow;        /* cycles of a call that enters the system */
	uint64_t ctor, dtor;
	uint64_t reuse;       /* cycles of a pool's call */
	uint64_t chunk;       /* bytes that a pool takes from the allocator at once; whole pages */
};
struct pooling_constant {
	const char *name; /* "alloc" */
	uint64_t usual;
	size_t offset;    /* of its uint64_t in struct pooling_constants */
};
enum { POOLING_CONSTANTS = 7 };
extern const struct pooling_constant pooling_constant_list[POOLING_CONSTANTS];
uint64_t pooling_constant_value(const struct pooling_constant *constant,
				const struct pooling_constants *constants);
/* Parses constants such as "alloc=150,chunk=1m"; those not named, or all if NULL, have usual
 * values. An unknown name or a bad value is a usage error. */
SHINY_MUST_CHECK struct shiny_err *pooling_parse(const char *text, struct pooling_constants *out);

/* Options of the model; bits. */
enum pooling_flags {
	POOLING_TYPES = 1, /* make rows of types: twice the memory a block */
	POOLING_FULL_NAMES = 2,
	POOLING_PROGRESS = 4
};

#endif
