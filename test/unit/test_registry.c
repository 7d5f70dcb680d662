/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry.c: the registry against a plain model; the order heap; the budget of bytes a live
 * block. */
#include <stdio.h>
#include <stdlib.h>

#include "../../src/sidecar/intake/order.h"
#include "../../src/sidecar/state/registry.h"
#include "../lib/random.h"
#include "check.h"

static size_t bytes_of(const struct registry *r)
{
	size_t bytes = ((size_t)1 << r->depth) * sizeof(*r->directory) +
		       r->segments.room * sizeof(*r->segments.at);

	for (size_t i = 0; i < r->slabs.count; i++)
		bytes += r->slabs.at[i].bytes;
	return bytes;
}

static void count_one(void *context, const struct entry *entry)
{
	*(uint64_t *)context += entry->size;
}

/* 200,000 random additions and removals at 30,000 addresses; the model is an array. */
static void model(void)
{
	enum { ADDRESSES = 30000 };
	static uint32_t sizes[ADDRESSES];
	struct registry registry;
	uint64_t sum = 0, seen = 0, live = 0, wrong = 0;

	registry_init(&registry);
	for (uint32_t n = 1; n <= 200000; n++) {
		uint32_t i = (uint32_t)(next_random() % ADDRESSES);
		uint64_t address = 0x10000 + (uint64_t)i * 48;
		struct entry *found = registry_find(&registry, address), removed;

		wrong += found ? found->size != sizes[i] : sizes[i] != 0;
		if (sizes[i]) {
			wrong += !registry_remove(&registry, address, &removed) ||
				 removed.size != sizes[i];
			sizes[i] = 0;
		} else {
			struct entry entry = { .address = address, .size = n };

			wrong += !registry_add(&registry, &entry);
			sizes[i] = n;
		}
	}
	for (uint32_t i = 0; i < ADDRESSES; i++) {
		sum += sizes[i];
		live += sizes[i] != 0;
	}
	registry_each(&registry, count_one, &seen);
	check("registry/model", !wrong, "an answer differed from the model's");
	check("registry/each", seen == sum && registry.count == live,
	      "the walk does not see every block once");
	registry_deinit(&registry);
}

/*
 * At no size are there more than 100 bytes a live block, once there are more than a few segments'
 * worth, however near or far from each other the blocks are; and all are found, nearly all in the
 * group of cells that is fetched ahead.
 */
static void budget(const char *name, uint64_t step, uint64_t every)
{
	enum { BLOCKS = 500000 };
	struct registry registry;
	uint64_t missing = 0, steps = 0;
	struct entry entry = { .size = 1 };
	size_t worst = 0;

	registry_init(&registry);
	for (uint64_t i = 1; i <= BLOCKS; i++) {
		size_t each;

		entry.address = i * step + i / 32 * every;
		registry_add(&registry, &entry);
		each = bytes_of(&registry) / i;
		if (i > 10000 && each > worst)
			worst = each;
	}
	for (uint64_t i = 1; i <= BLOCKS; i++) {
		uint64_t address = i * step + i / 32 * every;
		const struct segment *s = registry_segment(&registry, registry_hash(address));
		const struct entry *found = registry_find(&registry, address);
		size_t cell = found ? (size_t)(found - s->cells->entries) : 0;

		missing += !found;
		steps += found && cell / REGISTRY_GROUP != registry_place(address).group;
	}
	checkf(name, worst <= 100 && !missing && steps < BLOCKS / 5,
	       "%zu bytes, %" PRIu64 " missing, %.3f in another group", worst, missing,
	       (double)steps / BLOCKS);
	printf("# %s: worst %zu bytes a live block, at the end %zu; %.3f in another group\n", name,
	       worst, bytes_of(&registry) / BLOCKS, (double)steps / BLOCKS);
	registry_deinit(&registry);
}

/* What was in the way of others leaves nothing behind: a search ends as early as in a new table. */
static void emptied(void)
{
	enum { BLOCKS = 100000 };
	struct registry registry;
	struct entry removed;
	uint64_t lost = 0, left = 0, passed = 0;

	registry_init(&registry);
	for (uint64_t i = 1; i <= BLOCKS; i++)
		registry_add(&registry, &(struct entry){ .address = i * 16, .size = i });
	for (size_t s = 0; s < registry.segments.count; s++)
		for (unsigned group = 0; group < REGISTRY_GROUPS; group++)
			passed += registry.segments.at[s].cells->groups[group].passed;
	for (uint64_t i = 1; i <= BLOCKS; i++) {
		uint64_t n = i * 7919 % BLOCKS + 1; /* in another order */

		lost += !registry_remove(&registry, n * 16, &removed) || removed.size != n;
	}
	for (size_t s = 0; s < registry.segments.count; s++) {
		const struct cells *cells = registry.segments.at[s].cells;

		for (unsigned i = 0; i < REGISTRY_CELLS; i++) {
			const struct cell_group *group = &cells->groups[i / REGISTRY_GROUP];

			left += group->tags[i % REGISTRY_GROUP] || group->passed;
		}
	}
	checkf("registry/emptied", passed && !lost && !left && !registry.count,
	       "%" PRIu64 " passed, %" PRIu64 " lost, %" PRIu64 " left", passed, lost, left);
	registry_deinit(&registry);
}

/* Blocks that no allocator makes, one byte apart: some are refused, and none of them makes the
 * tables grow without bounds. */
static void crowd(void)
{
	struct registry registry;
	uint64_t kept = 0, wrong = 0;

	registry_init(&registry);
	for (uint64_t i = 1; i <= 40000; i++) {
		struct entry entry = { .address = (i / 1000 << 40) + i % 1000 + 1, .size = i };

		kept += registry_add(&registry, &entry) != NULL;
	}
	for (uint64_t i = 1; i <= 40000; i++) {
		struct entry *found = registry_find(&registry, (i / 1000 << 40) + i % 1000 + 1);

		wrong += found && found->size != i;
	}
	checkf("registry/crowd",
	       kept > 30000 && !wrong && registry.count == kept &&
		       bytes_of(&registry) < 16 << 20,
	       "%" PRIu64 " of 40000 kept, %" PRIu64 " wrong, %zu bytes", kept, wrong,
	       bytes_of(&registry));
	registry_deinit(&registry);
}

static void heap(void)
{
	struct order order = { 0 };
	static uint64_t keys[100];
	uint64_t last = 0, steps = 0;
	bool sorted = true, limits = true;

	for (int i = 0; i < 100; i++) {
		keys[i] = next_random() % 1000;
		order_add(&order, keys[i], &keys[i]);
	}
	for (uint64_t *first; (first = order_first(&order)); steps++) {
		sorted &= *first >= last;
		limits &= order_limit(&order) >= *first;
		last = *first;
		if (steps < 1000)
			*first += next_random() % 50, order_change_first(&order, *first);
		else
			order_remove_first(&order);
	}
	check("order/sorted", sorted && steps == 1100, "keys came out of order, or were lost");
	check("order/limit", limits, "the limit lies before the first");
	order_deinit(&order);
}

int main(void)
{
	model();
	emptied();
	budget("registry/in a row", 64, 0);
	budget("registry/8 bytes apart", 8, 0);
	budget("registry/16 bytes apart", 16, 0);
	budget("registry/48 bytes apart", 48, 0);
	budget("registry/in pages", 64, 1 << 12);
	budget("registry/in spans", 16, 1 << 16);
	budget("registry/pages", 1 << 12, 0);
	budget("registry/far apart", 1 << 20, 0);
	budget("registry/larger than a segment's hash", (UINT64_C(1) << 26) + 8, 0);
	crowd();
	heap();
	return failures != 0;
}
