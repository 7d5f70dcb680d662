/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_afterwards: draws samples of a whole recording's blocks, and compares the estimates with
 * what they are estimates of.
 * Usage: sample_afterwards SESSION MEAN RUNS: a line for each type of which a sample has five
 * blocks on average (for its median, five that ended), with tabs between the columns:
 *
 *   name, blocks, the drawn ones of all runs together, then for blocks, bytes, live bytes, and the
 *   median lifetime: the mean estimate's distance from the truth in standard errors (not of the
 *   median), and in how many of 1,000 runs the 95 % interval holds it; "-": the truth is 0, or
 *   every block of it is in every sample.
 *
 * A block is in a sample with probability 1 / weight, apart from all others, as the wire's
 * sample_weight.h says: points of a Poisson process in the bytes of different blocks are
 * independent.
 *
 * Runs: CLI, in tests. Allocates: 24 bytes a block. Threads: one.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/analysis/attribute/groups.h"
#include "../../src/analysis/query/distribution.h"
#include "../../src/analysis/replay/replay.h"
#include "../../src/answer/estimated.h"
#include "random.h"

enum { LEAST_DRAWN = 5 };
enum estimate_part { BLOCKS, BYTES, LIVE_BYTES, MEDIAN, PARTS };

struct ended_block {
	uint64_t size : 63, lives : 1;
	uint64_t age;
	uint32_t type;
};
struct type_sums {
	struct estimated made, left;
	struct distribution ages;
};
struct type_score {
	double sum[PARTS], squares[PARTS];
	unsigned held[PARTS], runs[PARTS];
	uint64_t drawn, ended;
};
struct all_blocks {
	VEC(struct ended_block) blocks;
	const struct groups *groups;
};

static void keep(void *context, const struct replay_process *process, const struct life *life,
		 const struct life_death *death)
{
	struct all_blocks *all = context;

	if (life->inherited)
		return;
	*vec_push(&all->blocks) =
		(struct ended_block){ .size = life->size,
				      .lives = death->end == LIFE_NEVER,
				      .age = death->time - life->birth,
				      .type = groups_find(all->groups, process, life) };
}

static void count(struct type_sums *sums, const struct ended_block *b, uint64_t weight)
{
	estimated_add(&sums->made, b->size, weight);
	if (b->lives)
		estimated_add(&sums->left, b->size, weight);
	distribution_add(&sums->ages, b->age, weight, b->lives);
}

static double value_of(const struct type_sums *sums, enum estimate_part part)
{
	switch (part) {
	case BLOCKS:
		return (double)sums->made.blocks;
	case BYTES:
		return (double)sums->made.bytes;
	case LIVE_BYTES:
		return (double)sums->left.bytes;
	default: return (double)distribution_quantile(&sums->ages, 0.5);
	}
}

static struct estimate_bounds bounds_of(const struct type_sums *s, enum estimate_part part)
{
	double unit = ESTIMATE_BYTES_UNIT;
	struct histogram_range median;

	switch (part) {
	case BLOCKS:
		return estimate_bounds(s->made.blocks, (double)s->made.blocks_variance, 0);
	case BYTES:
		return estimate_bounds(s->made.bytes, (double)s->made.bytes_variance * unit, 0);
	case LIVE_BYTES: /* as sums.c: of none, what a block of the row stands for */
		return estimate_bounds(s->left.bytes, (double)s->left.bytes_variance * unit,
				       s->made.bytes ? (double)s->made.bytes_variance * unit /
							       (double)s->made.bytes
						     : 0);
	default:
		median = distribution_quantile_range(&s->ages, 0.5);
		return (struct estimate_bounds){ median.low, median.high };
	}
}

static void score(struct type_score *score, const struct type_sums *run,
		  const struct type_sums *truth)
{
	for (enum estimate_part part = 0; part < PARTS; part++) {
		double got = value_of(run, part), want = value_of(truth, part);
		struct estimate_bounds bounds = bounds_of(run, part);

		score->sum[part] += got;
		score->squares[part] += got * got;
		/* else the answer has no such row, or no median */
		if (!(part == MEDIAN ? run->ages.ended : run->made.blocks))
			continue;
		score->runs[part]++;
		score->held[part] += (double)bounds.low <= want && want <= (double)bounds.high;
	}
}

static void print(const struct type_score *s, const struct type_sums *truth, unsigned runs)
{
	for (enum estimate_part part = 0; part < PARTS; part++) {
		double mean = s->sum[part] / runs;
		double spread = sqrt(fmax(s->squares[part] / runs - mean * mean, 0) / runs);
		bool varies = value_of(truth, part) > 0 && spread > 0 && s->runs[part];

		if (part == MEDIAN && s->ended < LEAST_DRAWN * (uint64_t)runs)
			varies = false;
		if (varies && part != MEDIAN)
			printf("\t%.2f", (mean - value_of(truth, part)) / spread);
		else
			printf("\t-");
		if (varies)
			printf("\t%u", 1000 * s->held[part] / s->runs[part]);
		else
			printf("\t-");
	}
	printf("\n");
}

/* Draws a sample, and compares it. */
static void run_once(const struct all_blocks *all, uint64_t mean, const struct type_sums *truth,
		     struct type_score *scores)
{
	struct type_sums *sums = mem_zero(all->groups->count, sizeof(*sums));

	for (size_t i = 0; i < all->blocks.count; i++) {
		const struct ended_block *b = &all->blocks.at[i];
		uint64_t weight = shiny_sample_weight(b->size, mean);

		if (random_below(weight))
			continue;
		count(&sums[b->type], b, weight);
		scores[b->type].drawn++;
		scores[b->type].ended += !b->lives;
	}
	for (size_t t = 0; t < all->groups->count; t++) {
		score(&scores[t], &sums[t], &truth[t]);
		distribution_deinit(&sums[t].ages);
	}
	free(sums);
}

static void compare(const struct all_blocks *all, uint64_t mean, unsigned runs)
{
	struct type_sums *truth = mem_zero(all->groups->count, sizeof(*truth));
	struct type_score *scores = mem_zero(all->groups->count, sizeof(*scores));

	for (size_t i = 0; i < all->blocks.count; i++)
		count(&truth[all->blocks.at[i].type], &all->blocks.at[i], 1);
	for (unsigned i = 0; i < runs; i++)
		run_once(all, mean, truth, scores);
	for (size_t t = 0; t < all->groups->count; t++) {
		if (scores[t].drawn >= LEAST_DRAWN * (uint64_t)runs) {
			printf("%s\t%" PRIu64 "\t%" PRIu64, all->groups->names[t],
			       truth[t].made.blocks, scores[t].drawn);
			print(&scores[t], &truth[t], runs);
		}
		distribution_deinit(&truth[t].ages);
	}
	free(truth);
	free(scores);
}

int main(int argc, char **argv)
{
	struct groups groups = { 0 };
	struct all_blocks all = { .groups = &groups };
	struct replay_observer observer = { .context = &all, .death = keep };
	struct filter filter = { 0 };
	struct store *store = NULL;
	struct shiny_err *err;

	if (argc != 4) {
		fprintf(stderr, "usage: sample_afterwards SESSION MEAN RUNS\n");
		return 2;
	}
	err = store_open(argv[1], &store);
	if (!err)
		err = filter_resolve(store, NULL, &filter);
	if (!err)
		err = groups_load(store, GROUP_TYPE, false, &groups);
	if (!err)
		err = replay_run(store, &filter, &observer, 1, NULL);
	if (!err)
		compare(&all, strtoull(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10));
	if (err) {
		fprintf(stderr, "sample_afterwards: %s\n", err->message);
		shiny_err_free(err);
		return 4;
	}
	free(all.blocks.at);
	groups_deinit(&groups);
	filter_deinit(&filter);
	store_close(store);
	return fflush(stdout) == 0 ? 0 : 4;
}
