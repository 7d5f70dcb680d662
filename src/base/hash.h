/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h: the hashes of the hash tables, and removal from tables that are not hash_table.h's.
 *
 * A session and a program's files are foreign: with a predictable hash they could hold a million
 * keys of one hash, and a report would never end. So hash_table's keys are hashed with a seed that
 * each process draws (hash_key, hash_keys, hash_bytes.h). hash_mix and hash_pair have no seed: they
 * are for tables in which a collision only loses an entry, and for values that must be the same in
 * every run.
 *
 * Runs: sidecar, CLI. Allocates: nothing.
 */
#ifndef SHINY_HASH_H
#define SHINY_HASH_H

#include <stddef.h>
#include <stdint.h>

extern uint64_t hash_seed; /* drawn when the process starts */

/* A bijection whose high bits depend on all of the key's; two multiplications, as in Stafford's
 * finishers. */
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

static inline uint64_t hash_key(uint64_t key)
{
	return hash_mix(key ^ hash_seed);
}

static inline uint64_t hash_keys(uint64_t a, uint64_t b)
{
	return hash_mix(hash_key(a) + b);
}

/*
 * Empties `cell` of a table `cells` with open addressing and linear probing, of mask + 1 cells, in
 * which an empty cell has `key` 0. Each cell behind the hole moves up, unless its home lies
 * cyclically between the hole and the cell itself. So look-ups need no marks of removed entries.
 * `home` is an expression of `other`, a pointer to a cell: the index of that cell's home.
 */
#define hash_take_out(cells, mask, cell, key, other, home)                                     \
	do {                                                                                   \
		__typeof__(&(cells)[0]) cells_ = (cells);                                      \
		size_t mask_ = (mask), hole_ = (size_t)((cell)-cells_);                        \
		for (size_t i_ = (hole_ + 1) & mask_; cells_[i_].key; i_ = (i_ + 1) & mask_) { \
			const __typeof__(*cells_) *other = &cells_[i_];                        \
			if (((i_ - (home)) & mask_) >= ((i_ - hole_) & mask_)) {               \
				cells_[hole_] = cells_[i_];                                    \
				hole_ = i_;                                                    \
			}                                                                      \
		}                                                                              \
		cells_[hole_].key = 0;                                                         \
	} while (0)

#endif
