/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_bytes.h: the hash of a text or of a struct without padding, for a hash_table (hash.h says
 * what the seed is for).
 *
 * Runs: sidecar, CLI. Allocates: nothing.
 */
#ifndef SHINY_HASH_BYTES_H
#define SHINY_HASH_BYTES_H

#include "hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t hash_bytes(const void *bytes, size_t count)
{
	return XXH3_64bits_withSeed(bytes, count, hash_seed);
}

#endif
