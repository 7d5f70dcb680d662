/* SPDX-License-Identifier: Apache-2.0 */
/* test_phases.c: the phases of curves that are drawn so that one can say what they are. */
#include <math.h>
#include <string.h>

#include "../../src/analysis/time/phases.h"
#include "../lib/random.h"
#include "check.h"

enum { MOST = 4000 };
static struct phase_sample curve[MOST];
static size_t count;
static uint64_t before;

static void draw(uint64_t bytes)
{
	curve[count++] = (struct phase_sample){ bytes, bytes };
	if (count > 1 && curve[count - 2].bytes > bytes)
		curve[count - 1].most = curve[count - 2].bytes;
}

/* Straight to `to` in so many intervals. */
static void line(uint64_t to, unsigned intervals)
{
	int64_t from = count ? (int64_t)curve[count - 1].bytes : 0;

	for (unsigned i = 1; i <= intervals; i++)
		draw((uint64_t)(from + ((int64_t)to - from) * (int64_t)i / (int64_t)intervals));
}

/* All higher by `by`, and every end up or down by up to so much. */
static void shake(uint64_t by)
{
	random_state = 0x853c49e6748fea9b;
	before = by;
	for (size_t i = 0; i < count; i++) {
		curve[i].bytes += by + next_random() % (2 * by) - by;
		curve[i].most = 0;
	}
}

/* `expected`: kinds and their last intervals, "rise 9, steady 49"; ends may be off by so many
 * intervals. */
static void phases(const char *name, const char *expected, size_t off)
{
	struct phase_range found[PHASES_MAX];
	size_t n = phases_find(before, curve, count, found), matched = 0, next = 0;
	char got[1024] = "";
	bool good = true;

	for (size_t i = 0; i < n; i++) {
		sprintf(got + strlen(got), "%s%s %zu", i ? ", " : "",
			phase_kind_names[found[i].kind], found[i].last);
		good = good && found[i].first == next && found[i].last >= found[i].first;
		next = found[i].last + 1;
	}
	good = good && next == count;
	for (const char *at = expected; good && at;
	     at = strchr(at, ','), at = at ? at + 2 : NULL, matched++) {
		char kind[16];
		size_t last;

		good = sscanf(at, "%15s %zu", kind, &last) == 2 && matched < n &&
		       strcmp(kind, phase_kind_names[found[matched].kind]) == 0 &&
		       (last > found[matched].last
				? last - found[matched].last
				: found[matched].last - last) <= (last == count - 1 ? 0 : off);
	}
	good = good && matched == n;
	checkf(name, good, "got %s, want %s", got, expected);
	count = 0;
	before = 0;
}

int main(void)
{
	struct phase_range none[PHASES_MAX];

	number("nothing", phases_find(0, NULL, 0, none), 0);
	draw(1000);
	phases("one interval", "rise 0", 0);
	line(0, 30);
	phases("nothing ever live", "steady 29", 0);

	line(1000000, 50);
	phases("a line", "rise 49", 0);
	line(1000000, 20);
	line(1000000, 80);
	phases("rise, steady", "rise 19, steady 99", 0);
	draw(1000000);
	line(1000000, 99);
	phases("a step", "rise 0, steady 99", 0);
	line(1000000, 30);
	line(1000000, 100);
	line(100000, 10);
	line(100000, 60);
	phases("rise, steady, fall, steady", "rise 29, steady 129, fall 139, steady 199", 0);
	line(1000000, 40);
	line(1000000, 40);
	line(3000000, 3);
	line(1000000, 3);
	line(1000000, 40);
	line(3000000, 40);
	phases("a spike", "rise 39, steady 79, spike 85, steady 125, rise 165", 0);
	line(1000000, 40);
	draw(1800000);
	draw(2000000);
	line(2000000, 100);
	phases("a step over the end of an interval", "rise 39, rise 41, steady 141", 0);
	line(1000000, 40);
	line(1000000, 40);
	draw(1010000);
	draw(1990000);
	line(2000000, 40);
	draw(1990000);
	line(1000000, 2);
	draw(990000);
	line(990000, 40);
	phases("and by a little", "rise 39, steady 79, rise 82, steady 121, fall 125, steady 165",
	       0);
	line(1000000, 2);
	line(1000000, 10);
	line(3000000, 2);
	line(1000000, 2);
	line(1000000, 200);
	phases("a rise, soon after it a spike", "rise 1, steady 11, spike 15, steady 215", 0);
	line(1000000, 40);
	line(1000000, 40);
	draw(1000000);
	curve[count - 1].most = 2000000;
	line(1000000, 40);
	phases("a spike within an interval", "rise 39, steady 79, spike 80, steady 120", 0);
	line(1000000, 10);
	line(1000000, 15);
	draw(2400000);
	draw(1000000);
	curve[count - 1].most = 7000000;
	line(1000000, 20);
	phases("a spike that begins in the interval before",
	       "rise 9, steady 24, spike 26, steady 46", 0);
	line(1000000, 10);
	line(1000000, 15);
	draw(2400000);
	curve[count - 1].most = 7000000;
	draw(1000000);
	line(1000000, 20);
	phases("and one that ends in the next", "rise 9, steady 24, spike 26, steady 46", 0);
	line(4400000, 50);
	draw(2600000);
	curve[count - 1].most = 4600000;
	draw(2800000);
	line(5400000, 10);
	phases("a fall in the interval of the peak", "rise 49, fall 50, rise 61", 0);
	line(1000000, 10);
	line(1000000, 50);
	for (size_t i = 0; i < count; i++)
		curve[i].most += 700000;
	phases("much comes and goes in every interval", "rise 9, steady 59", 1);
	line(800000, 10);
	line(500000, 10);
	line(10000000, 20);
	line(10000000, 100);
	phases("little of all, much of what there was", "rise 9, fall 19, rise 39, steady 139", 0);
	line(1000000, 10);
	line(1500000, 190);
	phases("a burst, then slowly on", "rise 9, rise 199", 0);
	line(1000000, 100);
	line(0, 100);
	phases("a hill is no spike", "rise 99, fall 199", 0);
	for (unsigned i = 0; i < 5; i++) {
		draw(1000000 * (i + 1));
		line(1000000 * (i + 1), 19);
	}
	phases("stairs",
	       "rise 0, steady 19, rise 20, steady 39, rise 40, steady 59, rise 60, steady 79, "
	       "rise 80, steady 99",
	       0);
	for (unsigned i = 0; i < 100; i++) {
		draw(1000000 * (i + 1));
		line(1000000 * (i + 1), 3);
	}
	phases("many stairs are a rise", "rise 399", 0);

	line(1000000, 60);
	line(1000000, 80);
	line(300000, 20);
	line(300000, 40);
	shake(30000);
	phases("noise", "rise 59, steady 139, fall 159, steady 199", 4);
	line(1000000, 200);
	shake(100000);
	phases("a noisy line", "rise 199", 0);
	line(1000000, 4);
	line(1000000, 196);
	shake(60000);
	phases("a noisy level", "rise 3, steady 199", 2);

	line(1000000, 600);
	line(1000000, 1400);
	line(0, 200);
	line(0, 1000);
	phases("more intervals than are looked at", "rise 599, steady 1999, fall 2199, steady 3199",
	       8);
	return failures != 0;
}
