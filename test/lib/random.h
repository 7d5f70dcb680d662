/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.h: the same random numbers each time (G. Marsaglia's xorshift64, 13, 7, 17). A test that
 * wants another sequence sets random_state, not to 0.
 *
 * Runs: tests. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_TEST_RANDOM_H
#define SHINY_TEST_RANDOM_H

#include <stdint.h>

static uint64_t random_state = 0x9e3779b97f4a7c15;

static inline uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

/* 0 to n - 1 */
static inline uint64_t random_below(uint64_t n)
{
	return next_random() % n;
}

#endif
