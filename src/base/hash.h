/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h: mixes 64-bit keys for the hash tables; not for untrusted text.
 *
 * Runs: sidecar, CLI. Allocates: nothing.
 */
#ifndef SHINY_HASH_H
#define SHINY_HASH_H

#include <stdint.h>

/* A bijection whose high bits depend on all of the key's; two multiplications, as in Stafford's finishers. */
static inline uint64_t hash_mix(uint64_t key)
{
	key ^= key >> 32;
	key *= UINT64_C(0xd6e8feb86659fd93);
	key ^= key >> 32;
	key *= UINT64_C(0xd6e8feb86659fd93);
	return key ^ key >> 32;
}

static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
	return hash_mix(hash_mix(a) + b);
}

#endif
