/* SPDX-License-Identifier: Apache-2.0 */
/* watch_draw.c: see watch_draw.h. */
#include "watch_draw.h"

enum { WORD = 8, WAYS = 3 };

struct stratum_sums {
	uint64_t strata, blocks, bytes;
};

/* One draw during the pass. */
struct reservoir {
	uint32_t site;
	uint64_t seen; /* weight of the site's blocks seen so far */
	struct watch_draw draw;
};

struct draw_pass {
	struct reservoir at[DRAWS_MOST];
	uint64_t *seed;
};

/* splitmix64 (Steele, Lea and Flood 2014) */
static uint64_t draw_number(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t draw_below(uint64_t *seed, uint64_t limit)
{
	return (uint64_t)((unsigned __int128)draw_number(seed) * limit >> 64);
}

static bool has_live(const struct site_stats *site)
{
	return site->live_blocks && site->live_bytes;
}

static struct stratum_sums sum_strata(const struct stats *stats)
{
	struct stratum_sums sums = { 0 };

	for (size_t i = 0; i < stats->sites.count; i++) {
		const struct site_stats *site = &stats->sites.at[i];

		if (!has_live(site))
			continue;
		sums.strata++;
		sums.blocks += site->live_blocks;
		sums.bytes += site->live_bytes;
	}
	return sums;
}

static uint64_t share_of(const struct site_stats *site, unsigned way)
{
	return way == 0 ? 1 : way == 1 ? site->live_blocks : site->live_bytes;
}

static uint32_t take_stratum(const struct stats *stats, const struct stratum_sums *sums,
			     uint64_t *seed)
{
	const uint64_t totals[WAYS] = { sums->strata, sums->blocks, sums->bytes };
	unsigned way = (unsigned)draw_below(seed, WAYS);
	uint64_t left = draw_below(seed, totals[way]);
	uint32_t site = 0;

	for (;; site++) {
		const struct site_stats *s = &stats->sites.at[site];
		uint64_t share = has_live(s) ? share_of(s, way) : 0;

		if (left < share)
			return site;
		left -= share;
	}
}

static uint64_t weight_of(const struct site_stats *site, const struct stratum_sums *sums,
			  enum watch_pick pick)
{
	double p = (1. / (double)sums->strata +
		    (double)site->live_blocks / (double)sums->blocks +
		    (double)site->live_bytes / (double)sums->bytes) /
		   WAYS;
	uint64_t all = pick == PICK_BLOCK ? site->live_blocks : site->live_bytes;

	return (uint64_t)((double)all / p + 0.5);
}

/* Takes each block, or byte, of the site that the pass has seen with the same probability. */
static void offer_block(void *context, const struct entry *entry)
{
	struct draw_pass *pass = context;

	if (!entry->size || entry->flags & (ENTRY_INHERITED | ENTRY_WATCHED))
		return;
	for (int i = 0; i < DRAWS_MOST; i++) {
		struct reservoir *r = &pass->at[i];
		uint64_t share = r->draw.pick == PICK_BLOCK ? 1 : entry->size;

		if (r->site != entry->site)
			continue;
		r->seen += share;
		if (draw_below(pass->seed, r->seen) < share)
			r->draw.entry = *entry;
	}
}

/* Chooses a word of the block; the last one is shorter where the size is no multiple of WORD. */
static void take_word(struct watch_draw *draw, uint64_t *seed)
{
	uint64_t byte = draw->pick == PICK_BLOCK ? 0 : draw_below(seed, draw->entry.size);
	uint64_t address = draw->entry.address + byte;

	draw->bytes = WORD;
	for (;; draw->bytes /= 2) {
		uint64_t start = address & ~(uint64_t)(draw->bytes - 1);

		if (start < draw->entry.address ||
		    start + draw->bytes > draw->entry.address + draw->entry.size)
			continue;
		draw->offset = start - draw->entry.address;
		return;
	}
}

size_t draw_blocks(const struct process *p, uint64_t *seed, struct watch_draw draws[DRAWS_MOST])
{
	struct stratum_sums sums = sum_strata(&p->stats);
	struct draw_pass pass = { .seed = seed };
	size_t count = 0;

	if (!sums.strata)
		return 0;
	for (int i = 0; i < DRAWS_MOST; i++) {
		struct reservoir *r = &pass.at[i];

		r->site = take_stratum(&p->stats, &sums, seed);
		r->draw.pick = (enum watch_pick)draw_below(seed, 2);
		r->draw.weight = weight_of(&p->stats.sites.at[r->site], &sums, r->draw.pick);
	}
	registry_each(&p->registry, offer_block, &pass);
	for (int i = 0; i < DRAWS_MOST; i++) {
		if (!pass.at[i].seen)
			continue;
		draws[count] = pass.at[i].draw;
		take_word(&draws[count++], seed);
	}
	return count;
}
