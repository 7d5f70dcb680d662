/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.c: the sample of SHINY_SAMPLE: weights against libm, sums of weights against the blocks
 * that there were, intervals against how often they hold, and the table of drawn blocks against a
 * book.
 *
 * Runs: test, against interpose/ built with sanitizers. Chances: a sum is off by more than six
 * standard deviations once in 5 * 10^8 runs.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <shiny/wire/sample_weight.h>

#include "../../interpose/record/sample.h"
#include "../../src/base/estimate.h"
#include "../unit/check.h"

enum { MEAN = 65536, KINDS = 9, RUNS = 600 };
static const struct kind {
	size_t size;
	unsigned count; /* blocks a run */
} kinds[KINDS] = { { 0, 40000 },     { 8, 40000 },    { 100, 20000 },
		   { 3000, 2000 },   { 40000, 100 },  { 65535, 60 },
		   { 65536, 10 },    { 200000, 10 },  { 5000000, 2 } };

static void *address(uint64_t number)
{
	return (void *)(uintptr_t)(UINT64_C(0x100000000) + number * 8);
}

static void check_weights(void)
{
	double worst = 0;
	bool whole = true;

	for (uint64_t mean = SHINY_SAMPLE_LEAST; mean <= SHINY_SAMPLE_MOST; mean *= 2)
		for (uint64_t size = 1; size < mean; size += size / 7 + 1) {
			double chance = -expm1(-(double)size / (double)mean);
			double off = fabs(shiny_sample_chance(size, mean) / chance - 1);
			uint64_t weight = shiny_sample_weight(size, mean);

			worst = off > worst ? off : worst;
			whole &= fabs((double)weight - ceil(1 / chance)) <= 1e-6 / chance &&
				 (double)weight * chance >= 1 - 1e-9;
		}
	check_that("the chance of a point is that of libm",
		   worst < 1e-12);
	check_that("a weight is the next whole number above its inverse",
		   whole);
	check_that("large blocks stand for themselves, empty ones count as of one byte",
		   shiny_sample_weight(MEAN, MEAN) == 1 &&
			   shiny_sample_weight(1 << 30, MEAN) == 1 &&
		      shiny_sample_weight(0, MEAN) == shiny_sample_weight(1, MEAN));
}

/* Allocates and frees all kinds once, in turns; adds to the sums of weights. */
static void run_kinds(uint64_t *weights, uint64_t *squares)
{
	unsigned left[KINDS], any = 1;

	for (unsigned k = 0; k < KINDS; k++)
		left[k] = kinds[k].count;
	while (any) {
		any = 0;
		for (unsigned k = 0; k < KINDS; k++)
			for (unsigned n = 0; n < 16 && left[k]; n++, any++) {
				void *block = address(k * 1000 + left[k]-- % 1000);
				size_t size = kinds[k].size;
				uint64_t weight = shiny_sample_weight(size, MEAN);

				if (!si_sample_birth(block, size, SHINY_API_MALLOC))
					continue;
				weights[k] += weight;
				squares[k] += weight * (weight - 1);
				if (!si_sample_end(block, SHINY_API_FREE))
					abort();
			}
	}
}

static void check_sums(void)
{
	uint64_t sums[KINDS] = { 0 };
	double variances[KINDS] = { 0 };
	unsigned holds[KINDS] = { 0 };

	for (unsigned run = 0; run < RUNS; run++) {
		uint64_t weights[KINDS] = { 0 }, squares[KINDS] = { 0 };

		run_kinds(weights, squares);
		for (unsigned k = 0; k < KINDS; k++) {
			uint64_t weight = shiny_sample_weight(kinds[k].size, MEAN);
			struct estimate_bounds b = estimate_bounds(weights[k], (double)squares[k],
								   (double)weight - 1);

			holds[k] += b.low <= kinds[k].count && kinds[k].count <= b.high;
			sums[k] += weights[k];
			variances[k] += (double)squares[k];
		}
	}
	for (unsigned k = 0; k < KINDS; k++) {
		uint64_t weight = shiny_sample_weight(kinds[k].size, MEAN);
		double truth = (double)kinds[k].count * RUNS, drawn = truth / (double)weight,
		       off = fabs((double)sums[k] - truth),
		       variance = truth * ((double)weight - 1);

		check_that("a sum of weights is the number of blocks",
		   off <= 6 * sqrt(variance));
		check_that("and its variance the one that is told",
		   fabs(variances[k] - variance) <=
			      6 * sqrt(drawn) * (double)weight * (double)(weight - 1));
		/* with few blocks drawn a run, an interval holds in other shares than 95 % */
		if (drawn / RUNS > 10)
			check_that("a 95 % interval holds in 95 of 100 runs",
		   holds[k] >= RUNS * 91 / 100 && holds[k] <= RUNS * 99 / 100);
		if (weight == 1)
			check_that("large blocks are exact",
		   off <= 0 && holds[k] == RUNS);
	}
}

/* ---- the table ---- */

enum { KEYS = 40000, STEPS = 400000, THREADS = 4 };

/* Draws and ends blocks of `mean` bytes, each of which is drawn, of one thread's addresses. */
static void *keep_book(void *first)
{
	uint64_t random = 2 * (uintptr_t)first + 1;
	char *book = calloc(KEYS, 1);
	uintptr_t wrong = 0;

	for (unsigned i = 0; i < STEPS; i++) {
		uint32_t key = (uint32_t)((random *= UINT64_C(6364136223846793005)) >> 33) % KEYS;
		void *block = address((uintptr_t)first * KEYS + key);
		enum shiny_api api = key % 3 ? SHINY_API_MALLOC : SHINY_API_ZEND;

		wrong += si_sample_find(si_sampled_key(block, api), false) != book[key];
		if (book[key])
			wrong += !si_sample_end(block, api);
		else
			wrong += !si_sample_birth(block, MEAN, api);
		book[key] ^= 1;
	}
	for (uint32_t key = 0; key < KEYS; key++) {
		void *block = address((uintptr_t)first * KEYS + key);
		enum shiny_api api = key % 3 ? SHINY_API_MALLOC : SHINY_API_ZEND;

		wrong += si_sample_end(block, api) != book[key];
		wrong += si_sample_end(block, api);
	}
	free(book);
	return (void *)wrong;
}

static bool is_empty(void)
{
	const struct si_sampled_line *line = si_sampled;

	for (size_t i = 0; i < (size_t)1 << SI_SAMPLED_BITS; i++)
		for (unsigned n = 0; n < SI_SAMPLED_LANES; n++)
			if (line[i].at[n] || line[i].passed)
				return false;
	return true;
}

static void check_table(void)
{
	pthread_t threads[THREADS];
	uintptr_t wrong = 0;
	void *one;

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, keep_book, (void *)i);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &one);
		wrong += (uintptr_t)one;
	}
	check_that("four threads find their own blocks, and no others",
		   !wrong);
	check_that("and leave an empty table",
		   is_empty());
}

static void check_heaps(void)
{
	bool good = true;

	for (unsigned i = 0; i < 5000; i++) {
		good &= si_sample_birth(address(i), MEAN, SHINY_API_ZEND);
		good &= si_sample_birth(address(i), MEAN, SHINY_API_MALLOC);
		good &= si_sample_birth(address(8 * i), MEAN, SHINY_API_COLLECTED);
	}
	check_that("heaps may have blocks at one address",
		   good);
	si_sample_drop(SHINY_API_ZEND);
	good = true;
	for (unsigned i = 0; i < 5000; i++) {
		good &= !si_sample_end(address(i), SHINY_API_ZEND);
		good &= si_sample_end(address(i), SHINY_API_FREE);
	}
	check_that("a heap that is dropped takes its own blocks with it",
		   good);
	good = si_sample_move_object(address(0), address(123457)) &&
	       !si_sample_move_object(address(0), address(123458)) &&
	       si_sample_end_object(address(123457)) && si_sample_sweep(address(8), 8 * 8 * 100) &&
	       !si_sample_sweep(address(8), 8 * 8 * 100) && !si_sample_end_object(address(8 * 100));
	for (unsigned i = 101; i < 5000; i++)
		good &= si_sample_end_object(address(8 * i));
	check_that("objects are moved and swept",
		   good);
	check_that("nothing is left of them",
		   is_empty());
}

static void check_realloc(void)
{
	uint64_t weights = 0, truth = 0;
	double variance = 0;
	bool drawn = false, good = true;

	for (unsigned i = 0; i < 400000; i++) {
		size_t size = 16u << i % 12;
		uint64_t weight = shiny_sample_weight(size, MEAN);
		unsigned move = si_sample_move(address(i), size, SHINY_API_REALLOC);

		good &= drawn == !!(move & SI_MOVE_ENDS);
		if (i % 5 == 3) {
			si_sample_not_moved();
			good &= drawn == si_sample_find(si_sampled_key(address(i), 0), false);
			if (drawn)
				good &= si_sample_end(address(i), SHINY_API_FREE);
			drawn = si_sample_birth(address(i + 1), size, SHINY_API_MALLOC);
		} else {
			good &= si_sample_moved(address(i + 1), size) == move;
			drawn = move & SI_MOVE_BEGINS;
		}
		weights += drawn ? weight : 0;
		variance += (double)(weight - 1);
		truth++;
	}
	check_that("a realloc ends a drawn block, and draws the new one",
		   good);
	check_that("reallocs are sampled like other births",
		   fabs((double)weights - (double)truth) <= 6 * sqrt(variance));
	si_sample_end(address(400000), SHINY_API_FREE);
	check_that("nothing is left of them",
		   is_empty());
}

int main(void)
{
	static struct shiny_header header;

	check_that("without a sample all blocks are recorded",
		   si_sample_birth(address(1), 1, SHINY_API_MALLOC) &&
		      si_sample_end(address(1), SHINY_API_FREE) &&
		      si_sample_move(address(1), 1, SHINY_API_REALLOC) == SI_MOVE_STAYS);
	check_weights();
	check_that("the ring has the mean",
		   si_sample_make(MEAN, &header) && header.sample == MEAN);
	check_sums();
	check_table();
	check_heaps();
	check_realloc();
	return failures != 0;
}
