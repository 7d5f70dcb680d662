/* SPDX-License-Identifier: Apache-2.0 */
/* test_ticks.c: what a moment was in nanoseconds when it was converted stays known while the
 * clock's rate gets better. */
#include <time.h>
#include <x86intrin.h>

#include <shiny/wire/wire.h>

#include "../../src/sidecar/ring/ticks.h"
#include "check.h"

enum { DRAINS = 200, EACH = 4 };

/* What no counter of a processor can be is measured instead, and no time that such a ring says
 * leads out of the numbers. */
static void lying_rates(void)
{
	static const uint64_t lies[] = { 1, 999999, UINT64_C(1) << 63, UINT64_MAX };

	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++)
		for (unsigned foreign = 0; foreign < 2; foreign++) {
			struct ticks clock = { 0 };
			char name[60];

			ticks_init(&clock, SHINY_CLOCK_TSC, UINT64_MAX - 5, UINT64_C(1) << 63,
				   lies[i], foreign);
			snprintf(name, sizeof(name), "a rate of %" PRIu64 "%s", lies[i],
				 foreign ? ", of another boot" : "");
			checkf(name,
			       ticks_per_second(&clock) >= 1000000 &&
				       ticks_per_second(&clock) <= UINT64_C(100000000000),
			       "got %" PRIu64, ticks_per_second(&clock));
			clock.anchor_ns = INT64_MAX - 1;
			number("times stay in range",
			       ticks_ns(&clock, UINT64_C(1) << 62) <= INT64_MAX, true);
			ticks_deinit(&clock);
		}
}

int main(void)
{
	struct ticks clock = { 0 };
	uint64_t moments[DRAINS * EACH], said[DRAINS * EACH], until = 0, rates = 0, wrong = 0,
							      moved = 0;
	struct timespec now;
	size_t count = 0;

	clock_gettime(CLOCK_BOOTTIME, &now);
	ticks_init(&clock, SHINY_CLOCK_TSC, __rdtsc(),
		   (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, 0, false);
	for (unsigned i = 0; i < DRAINS; i++) {
		uint64_t rate = clock.rate, first = count;

		for (unsigned k = 0; k < EACH; k++, count++)
			moments[count] = __rdtsc();
		ticks_calibrate(&clock, until);
		rates += clock.rate != rate;
		for (size_t k = first; k < count; k++)
			said[k] = ticks_ns(&clock, moments[k]);
		until = moments[count - 1];
	}
	for (size_t k = 0; k < count; k++) {
		wrong += ticks_ns_then(&clock, moments[k]) != said[k];
		moved += ticks_ns(&clock, moments[k]) != said[k];
	}
	checkf("as they were", !wrong, "%" PRIu64 " of %zu are not", wrong, count);
	/* else nothing is tested */
	checkf("rates and moments moved", rates > 1 && moved,
	       "%" PRIu64 " rates, %" PRIu64 " moments moved", rates, moved);
	ticks_deinit(&clock);
	lying_rates();
	return failures != 0;
}
