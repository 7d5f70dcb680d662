/* SPDX-License-Identifier: Apache-2.0 */
/* test_objects.c: what lies in a range, against a byte map; kinds and their places. */
#include "../../src/sidecar/state/objects.h"
#include "../lib/random.h"
#include "check.h"

enum { BASE = 0x20000 * 16, SPACE = 0x20000 * 5, GRANULES = SPACE / 8, STEPS = 60000 };

/* The model: for each byte the object that has it (its start), 0 none. */
static uint32_t owner[SPACE];
static uint32_t bytes_at[SPACE];

static bool model_has(uint64_t start, uint64_t end)
{
	for (uint64_t i = start; i < end; i++)
		if (owner[i])
			return true;
	return false;
}

static void model_set(uint64_t start, uint64_t bytes, uint32_t value)
{
	for (uint64_t i = start; i < start + bytes; i++)
		owner[i] = value;
	bytes_at[start] = value ? (uint32_t)bytes : 0;
}

static uint64_t some_size(void)
{
	switch (next_random() % 16) {
	case 0: return 1 + next_random() % 8;
	case 1: return 8 + next_random() % 40000;
	case 2: return 1 + next_random() % 300000; /* out of its page */
	default: return 1 + next_random() % 256;
	}
}

/* Random objects come, bury others, and go; every answer must be one that the byte map gives. */
static void against_bytes(void)
{
	struct objects objects = { 0 };
	unsigned missed = 0, wrong = 0, buried = 0, partly = 0;

	for (int step = 0; step < STEPS; step++) {
		uint64_t start = next_random() % GRANULES * 8, bytes = some_size(), found;
		uint64_t from = next_random() % SPACE, to = from + 1 + next_random() % 5000;

		if (start + bytes > SPACE)
			bytes = SPACE - start;
		if (next_random() % 4 == 0) { /* one that is there goes */
			uint32_t there = owner[next_random() % SPACE];

			if (there) {
				objects_remove(&objects, BASE + there - 1);
				model_set(there - 1, bytes_at[there - 1], 0);
			}
			continue;
		}
		if (to > SPACE)
			to = SPACE;
		found = objects_find(&objects, BASE + from, BASE + to);
		missed += !found && model_has(from, to);
		wrong += found && !bytes_at[found - BASE];
		while ((found = objects_find(&objects, BASE + start, BASE + start + bytes))) {
			uint64_t at = found - BASE;

			if (!bytes_at[at] || at >= start + bytes || at + bytes_at[at] <= start) {
				wrong++;
				break;
			}
			partly += at < start;
			objects_remove(&objects, found);
			model_set(at, bytes_at[at], 0);
			buried++;
		}
		missed += model_has(start, start + bytes);
		objects_add(&objects, BASE + start, bytes);
		model_set(start, bytes, (uint32_t)start + 1);
	}
	check("nothing is missed", !missed, "an object in the range was not found");
	check("nothing is made up", !wrong, "what was found is no object of the range");
	check("objects were buried, and some begin in front of the range",
	      buried > 1000 && partly > 100, "the test tests nothing");
	objects_deinit(&objects);
}

static void ranges(void)
{
	struct objects objects = { 0 };

	check("empty", !objects_find(&objects, 0, UINT64_MAX), "something was found");
	objects_add(&objects, 0x7f0000000008, 1);
	check("one byte", objects_find(&objects, 0x7f0000000008, 0x7f0000000009) == 0x7f0000000008,
	      "not found");
	check("behind it", !objects_find(&objects, 0x7f0000000010, 0x7f0000000100), "found");
	check("in front of it", !objects_find(&objects, 0x7f0000000000, 0x7f0000000008), "found");
	check("all there is", objects_find(&objects, 0, UINT64_MAX) == 0x7f0000000008,
	      "not found in a range of many pages");
	check("an empty range", !objects_find(&objects, 0x7f0000000008, 0x7f0000000008), "found");
	objects_add(&objects, 0x7f0000020048, 1 << 20);
	check("a large one by its end",
	      objects_find(&objects, 0x7f0000120047, 0x7f0000120050) == 0x7f0000020048,
	      "not found");
	check("one with its own page is not cut",
	      !objects_cut(&objects, 0x7f0000020048, 0x7f0000030000), "it was");
	objects_remove(&objects, 0x7f0000020048);
	objects_add(&objects, 0x7f0000020848, 100000);
	check("one that has grown is cut", objects_cut(&objects, 0x7f0000020848, 0x7f0000020888),
	      "it was not");
	check("what is left of the grown one",
	      objects_find(&objects, 0x7f0000020880, 0x7f0000030000) == 0x7f0000020848,
	      "not found");
	check("what was cut off the grown one",
	      !objects_find(&objects, 0x7f0000020888, 0x7f0000040000), "found");
	objects_remove(&objects, 0x7f0000020848);
	objects_add(&objects, 0x7f0000000020, 100);
	check("cut", objects_cut(&objects, 0x7f0000000020, 0x7f0000000040), "it was not");
	check("what is left of it",
	      objects_find(&objects, 0x7f0000000038, 0x7f0000000100) == 0x7f0000000020,
	      "not found");
	check("what was cut off", !objects_find(&objects, 0x7f0000000040, 0x7f0000000100), "found");
	objects_remove(&objects, 0x7f0000000020);
	objects_remove(&objects, 0x7f0000000008);
	objects_remove(&objects, 0x7f0000000008);
	check("removed", !objects_find(&objects, 0, UINT64_MAX), "still there");
	objects_deinit(&objects);
}

/* A list has what one search after the other finds, as far as its page goes. */
static void lists(void)
{
	enum { PAGE = 1 << 17, MOST = 8 };
	const uint64_t at[] = { 0x100, 0x108, 0x2f8, 0x300, 0x1fff8, 0x20008 };
	struct objects objects = { 0 };
	uint64_t list[MOST];
	size_t count;
	bool same = true;

	check("list of nothing", !objects_list(&objects, BASE, BASE + PAGE, list, MOST), "of some");
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		objects_add(&objects, BASE + at[i], 8);
	count = objects_list(&objects, BASE, BASE + 2 * PAGE, list, MOST);
	for (size_t i = 0; i < count; i++)
		same &= list[i] == BASE + at[i];
	check("list of a page", count == 5 && same, "others");
	count = objects_list(&objects, BASE + 0x108, BASE + 0x300, list, MOST);
	check("list of a range",
	      count == 2 && list[0] == BASE + at[1] && list[1] == BASE + at[2], "others");
	check("list of few", objects_list(&objects, BASE, BASE + PAGE, list, 3) == 3, "of others");
	check("list of an empty range", !objects_list(&objects, BASE, BASE, list, MOST), "of some");
	objects_deinit(&objects);
}

static void kinds(void)
{
	struct objects objects = { 0 }, child = { 0 };
	const struct shiny_object_kinds table = {
		.place = 0x1000, .first = 1, .count = 100, .step = 32
	};
	const struct shiny_object_kinds one = { .place = 0x9000, .first = 200, .count = 1 };
	const struct shiny_object_kinds other = { .place = 0xa000, .first = 150, .count = 1 };
	const struct shiny_object_kinds bad[] = {
		{ .place = 1, .first = 0, .count = 0 },
		{ .place = 1, .first = 1 << SHINY_OBJECT_INDEX_BITS, .count = 1 },
		{ .place = 1, .first = 5000, .count = UINT32_MAX },
		{ .place = 0x2000, .first = 50, .count = 100, .step = 32 },
	};

	check("unknown", !objects_place(&objects, 1), "a place without kinds");
	check("kinds",
	      objects_set_kinds(&objects, &table) && objects_set_kinds(&objects, &one) &&
		      objects_set_kinds(&objects, &other),
	      "refused");
	check("the same again",
	      objects_set_kinds(&objects, &table) && objects_set_kinds(&objects, &one), "refused");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		check("kinds without sense", !objects_set_kinds(&objects, &bad[i]), "taken");
	objects_clone_kinds(&child, &objects);
	check("places",
	      objects_place(&child, 1) == 0x1000 &&
		      objects_place(&child, 100) == 0x1000 + 99 * 32 &&
		      objects_place(&child, 200) == 0x9000 && objects_place(&child, 150) == 0xa000,
	      "wrong");
	check("between them",
	      !objects_place(&child, 0) && !objects_place(&child, 101) &&
		      !objects_place(&child, 201),
	      "a place of none");
	objects_deinit(&objects);
	objects_deinit(&child);
}

int main(void)
{
	against_bytes();
	ranges();
	lists();
	kinds();
	return failures != 0;
}
