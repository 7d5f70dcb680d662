/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table.h: finds an entry of an array by the hash of its key.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 11 to 22 bytes an entry (mem.h). Threads: one a
 * table.
 *
 * The owner keeps the entries in an array of its own, usually a VEC, and the table keeps, for each
 * of them, its index and 32 bits of its hash. So a table knows neither keys nor types: it grows
 * without asking the owner for hashes, and it holds several entries of one key where the owner adds
 * them. A look-up compares 32 bits of the hash first, and evaluates the owner's comparison only
 * where they are equal: once for nearly every key in the table, and hardly ever for one that is
 * not.
 *
 * 	uint32_t at = hash_table_find(&table, hash, i, rows.at[i].key == key);
 *
 * 	if (at == HASH_NONE) {
 * 		at = (uint32_t)rows.count;
 * 		*vec_push(&rows) = (struct row){ .key = key };
 * 		hash_table_add(&table, hash, at);
 * 	}
 *
 * Approach: open addressing, linear probing, at most three quarters full. A cell takes eight bytes,
 * so that a search stays in one cache line as a rule. Removal closes the gap, and leaves no marks.
 *
 * Not for: maps that are read at each event and whose cells hold the entry itself, which saves the
 * second cache miss (life_map.h, type_table.h, registry.h say so); more than 2^32 - 2 entries.
 */
#ifndef SHINY_HASH_TABLE_H
#define SHINY_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define HASH_NONE UINT32_MAX

struct hash_cell {
	uint32_t hash;
	uint32_t entry; /* index + 1; 0: empty */
};
struct hash_table { /* zeroed: empty */
	struct hash_cell *cells;
	size_t room; /* 0, or a power of two > count * 4 / 3 */
	size_t count;
};

/*
 * Returns the index of an entry with this hash for which `same` holds, or HASH_NONE. `same` is an
 * expression of `index`, the name that the caller chooses for it. `hash` is mixed in its low 32
 * bits (hash.h: hash_key, hash_keys; hash_bytes.h). Where `same` is never true, it is evaluated for
 * every entry with this hash.
 */
#define hash_table_find(table, hash_of_key, index, same)                                           \
	({                                                                                         \
		const struct hash_table *table_ = (table);                                         \
		uint32_t hash_ = (uint32_t)(hash_of_key), found_ = HASH_NONE;                      \
		size_t mask_ = table_->room - 1;                                                   \
		for (size_t at_ = hash_ & mask_; table_->room && table_->cells[at_].entry;         \
		     at_ = (at_ + 1) & mask_) {                                                    \
			const uint32_t index = table_->cells[at_].entry - 1;                       \
			if (table_->cells[at_].hash == hash_ && (same)) {                          \
				found_ = index;                                                    \
				break;                                                             \
			}                                                                          \
		}                                                                                  \
		found_;                                                                            \
	})

/* Prefetches the cell at which a look-up of this hash starts. */
static inline __attribute__((always_inline)) void hash_table_expect(const struct hash_table *table,
								    uint64_t hash)
{
	if (table->room)
		__builtin_prefetch(&table->cells[hash & (table->room - 1)]);
}

/* Returns the entry at which a look-up of this hash starts, which may have another hash; HASH_NONE:
 * that cell is empty. */
static inline uint32_t hash_table_first(const struct hash_table *table, uint64_t hash)
{
	return table->room ? table->cells[hash & (table->room - 1)].entry - 1 : HASH_NONE;
}

void hash_table_add(struct hash_table *table, uint64_t hash, uint32_t index);
/* The entry must be in the table. */
void hash_table_remove(struct hash_table *table, uint64_t hash, uint32_t index);
/* Tells the table that an entry's index has changed, as when the last of an array fills a gap. The
 * entry must be in the table. */
void hash_table_move(struct hash_table *table, uint64_t hash, uint32_t from, uint32_t to);
void hash_table_deinit(struct hash_table *table);

#endif
