/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pools.c: the sidecar's forest of pools. Designed cases; and random calls, with keys that
 * were never named, wild ones and cycles among them, against plain arrays that are searched from
 * their beginning.
 *
 * Runs: tests. Signals: no. Allocates: yes. Threads: one.
 */
#include <shiny/wire/wire.h>

#include "../../src/sidecar/state/pools.h"
#include "../lib/random.h"
#include "check.h"

enum {
	OBJECTS = SHINY_POOL_OBJECTS,
	CHILDREN = SHINY_POOL_CHILDREN,
	RESET = SHINY_POOL_OBJECTS | SHINY_POOL_CHILDREN,
	DESTROY = SHINY_POOL_ENDS_MAX,
	MANY = 1 << 16,
};

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Ends, and checks that just these addresses did; the list ends with 0. */
static void ends(const char *name, struct pools *pools, uint64_t key, unsigned what,
		 const uint64_t *expected)
{
	pool_addresses ended = { 0 };
	size_t n = 0;

	pools_end(pools, key, what, &ended);
	if (ended.count)
		qsort(ended.at, ended.count, sizeof(*ended.at), compare);
	while (expected[n] && n < ended.count && ended.at[n] == expected[n])
		n++;
	checkf(name, !expected[n] && n == ended.count, "%zu ended, %zu of them expected",
	       ended.count, n);
	free(ended.at);
}
#define ENDS(name, pools, key, what, ...) \
	ends(name, pools, key, what, (const uint64_t[]){ __VA_ARGS__ })

/* 1 has 2 and 3, 2 has 4; each has an object of ten times its key. */
static void family(struct pools *pools)
{
	*pools = (struct pools){ 0 };
	pools_set_parent(pools, 2, 1);
	pools_set_parent(pools, 3, 1);
	pools_set_parent(pools, 4, 2);
	for (uint64_t key = 1; key <= 4; key++)
		pools_add(pools, key, 10 * key);
}

static void check_ends(void)
{
	struct pools pools, copy = { 0 };

	family(&pools);
	pools_get(&pools, 2)->tag = 7;
	pools_clone(&copy, &pools);
	ENDS("destroyed with what is below", &pools, 2, DESTROY, 20, 40, 0);
	ENDS("no more there", &pools, 4, DESTROY, 0);
	number("its name has ended", pools_get(&pools, 2)->tag, 0);
	ENDS("its parent is left", &pools, 1, DESTROY, 10, 30, 0);
	pools_deinit(&pools);

	number("a copy keeps its names", pools_get(&copy, 2)->tag, 7);
	ENDS("emptied", &copy, 2, OBJECTS, 20, 0);
	ENDS("children ended", &copy, 2, CHILDREN, 40, 0);
	pools_add(&copy, 2, 21);
	ENDS("reset", &copy, 2, RESET, 21, 0);
	number("a pool that was reset keeps its name", pools_get(&copy, 2)->tag, 7);
	pools_add(&copy, 2, 22);
	ENDS("and its parent", &copy, 1, RESET, 10, 22, 30, 0);
	pools_deinit(&copy);
}

static void check_changes(void)
{
	struct pools pools;

	family(&pools);
	ENDS("a pool that nobody named", &pools, 99, DESTROY, 0);
	number("an object that nobody made", pools_remove(&pools, 99), 0);
	number("whose it was", pools_remove(&pools, 40), 4);
	number("gone", pools_remove(&pools, 40), 0);
	pools_add(&pools, 3, 20); /* the memory was given out again by another pool */
	number("an address changes its pool", pools_remove(&pools, 20), 3);
	ENDS("no call ends a pool alone", &pools, 3, SHINY_POOL_ITSELF, 0);
	pools_add(&pools, UINT64_MAX, UINT64_MAX);
	ENDS("wild numbers", &pools, UINT64_MAX, 1U << 31 | OBJECTS, UINT64_MAX, 0);

	pools_set_parent(&pools, 1, 4);
	pools_set_parent(&pools, 2, 2);
	ENDS("no circle: 2 is a root now", &pools, 1, DESTROY, 10, 30, 0);
	pools_set_parent(&pools, 4, 0);
	pools_add(&pools, 2, 21);
	pools_add(&pools, 4, 41);
	ENDS("a child that left", &pools, 2, DESTROY, 21, 0);
	ENDS("lives on", &pools, 4, DESTROY, 41, 0);
	pools_deinit(&pools);
}

static void check_many(void)
{
	struct pools pools = { 0 };
	pool_addresses ended = { 0 };

	for (uint64_t key = 1; key <= MANY; key++) {
		pools_set_parent(&pools, key, key > 1 ? 1 + (key - 1) / 200 : 0);
		pools_add(&pools, key, key << 4);
	}
	pools_end(&pools, 1, DESTROY, &ended);
	number("65,536 pools end with their root", ended.count, MANY);
	/* cells are used again */
	for (uint64_t key = 1; key <= MANY; key++)
		pools_add(&pools, key << 3, key << 4);
	number("in the place of those that ended", pools.list.count, MANY);
	number("likewise objects", pools.objects.count, MANY);
	pools_deinit(&pools);

	/* a chain that is built from its end may be of any length; from its root it may not */
	ended.count = 0;
	for (uint64_t key = MANY; key > 1; key--)
		pools_set_parent(&pools, key, key - 1);
	pools_add(&pools, MANY, 16);
	pools_end(&pools, 1, DESTROY, &ended);
	number("a chain of 65,536", ended.count, 1);
	for (uint64_t key = 2; key <= MANY; key++)
		pools_set_parent(&pools, key, key - 1);
	pools_add(&pools, MANY, 16);
	ended.count = 0;
	pools_end(&pools, 1, DESTROY, &ended);
	number("one that is too deep has roots", ended.count, 0);
	free(ended.at);
	pools_deinit(&pools);
}

/* ---- against arrays ---- */

enum { POOLS = 30, PLACES = 200, STEPS = 60000 };
static uint64_t parents[POOLS + 1], places[PLACES + 1]; /* key of the parent; of the pool */

static bool is_below(uint64_t key, uint64_t above)
{
	for (; key; key = parents[key])
		if (key == above)
			return true;
	return false;
}

static size_t end_slowly(uint64_t key, unsigned what)
{
	bool ends_here[POOLS + 1] = { 0 };
	size_t count = 0;

	for (uint64_t k = 1; k <= POOLS; k++)
		ends_here[k] = k == key ? what & OBJECTS : what & CHILDREN && is_below(k, key);
	for (uint64_t p = 1; p <= PLACES; p++)
		if (places[p] && ends_here[places[p]]) {
			count++;
			places[p] = 0;
		}
	for (uint64_t k = 1; k <= POOLS; k++)
		if ((k != key && ends_here[k]) || (k == key && what == DESTROY))
			parents[k] = 0;
	return count;
}

static void check_random(void)
{
	static const unsigned kinds[] = { OBJECTS, CHILDREN, RESET, DESTROY };
	struct pools pools = { 0 };
	pool_addresses ended = { 0 };
	size_t wrong = 0;

	for (size_t step = 0; step < STEPS; step++) {
		uint64_t key = 1 + random_below(POOLS), at = 1 + random_below(PLACES);
		uint64_t what = random_below(100);
		uint64_t parent = random_below(POOLS + 1);

		if (what < 60) {
			pools_add(&pools, key, at << 4);
			places[at] = key;
		} else if (what < 80) {
			wrong += pools_remove(&pools, at << 4) != places[at];
			places[at] = 0;
		} else if (what < 95) {
			pools_set_parent(&pools, key, parent);
			parents[key] = 0;
			parents[key] = is_below(parent, key) ? 0 : parent;
		} else {
			unsigned kind = kinds[random_below(4)];
			uint64_t before[PLACES + 1];

			memcpy(before, places, sizeof(before));
			ended.count = 0;
			pools_end(&pools, key, kind, &ended);
			wrong += ended.count != end_slowly(key, kind);
			for (size_t i = 0; i < ended.count; i++) {
				uint64_t place = ended.at[i] >> 4;

				wrong += !before[place] || places[place];
			}
		}
	}
	number("random calls as by arrays", wrong, 0);
	free(ended.at);
	pools_deinit(&pools);
}

int main(void)
{
	check_ends();
	check_changes();
	check_many();
	check_random();
	return failures != 0;
}
