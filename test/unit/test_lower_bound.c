/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lower_bound.c: binary search against the definition, in every sorted list of up to six
 * numbers from 0 to 3.
 *
 * Runs: tests. Signals: no. Allocates: nothing. Threads: one.
 */
#include "../../src/base/lower_bound.h"
#include "check.h"

enum { LONGEST = 6, VALUES = 4 };

static size_t first_not_below(const unsigned *list, size_t count, unsigned value)
{
	size_t i = 0;

	while (i < count && list[i] < value)
		i++;
	return i;
}

static unsigned tried, wrong;

static void every_value(const unsigned *list, size_t count)
{
	for (unsigned value = 0; value <= VALUES; value++) {
		tried++;
		wrong += lower_bound(count, i, list[i] < value) !=
			 first_not_below(list, count, value);
		wrong += lower_bound(count, i, list[i] <= value) !=
			 first_not_below(list, count, value + 1);
	}
}

static void every_list(unsigned *list, size_t count)
{
	every_value(list, count);
	for (unsigned next = count ? list[count - 1] : 0; count < LONGEST && next < VALUES;
	     next++) {
		list[count] = next;
		every_list(list, count + 1);
	}
}

int main(void)
{
	unsigned list[LONGEST];

	every_list(list, 0);
	number("the first element that is not before", wrong, 0);
	number("lists and values tried", tried, 210 * (VALUES + 1)); /* C(6 + 4, 4) lists */
	number("nothing is asked of an empty list", lower_bound(0, i, list[i]), 0);
	return failures != 0;
}
