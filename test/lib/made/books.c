/* SPDX-License-Identifier: Apache-2.0 */
#include "books.h"

#include <inttypes.h>
#include <stdio.h>

#include "../../../src/base/mem.h"

struct books books;

void books_begin(uint64_t events)
{
	books.stats = mem_zero(PROCESSES + 1, sizeof(*books.stats));
	books.bins = mem_zero(PROCESSES + 1, sizeof(*books.bins));
	books.peaks = mem_zero(PROCESSES + 1, sizeof(*books.peaks));
	books.site_live = mem_zero(PROCESSES + 1, sizeof(*books.site_live));
	books.bucket_ns = events * 201 / BUCKETS + 1;
	for (uint32_t p = 1; p <= PROCESSES; p++)
		books.buckets[p] = mem_zero(BUCKETS + 1, sizeof(*books.buckets[p]));
}

static struct store_bucket *bucket_of(uint32_t process)
{
	uint64_t i = program.clock_ns / books.bucket_ns < BUCKETS
			     ? program.clock_ns / books.bucket_ns
			     : BUCKETS;
	struct store_bucket *b = &books.buckets[process][i];

	b->process = process;
	b->start = i * books.bucket_ns;
	b->length = books.bucket_ns;
	b->live_blocks = books.live[process].blocks;
	b->live_bytes = books.live[process].bytes;
	return b;
}

void books_live(const struct block *b, int sign)
{
	struct store_peak *peak = &books.peaks[b->process][b->stack];

	books.live[b->process].blocks += (uint64_t)sign;
	books.live[b->process].bytes += (uint64_t)((int64_t)b->size * sign);
	books.live_now += (uint64_t)sign;
	if (books.live_now > books.live_most)
		books.live_most = books.live_now;
	books.site_live[b->process][b->stack].blocks += (uint64_t)sign;
	books.site_live[b->process][b->stack].bytes += (uint64_t)((int64_t)b->size * sign);
	if (books.site_live[b->process][b->stack].blocks > peak->peak_blocks)
		peak->peak_blocks = books.site_live[b->process][b->stack].blocks;
	if (books.site_live[b->process][b->stack].bytes > peak->peak_bytes) {
		peak->peak_bytes = books.site_live[b->process][b->stack].bytes;
		peak->peak_time = program.clock_ns;
	}
}

static void count_sizes(struct store_stat *row, uint32_t size)
{
	if (!row->max_size || size < row->min_size)
		row->min_size = size;
	if (size > row->max_size)
		row->max_size = size;
}

void books_began(const struct block *b)
{
	struct store_bucket *bucket;

	books_live(b, 1);
	bucket = bucket_of(b->process);
	bucket->allocs++;
	bucket->alloc_bytes += b->size;
}

/* A block is counted in its row when it ends, or at the end: only then it is known whether its vptr
 * was seen. */
static struct store_stat *count_row(const struct block *b)
{
	struct store_stat *row = &books.stats[b->process][b->stack][b->vptr];

	count_sizes(row, b->size);
	if (b->inherited) {
		row->inherited++;
		row->inherited_bytes += b->size;
	} else {
		row->allocs++;
		row->bytes += b->size;
		row->reallocs += b->steps > 0;
	}
	return row;
}

void books_ended(const struct block *b, uint8_t by, bool by_realloc)
{
	uint64_t age = program.clock_ns - b->birth;
	struct bin *bin =
		&books.bins[b->process][b->stack][b->vptr][age ? 63 - __builtin_clzll(age) : 0];
	struct fate *fates[] = { &books.by_type[plan_type(b->stack, b->vptr)],
				 &books.by_site[b->stack] };
	struct store_bucket *bucket;

	count_row(b)->frees++;
	books_live(b, -1);
	bucket = bucket_of(b->process);
	bucket->frees++;
	bucket->free_bytes += b->size;
	if (b->inherited)
		return;
	bin->count++;
	bin->bytes += b->size;
	for (int i = 0; i < 2; i++) {
		fates[i]->destroyed++;
		fates[i]->elsewhere += by != b->thread;
		fates[i]->temporary +=
			program.processes[b->process].births == b->number + by_realloc;
	}
}

void books_stayed(const struct block *b)
{
	struct store_stat *row = count_row(b);

	row->live++;
	row->live_bytes += b->size;
	if (b->inherited)
		return;
	books.by_type[plan_type(b->stack, b->vptr)].persistent++;
	books.by_site[b->stack].persistent++;
}

/* ---- what the reports must say ---- */

static void print(const char *kind, const char *name, const struct store_stat *sum,
		  const struct fate *fate)
{
	printf("%s %s %lu %lu %lu %lu %lu %lu %lu %lu\n", kind, name, sum->allocs, sum->bytes,
	       sum->live, sum->live_bytes, fate->destroyed, fate->persistent, fate->elsewhere,
	       fate->temporary);
}

static void add(struct store_stat *to, const struct store_stat *row)
{
	to->allocs += row->allocs;
	to->bytes += row->bytes;
	to->frees += row->frees;
	to->live += row->live;
	to->live_bytes += row->live_bytes;
}

void books_print(void)
{
	static struct store_stat types[TYPES + 1], all;
	char name[32];

	for (uint32_t s = 1; s <= STACKS; s++) {
		struct store_stat site = { 0 };

		for (uint32_t p = 1; p <= PROCESSES; p++)
			for (unsigned v = 0; v < 2; v++) {
				add(&site, &books.stats[p][s][v]);
				add(&types[plan_type(s, v)], &books.stats[p][s][v]);
			}
		add(&all, &site);
		snprintf(name, sizeof(name), "make_%" PRIu32, s);
		if (site.allocs)
			print("site", name, &site, &books.by_site[s]);
	}
	for (uint32_t i = 0; i <= TYPES; i++) {
		snprintf(name, sizeof(name), i ? "made::Type%" PRIu32 : "-", i);
		if (types[i].allocs)
			print("type", name, &types[i], &books.by_type[i]);
	}
	printf("total events %lu\ntotal duration_ns %lu\ntotal allocs %lu\ntotal bytes %lu\ntotal "
	       "frees %lu\ntotal live %lu\ntotal live_bytes %lu\n",
	       program.events, program.clock_ns, all.allocs, all.bytes, all.frees, all.live,
	       all.live_bytes);
	printf("total reallocs %lu\ntotal inherited %lu\ntotal most_live %lu\ntotal vptrs "
	       "%lu\ntotal strays %lu\ntotal wrong_family %lu\n",
	       program.reallocs, program.inherited, books.live_most, program.vptrs, program.strays,
	       program.wrong_family);
}
