/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units_words: each number of standard input as bytes, as a time, and as a share of 1000000, a line
 * each with tabs between them, for a test that compares them with the page's.
 *
 * Runs: CLI, in tests. Allocates: nothing. Threads: one.
 */
#include <inttypes.h>
#include <stdio.h>

#include "../../src/base/units.h"

int main(void)
{
	uint64_t n;

	while (scanf("%" SCNu64, &n) == 1)
		printf("%s\t%s\t%s\n", units_bytes(UNITS_BUF, n), units_time(UNITS_BUF, n),
		       units_share(UNITS_BUF, (double)n, 1e6));
	return 0;
}
