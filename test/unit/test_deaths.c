/* SPDX-License-Identifier: Apache-2.0 */
/* test_deaths.c: which blocks are remembered that ended: the latest, two seconds of them, as many
 * as there is room for; and from when on none is missing. */
#include <shiny/wire/wire.h>

#include "../../src/sidecar/state/deaths.h"
#include "check.h"

enum { MS = 1000000 }; /* ticks: a tick is a nanosecond */

struct seen {
	uint64_t count, most, first, last; /* addresses */
	bool in_order;
};

static bool see(void *context, const struct death *death)
{
	struct seen *seen = context;

	seen->in_order = !seen->count || death->entry.address == seen->last - 1;
	seen->first = seen->count ? seen->first : death->entry.address;
	seen->last = death->entry.address;
	return ++seen->count < seen->most;
}

static struct seen look(const struct deaths *deaths, uint64_t most)
{
	struct seen seen = { .most = most, .in_order = true };

	deaths_each(deaths, see, &seen);
	return seen;
}

/* Deaths number `from` to `end`, one each `step` ticks, from the first on. */
static void add(struct deaths *deaths, uint64_t from, uint64_t end, uint64_t step,
		const struct ticks *clock)
{
	for (uint64_t i = from; i < end; i++) {
		struct entry entry = { .address = i };

		deaths_add(deaths, &entry, i * step, clock);
	}
}

static void check_whole(const char *name, const struct deaths *deaths, uint64_t end, uint64_t least,
			uint64_t step)
{
	struct seen seen = look(deaths, UINT64_MAX);

	checkf(name,
	       seen.count >= least && seen.count <= DEATHS_MOST && seen.first == end - 1 &&
		       seen.in_order &&
		       deaths->lost == (seen.last > 1 ? (seen.last - 1) * step : 0),
	       "%" PRIu64 " from %" PRIu64 " to %" PRIu64 ", lost to %" PRIu64, seen.count,
	       seen.first, seen.last, deaths->lost);
}

int main(void)
{
	struct ticks clock = { 0 };
	struct deaths deaths = { 0 };
	uint64_t lost;

	ticks_init(&clock, SHINY_CLOCK_TSC, 0, 0, UINT64_C(1000000000), true);
	number("none", look(&deaths, UINT64_MAX).count, 0);
	add(&deaths, 1, 100, MS, &clock);
	check_whole("a few", &deaths, 100, 99, MS);
	number("enough", look(&deaths, 10).count, 10);
	add(&deaths, 100, 4 * DEATHS_PART + 101, MS, &clock); /* a part has just begun */
	check_whole("two seconds", &deaths, 4 * DEATHS_PART + 101, 2000, MS);
	checkf("old ones' room is used again", deaths.used <= 2, "%u parts", deaths.used);
	deaths_deinit(&deaths);
	number("gone", look(&deaths, UINT64_MAX).count, 0);
	lost = deaths.lost;
	number("and from when on is still known", lost > 0, 1);

	deaths = (struct deaths){ 0 };
	add(&deaths, 1, 3 * DEATHS_MOST + 77, 10, &clock);
	check_whole("all that there is room for", &deaths, 3 * DEATHS_MOST + 77,
		    DEATHS_MOST - DEATHS_PART, 10);
	deaths_deinit(&deaths);
	ticks_deinit(&clock);
	return failures != 0;
}
