/* SPDX-License-Identifier: Apache-2.0 */
/* test_ticks.c: what a moment was in nanoseconds when it was converted stays known while the clock's rate gets better. */
#include <time.h>
#include <x86intrin.h>

#include <shiny/wire.h>

#include "../../src/collector/ticks.h"
#include "check.h"

enum { DRAINS = 200, EACH = 4 };

int main(void)
{
	struct ticks clock = { 0 };
	uint64_t moments[DRAINS * EACH], said[DRAINS * EACH], until = 0, rates = 0, wrong = 0, moved = 0;
	struct timespec now;
	size_t count = 0;

	clock_gettime(CLOCK_BOOTTIME, &now);
	ticks_init(&clock, SHINY_CLOCK_TSC, __rdtsc(), (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, 0, false);
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
	checkf("rates and moments moved", rates > 1 && moved, "%" PRIu64 " rates, %" PRIu64 " moments moved", rates, moved);
	ticks_deinit(&clock);
	return failures != 0;
}
