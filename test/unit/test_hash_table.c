/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hash_table.c: the hash table against a plain array that is searched from its beginning: the
 * same entries are found after each of many additions, removals and moves, with good hashes and
 * with ones that collide, in whole or in their low bits.
 *
 * Runs: tests. Signals: no. Allocates: yes. Threads: one.
 */
#include "../../src/base/hash.h"
#include "../../src/base/hash_table.h"
#include "../lib/random.h"
#include "check.h"

enum { KEYS = 3000, STEPS = 40000 };

static uint32_t keys[KEYS]; /* the owner's array */
static uint32_t key_count;

typedef uint64_t hash_fn(uint32_t key);

static uint64_t good(uint32_t key)
{
	return hash_mix(key);
}
static uint64_t few(uint32_t key)
{
	return key % 7;
}
static uint64_t seeded(uint32_t key)
{
	return hash_key(key);
}
static uint64_t high_only(uint32_t key)
{
	return (uint64_t)(key % 61) << 20;
}

/* The index of a key, the slow way. */
static uint32_t in_array(uint32_t key)
{
	for (uint32_t i = 0; i < key_count; i++)
		if (keys[i] == key)
			return i;
	return HASH_NONE;
}

static uint32_t in_table(const struct hash_table *table, hash_fn *hash, uint32_t key)
{
	return hash_table_find(table, hash(key), i, keys[i] == key);
}

static void take_out(struct hash_table *table, hash_fn *hash, uint32_t at)
{
	hash_table_remove(table, hash(keys[at]), at);
	key_count--;
	if (at < key_count) {
		hash_table_move(table, hash(keys[key_count]), key_count, at);
		keys[at] = keys[key_count];
	}
}

static void compare(const char *name, hash_fn *hash, uint32_t range, unsigned steps)
{
	struct hash_table table = { 0 };
	unsigned wrong = 0;

	key_count = 0;
	for (unsigned step = 0; step < steps; step++) {
		uint32_t key = (uint32_t)random_below(range), at = in_array(key);

		wrong += in_table(&table, hash, key) != at;
		if (at == HASH_NONE && key_count < KEYS) {
			keys[key_count] = key;
			hash_table_add(&table, hash(key), key_count++);
		} else if (at != HASH_NONE) {
			take_out(&table, hash, at);
		}
		wrong += table.count != key_count;
	}
	for (uint32_t key = 0; key < range; key++)
		wrong += in_table(&table, hash, key) != in_array(key);
	hash_table_deinit(&table);
	wrong += table.room != 0;
	number(name, wrong, 0);
}

/* All entries of one key: `same` is asked about each of them once, and about no other. */
static void several_of_a_key(void)
{
	struct hash_table table = { 0 };
	unsigned seen[10] = { 0 }, others = 0;

	for (uint32_t i = 0; i < 1000; i++)
		hash_table_add(&table, hash_mix(i % 100), i);
	number("no entry suits", hash_table_find(&table, hash_mix(42), i,
						 (i % 100 == 42 ? seen[i / 100]++ : others++, 0)),
	       HASH_NONE);
	number("no other key is asked about", others, 0);
	for (unsigned i = 0; i < 10; i++)
		number("each entry of the key is asked about once", seen[i], 1);
	hash_table_remove(&table, hash_mix(42), 542);
	number("one of them is removed",
	       hash_table_find(&table, hash_mix(42), i, i == 542), HASH_NONE);
	number("and no other one", hash_table_find(&table, hash_mix(42), i, i == 642), 642);
	hash_table_deinit(&table);
}

/* The key that hash_mix makes `hash` of: it is a bijection, and whoever writes a session can turn
 * it round. */
static uint64_t key_of_hash(uint64_t hash)
{
	const uint64_t factor = UINT64_C(0xd6e8feb86659fd93);
	uint64_t inverse = factor; /* right in three bits; each step doubles them */

	for (int i = 0; i < 5; i++)
		inverse *= 2 - factor * inverse;
	hash ^= hash >> 32;
	hash *= inverse;
	hash ^= hash >> 32;
	hash *= inverse;
	return hash ^ hash >> 32;
}

/* How many of the keys have the same 32 bits of hash as another one. */
static unsigned equal_hashes(uint64_t (*hash)(uint64_t key))
{
	enum { MANY = 2000 };
	unsigned equal = 0;
	uint32_t hashes[MANY];

	for (uint32_t i = 0; i < MANY; i++)
		hashes[i] = (uint32_t)hash(key_of_hash((uint64_t)(i + 1) << 32 | 7));
	for (unsigned i = 1; i < MANY; i++)
		for (unsigned j = 0; j < i; j++)
			equal += hashes[i] == hashes[j];
	return equal;
}

/* Keys chosen for one hash have many, and pairs too. With a seed nobody knows which: that more than
 * ten of two million pairs are equal by chance has a probability below 10^-30. */
static void hostile_keys(void)
{
	check_that("keys of one hash without a seed", equal_hashes(hash_mix) == 1999000);
	check_that("the same keys with it", hash_seed && equal_hashes(hash_key) <= 10);
	number("pairs of one hash without a seed",
	       hash_pair(1, 5 - hash_mix(1)) - hash_pair(2, 5 - hash_mix(2)), 0);
	check_that("the same pairs with it",
		   hash_keys(1, 5 - hash_mix(1)) != hash_keys(2, 5 - hash_mix(2)));
}

int main(void)
{
	struct hash_table empty = { 0 };

	number("nothing is in an empty table", hash_table_find(&empty, 1, i, i + 1), HASH_NONE);
	hash_table_deinit(&empty);
	compare("mixed hashes", good, 4000, STEPS);
	compare("seeded hashes", seeded, 4000, STEPS);
	compare("seven hashes", few, 200, STEPS / 4);
	compare("hashes with equal low bits", high_only, 400, STEPS / 4);
	several_of_a_key();
	hostile_keys();
	return failures != 0;
}
